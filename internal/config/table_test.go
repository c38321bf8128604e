package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/testkit/golden"
)

// TestTable looks for rows that can't be: twice the same, defaults that the code
// would not understand, known settings among those that have no effect.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Table() {
		name := "[" + k.Section + "] " + k.Key
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
		if k.Default != "" && !k.takes(k.Default) {
			t.Errorf("the default of %s is no %s", name, k.Kind)
		}
		if !strings.HasSuffix(k.Meaning, ".") && !strings.HasSuffix(k.Meaning, "`.") {
			t.Errorf("the meaning of %s is not a sentence: %s", name, k.Meaning)
		}
		for _, i := range inert {
			if i.Keys != nil && i.has(k.Section, k.Key) {
				t.Errorf("%s is read, and is said to have no effect", name)
			}
		}
	}
	for n, i := range inert {
		if i.Why == "" {
			t.Errorf("[%s] does not say why", i.Section)
		}
		for _, j := range inert[:n] {
			for _, key := range i.Keys {
				if j.Keys != nil && j.has(i.Section, key) {
					t.Errorf("[%s] %s is there twice", i.Section, key)
				}
			}
		}
	}
}

func TestWarning(t *testing.T) {
	for _, c := range []struct{ section, key, value, want string }{
		{"chttpd", "port", "5984", ""},
		{"log", "level", "debug", ""},
		{"httpd", "enable_cors", "true", ""},
		{"couch_httpd_auth", "timeout", "5", ""},
		{"cors:app.example", "origins", "*", ""},
		{"admins", "anybody.at.all", "x", ""},
		{"jwt_keys", "hmac:_default", "aGVsbG8=", ""},
		{"jwt_issuers", "corp", "https://login.example", ""},
		{"jwt_issuers", "corp.audience", "app", ""},
		{"jwt_issuers", "corp.audiense", "app", "[jwt_issuers] corp.audiense is not known and has no effect"},
		{"replicator.shares", "_replicator", "50", ""},
		{"replicator.shares", "_replicator", "half", "[replicator.shares] _replicator takes a whole number: what it is set to has no effect"},
		{"sectional", "view_wait", "500ms", ""},
		{"sectional", "view_wait", "long", "[sectional] view_wait takes a whole number of seconds: what it is set to has no effect"},
		{"couchdb", "max_document_size", "8MB", "[couchdb] max_document_size takes a whole number of bytes: what it is set to has no effect"},
		{"couchdb", "max_document_id_length", "infinity", ""},
		{"couchdb", "default_security", "nobody", "[couchdb] default_security takes one of admin_only, admin_local, everyone: what it is set to has no effect"},
		{"chttpd", "enable_cors", "yes", "[chttpd] enable_cors takes one of true, false: what it is set to has no effect"},
		{"chttpd", "allow_jsonp", "true", "[chttpd] allow_jsonp has no effect here: JSONP lets any page read what its visitor may read; `[cors]` says which pages may"},
		{"httpd", "allow_jsonp", "true", "[httpd] allow_jsonp has no effect here: JSONP lets any page read what its visitor may read; `[cors]` says which pages may"},
		{"smoosh.ratio_dbs", "min_priority", "2.0", "[smoosh.ratio_dbs] min_priority has no effect here: compaction needs no settings"},
		{"couchdb", "port", "1", "[couchdb] port is not known and has no effect; [chttpd] port is"},
		{"chttpd", "prot", "1", "[chttpd] prot is not known and has no effect"},
		{"chttpd", "prot", "", ""}, // deletes
		{"mine", "k\u00e9y\n", "1", `[mine] k\u00e9y\n is not known and has no effect`},
		{strings.Repeat("a", 500), "k", "1", "[" + strings.Repeat("a", 100) + "...] k is not known and has no effect"},
	} {
		if got := Warning(Setting{c.section, c.key, c.value}); got != c.want {
			t.Errorf("[%s] %s = %s: %q, want %q", c.section, c.key, c.value, got, c.want)
		}
	}
}

// couchSettings are sections and keys of CouchDB 3.5's default.ini and manual.
const couchSettings = `
vendor: name
couchdb: uuid database_dir view_index_dir util_driver_dir plugin_dir os_process_timeout max_dbs_open file_compression attachment_stream_buffer_size default_security btree_chunk_size maintenance_mode
couchdb: stem_interactive_updates uri_file changes_doc_ids_optimization_threshold max_database_name_length max_document_id_length max_document_size max_bulk_docs_count max_bulk_get_count max_attachment_size
couchdb: update_lru_on_read default_engine enable_database_recovery max_partition_size single_node users_db_security_editable users_db_suffix js_engine write_xxhash_checksums cfile_skip_ioq
bt_engine_cache: max_size leave_percent
purge: max_document_id_number max_revisions_number index_lag_warn_seconds
couchdb_engines: couch
process_priority: couch_server
cluster: q n placement seedlist reconnect_interval_sec
chttpd: port bind_address backlog docroot socket_options server_options require_valid_user require_valid_user_except_for_up prefer_minimal max_db_number_for_dbs_info_req buffer_response
chttpd: authentication_handlers admin_only_all_dbs server_header_versions disconnect_check_msec disconnect_check_jitter_msec secure_rewrites allow_jsonp enable_cors enable_xframe_options max_uri_length changes_timeout
chttpd: config_whitelist rewrite_limit x_forwarded_host x_forwarded_proto x_forwarded_ssl max_http_request_size decode_plus_to_space bulk_get_use_batches
disk_monitor: enable background_view_indexing_threshold interactive_database_writes_threshold interactive_view_indexing_threshold
jwt_auth: required_claims roles_claim_name roles_claim_path
jwt_keys: hmac:_default rsa:foo ec:bar
couch_peruser: enable delete_dbs q database_prefix
httpd: port bind_address authentication_handlers server_options socket_options enable_cors
httpd_design_handlers: _view
ioq: concurrency ratio
ioq.bypass: os_process read write view_update shard_sync compaction
ssl: enable port bind_address cacert_file cert_file key_file password ssl_certificate_max_depth verify_fun verify_ssl_certificates fail_if_no_peer_cert secure_renegotiate ciphers tls_versions
chttpd_auth: authentication_db authentication_redirect timeout auth_cache_size allow_persistent_cookies iterations min_iterations max_iterations password_scheme pbkdf2_prf proxy_use_secret public_fields secret
chttpd_auth: users_db_public cookie_domain same_site hash_algorithms upgrade_hash_on_auth password_regexp x_auth_roles x_auth_token x_auth_username
chttpd_auth_cache: max_lifetime max_objects max_size
chttpd_auth_lockout: mode threshold max_objects max_lifetime
mem3: nodes_db shard_cache_size shards_db sync_concurrency
fabric: all_docs_concurrency changes_duration shard_timeout_factor shard_timeout_min_msec uuid_prefix_len request_timeout all_docs_timeout attachments_timeout view_timeout partition_view_timeout
rexi: buffer_count server_per_node stream_limit
global_changes: max_event_delay max_write_delay update_db
view_updater: min_writer_items min_writer_size
csp: utils_enable utils_header_value attachments_enable attachments_header_value showlist_enable showlist_header_value
cors: credentials origins headers methods max_age
cors:http://example.com: credentials origins headers methods
ddoc_cache: max_size refresh_timeout
x_frame_options: same_origin hosts
native_query_servers: enable_erlang_query_server
query_server_config: commit_freq reduce_limit reduce_limit_threshold reduce_limit_ratio os_process_limit os_process_idle_limit os_process_soft_limit group_info_timeout query_limit partition_query_limit
mango: index_all_disabled default_limit index_scan_warning_threshold
indexers: couch_mrview
uuids: algorithm utc_id_suffix max_count format
attachments: compression_level compressible_types
replicator: startup_jitter max_jobs interval max_churn max_history update_docs worker_processes worker_batch_size http_connections connection_timeout request_timeout retries_per_request use_checkpoints use_bulk_get
replicator: checkpoint_interval socket_options valid_socket_options valid_endpoint_protocols valid_proxy_protocols cert_file key_file password verify_ssl_certificates ssl_trusted_certificates_file
replicator: ssl_certificate_max_depth auth_plugins max_document_id_length usage_coeff priority_coeff
replicator.shares: _replicator
log: level max_message_size include report_level writer file write_buffer write_delay syslog_host syslog_port syslog_appid syslog_facility syslog_enterprise_number
stats: interval
smoosh: db_channels view_channels cleanup_channels staleness wait_secs
smoosh.ratio_dbs: priority min_priority capacity concurrency from to strict_window
ken: batch_channels incremental_channels max_incremental_updates
ken.ignore: db
dreyfus: name retry_limit limit limit_partitions max_limit max_limit_partitions
nouveau: enable url
reshard: max_jobs max_history max_retries retry_interval_sec delete_source update_shard_map_timeout_sec source_close_timeout_sec require_node_param require_range_param
prometheus: additional_port bind_address port
couch_scanner: interval_sec min_penalty_sec max_penalty_sec heal_threshold_sec db_rate_limit shard_rate_limit doc_rate_limit doc_write_rate_limit ddoc_batch_size
couch_scanner_plugins: couch_scanner_plugin_find
couch_scanner_plugin_ddoc_features: updates shows rewrites filters reduce validate_doc_update run_on_first_node ddoc_report
couch_scanner_plugin_find.regexes: regex1
couch_quickjs_scanner_plugin: max_ddocs max_shards max_docs max_step max_batch_items max_batch_size after repeat
couch_quickjs_scanner_plugin.skip_dbs: regex1
couch_auto_purge_plugin: deleted_document_ttl after repeat
quickjs: memory_limit_bytes
csrt: enable enable_init_p enable_reporting enable_rpc_reporting should_truncate_reports query_limit query_cardinality_limit
csrt_logger.matchers_enabled: docs_read
csrt_logger.matchers_threshold: docs_read
vhosts: couchdb.local:5984
feature_flags: partitioned||*
admins: admin`

// TestSettingsOfCouchDBAreKnown holds that none of CouchDB's settings is taken for a
// misspelled one.
func TestSettingsOfCouchDBAreKnown(t *testing.T) {
	n := 0
	for line := range strings.Lines(strings.TrimSpace(couchSettings)) {
		section, keys, _ := strings.Cut(line, ": ")
		for _, key := range strings.Fields(keys) {
			if w := Warning(Setting{section, key, "1"}); strings.Contains(w, "not known") {
				t.Error(w)
			}
			n++
		}
	}
	if n < 250 {
		t.Errorf("only %d settings", n)
	}
}

// TestDefaultsHaveNoWarnings holds the defaults and the files of an ordinary server
// free of warnings.
func TestDefaultsHaveNoWarnings(t *testing.T) {
	c := open(t, Options{})
	if w := c.Snapshot().Warnings(); len(w) > 0 {
		t.Errorf("without a file: %q", w)
	}
	set(t, c, Setting{"nothing", "known", "1"}, false)
	set(t, c, Setting{"smoosh", "db_channels", "x"}, false)
	want := []string{"[nothing] known is not known and has no effect", "[smoosh] db_channels has no effect here: compaction needs no settings"}
	if d := cmp.Diff(want, c.Snapshot().Warnings()); d != "" {
		t.Error(d)
	}
}

// TestOldSections holds what settings of CouchDB's old sections count for: where the
// new section is silent, and no longer when the new one's is deleted.
func TestOldSections(t *testing.T) {
	dir := t.TempDir()
	file, local := filepath.Join(dir, "my.ini"), filepath.Join(dir, "local.ini")
	write(t, file, "[httpd]\nenable_cors = true\nmax_http_request_size = 7\n[chttpd]\nmax_http_request_size = 4294967296\n[couch_httpd_auth]\nsecret = s\n[sectional]\nkeep_beaten = 7\n")
	c := open(t, Options{File: file, Local: local})
	check := func(key Setting) {
		t.Helper()
		if !c.Snapshot().is(key) {
			got, _ := c.Get(key.Section, key.Key)
			t.Errorf("[%s] %s is %q, want %q", key.Section, key.Key, got, key.Value)
		}
	}
	check(Setting{"chttpd", "enable_cors", "true"})
	check(Setting{"chttpd", "max_http_request_size", "4294967296"}) // given, though it is the default
	check(Setting{"chttpd_auth", "secret", "s"})
	check(Setting{"sectional", "keep_superseded", "7"}) // by its former name
	if w := Warning(Setting{"sectional", "keep_beaten", "7"}); w != "" {
		t.Error(w)
	}
	for _, s := range []Setting{{"chttpd", "enable_cors", "false"}, {"chttpd_auth", "secret", ""}} {
		if _, err := c.Delete(s.Section, s.Key, true); err != nil {
			t.Fatal(err)
		}
		check(s)
	}
	c = open(t, Options{File: file, Local: local})
	check(Setting{"chttpd", "enable_cors", "false"})
	check(Setting{"chttpd_auth", "secret", ""})
}

// TestDeleteLeavesNoLine holds that what is deleted leaves no line in the local file,
// unless the operator's file would count then.
func TestDeleteLeavesNoLine(t *testing.T) {
	dir := t.TempDir()
	file, local := filepath.Join(dir, "my.ini"), filepath.Join(dir, "local.ini")
	write(t, file, "[log]\nlevel = debug\n")
	write(t, local, "; mine\n[log]\nlevel = error\n[uuids]\nmax_count = 5\nmax_count = 6\n[mine]\nkey = 1\n")
	c := open(t, Options{File: file, Local: local})
	for _, s := range []Setting{{"log", "level", "error"}, {"uuids", "max_count", "6"}, {"mine", "key", "1"}} {
		if old, err := c.Delete(s.Section, s.Key, true); err != nil || old != s.Value {
			t.Errorf("[%s] %s: %q, %v", s.Section, s.Key, old, err)
		}
	}
	got, err := os.ReadFile(local)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("; mine\n[log]\nlevel = info\n[uuids]\n[mine]\n", string(got)); d != "" {
		t.Error(d)
	}
}

// TestSettingsPage checks that docs/settings.md is what the tables say; -update
// writes it.
func TestSettingsPage(t *testing.T) { golden.File(t, "../../docs/settings.md", settingsPage()) }

func settingsPage() string {
	var b strings.Builder
	b.WriteString(`<!-- test: server -->
# Settings

Made from the tables in internal/config by their test; change them there.

Settings are in files of CouchDB's form, ` + "`[section]`, then lines `key = value`" + `; a line that begins with ` + "`;`" + ` is a comment. There are two files:

* the file that ` + "`sectional serve --config FILE`" + ` names. It is read and never written;
* ` + "`local.ini`" + ` in the data directory, in which the server keeps what is set over HTTP. It goes before the first.

` + "```sh\n" + `curl -X PUT http://admin:PASSWORD@127.0.0.1:5984/_node/_local/_config/log/level -d '"debug"'
` + "```\n\n```json\n\"info\"\n```\n\n```sh\n" + `curl http://admin:PASSWORD@127.0.0.1:5984/_node/_local/_config/log
` + "```\n\n```json\n" + `{"format":"text","level":"debug","requests":"false","slow_query":"1000","writer":"stderr"}
` + "```\n\n```sh\n" + `curl -X DELETE http://admin:PASSWORD@127.0.0.1:5984/_node/_local/_config/log/level
` + "```\n\n```json\n\"debug\"\n```\n\n```sh\n" + `curl -X POST -H 'Content-Type: application/json' http://admin:PASSWORD@127.0.0.1:5984/_node/_local/_config/_reload
` + "```" + `

` + "`PUT` and `DELETE` answer with the value before, `\"\"` if there was none. `DELETE` brings the default back; a setting that is not set, and has no default, is a 404. With the header `X-Couch-Persist: false` a change lasts until the\n" +
		"files are read again, by `_reload` or a start. All of it is for server administrators; secrets are shown as `****`." + `

A setting that nothing reads, or whose value has no effect, is kept, and told: by a warning in the log when the server starts or the setting is changed, and by the header ` + "`X-Sectional-Warning`" + ` of the answer to ` + "`PUT` and `_reload`" + ` (one for each, ten at most).
A file of CouchDB's works as it is; what of it has no effect here is named in the log.

"At once" settings count from the next request on. The others are read when the server starts. Where several servers have one store, what is set over HTTP lies there, before all files, and counts for all of them, but for the settings of "this machine", which
each server keeps in its own ` + "`local.ini`" + `. Spans of time are numbers of the unit that is in the table, or have one of their own, such as ` + "`90s`, `500ms`" + `.
Numbers may be ` + "`infinity`" + `. Settings of the sections ` + "`[couch_httpd_auth]`" + ` and, as far as CouchDB takes them from there, ` + "`[httpd]`" + ` count where ` + "`[chttpd_auth]` and `[chttpd]`" + ` are silent.
`)
	var sections []string
	rows := map[string][]Known{}
	for _, k := range Table() {
		if rows[k.Section] == nil {
			sections = append(sections, k.Section)
		}
		rows[k.Section] = append(rows[k.Section], k)
	}
	for _, section := range sections {
		fmt.Fprintf(&b, "\n## [%s]\n\n| key | default | values | from when | meaning |\n|---|---|---|---|---|\n", section)
		for _, k := range rows[section] {
			value, when := "", "at once"
			if k.Default != "" {
				value = "`" + k.Default + "`"
			}
			if k.AtStart {
				when = "start"
			}
			if OfMachine(section, k.Key) {
				when += ", this machine"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", k.Key, value, k.Kind.shown(), when, k.Meaning)
		}
	}
	b.WriteString("\n## Settings of CouchDB that have no effect\n\n| section | keys | why |\n|---|---|---|\n")
	for _, i := range inert {
		keys := "all"
		if i.Keys != nil {
			keys = "`" + strings.Join(i.Keys, "`, `") + "`"
		} else if len(rows[i.Section]) > 0 {
			keys = "all others"
		}
		fmt.Fprintf(&b, "| `[%s]` | %s | %s |\n", i.Section, keys, i.Why)
	}
	return b.String()
}

// shown returns a kind as the page has it: words as code.
func (k Kind) shown() string {
	switch k {
	case fraction, period:
		return string(k)
	}
	if !strings.Contains(string(k), ", ") && k != "stderr" {
		return string(k)
	}
	return "`" + strings.ReplaceAll(string(k), ", ", "`, `") + "`"
}
