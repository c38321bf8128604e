package config

import (
	"slices"
	"strings"
)

// Inert is a row of settings of CouchDB that have no effect here. They are kept
// and shown as any other, and whoever gives one is told.
type Inert struct {
	Section string   // may end in "*"
	Keys    []string // none: all
	Why     string
}

// inert are all of them, of CouchDB 3.5: of its default.ini and its manual.
var inert = []Inert{
	{"chttpd", words("allow_jsonp"), "JSONP lets any page read what its visitor may read; `[cors]` says which pages may"},
	{"chttpd", words("config_whitelist"), "server administrators may change all settings over HTTP but those of closed sections"},
	{"chttpd", words("enable_xframe_options"), "there are no pages that could be framed"},
	{"x_frame_options", nil, "there are no pages that could be framed"},
	{"csp", words("enable header_value utils_enable utils_header_value"), "the policy of the dashboard is part of it, and other pages are not served"},
	{"chttpd", words("docroot"), "the dashboard is part of the program"},
	{"chttpd", words("prefer_minimal"), "the headers that `Prefer: return=minimal` leaves are always CouchDB's"},
	{"chttpd", words("buffer_response"), "an error in the middle of an answer is its last line"},
	{"chttpd", words("server_header_versions server"), "the `Server` header names this server"},
	{"chttpd", words("max_uri_length"), "the headers of a request, its URL among them, have 256 KB at most"},
	{"chttpd", words("backlog socket_options server_options disconnect_check_msec disconnect_check_jitter_msec bulk_get_use_batches stats_reporting_interval"), "it is about the insides of CouchDB's HTTP server"},
	{"httpd", nil, "CouchDB reads it from `[chttpd]`, or it is about the port for single nodes, which is not here"},
	{"httpd_*", nil, "handlers of requests are not configured"},
	{"vhosts", nil, "names of hosts do not stand for paths"},
	{"ssl", words("cacert_file password ssl_certificate_max_depth verify_fun verify_ssl_certificates fail_if_no_peer_cert secure_renegotiate ciphers tls_versions " +
		"signature_algs ecc_curves"), "HTTPS is that of TLS 1.2 and later, without certificates of clients, by a key without a password"},
	{"chttpd_auth", words("users_db_public"), "`_users` is never public; `public_fields` says what of it everybody may read"},
	{"chttpd_auth", words("password_scheme"), "passwords are hashed by PBKDF2"},
	{"chttpd_auth_cache", nil, "`[chttpd_auth] auth_cache_size` bounds what is remembered of logins"},
	{"couch_peruser", words("q n"), "databases have no shards"},

	{"couchdb", words("uuid database_dir view_index_dir util_driver_dir plugin_dir uri_file"), "everything lies in the directory of `--data`"},
	{"couchdb", words("max_dbs_open file_compression attachment_stream_buffer_size btree_chunk_size stem_interactive_updates " +
		"changes_doc_ids_optimization_threshold update_lru_on_read default_engine write_xxhash_checksums cfile_skip_ioq delayed_commits"), "it is about the insides of CouchDB's storage"},
	{"couchdb", words("enable_database_recovery"), "what is deleted is gone; `sectional backup` keeps it"},
	{"couchdb", words("max_database_name_length"), "names of databases have 238 bytes at most"},
	{"couchdb", words("users_db_suffix"), "users are in `_users`"},
	{"couchdb", words("js_engine"), "there is one interpreter for design functions"},
	{"couchdb_engines", nil, "there is one storage engine"},
	{"vendor", nil, "`/` names this server"},

	{"query_server_config", words("reduce_limit reduce_limit_threshold reduce_limit_ratio"), "a reduction is bounded by its size; see api.md"},
	{"query_server_config", words("commit_freq group_info_timeout os_process_soft_limit"), "it is about the insides of CouchDB's views"},
	{"query_servers", nil, "there is one interpreter for design functions"},
	{"native_query_servers", nil, "there is one interpreter for design functions"},
	{"quickjs", nil, "there is one interpreter for design functions"},
	{"mango", words("default_limit index_scan_warning_threshold"), "`_find` without `limit` gives 25 rows, and warns by its own measure"},
	{"indexers", nil, "kinds of indexes are not configured"},
	{"view_updater", nil, "it is about the insides of CouchDB's views"},
	{"view_compaction", nil, "compaction needs no settings"},
	{"database_compaction", nil, "compaction needs no settings"},
	{"compactions", nil, "compaction needs no settings"},
	{"compaction_daemon", nil, "compaction needs no settings"},
	{"smoosh", nil, "compaction needs no settings"},
	{"smoosh.*", nil, "compaction needs no settings"},
	{"ken", nil, "indexes are built without settings"},
	{"ken.*", nil, "indexes are built without settings"},
	{"ddoc_cache", nil, "it is about the insides of CouchDB"},
	{"bt_engine_cache", nil, "it is about the insides of CouchDB's storage"},
	{"disk_monitor", nil, "`[sectional] min_free` says when the disk counts as full"},
	{"purge", words("index_lag_warn_seconds"), "indexes take purges in by themselves"},
	{"couch_auto_purge_plugin", words("after repeat min_batch_size max_batch_size min_time_between_tasks log_level dry_run doc_rate_limit ddoc_rate_limit db_rate_limit"), "deletion markers are dropped without settings"},
	{"couch_auto_purge_plugin.*", nil, "deletion markers are dropped without settings"},
	{"couch_scanner", nil, "there are no scanners"},
	{"couch_scanner_*", nil, "there are no scanners"},
	{"couch_quickjs_scanner_plugin*", nil, "there are no scanners"},

	{"replicator", words("auth_plugins password socket_options valid_socket_options ssl_certificate_max_depth startup_jitter update_docs"), "see difference 222"},
	{"replicator", words("request_timeout"), "`connection_timeout` bounds requests"},
	{"replicator", words("max_document_id_length"), "`[couchdb] max_document_id_length` bounds ids"},
	{"replicator", words("transient_job_max_age stats_update_interval_sec cluster_start_period cluster_quiet_period missing_doc_retry_msec max_acceptors " +
		"create_replicator_db viewer_min_gap_sec verify_ssl_certificates_log db"), "it is about the insides of CouchDB's replicator"},

	{"log", words("max_message_size include report_level file write_buffer write_delay syslog_host syslog_port syslog_appid syslog_facility syslog_enterprise_number"),
		"the log goes to standard error"},
	{"stats", nil, "figures are counted as they happen"},
	{"prometheus", nil, "`_prometheus` is at the server's own port"},
	{"csrt", nil, "the costs of requests are not tracked"},
	{"csrt.*", nil, "the costs of requests are not tracked"},
	{"csrt_logger*", nil, "the costs of requests are not tracked"},

	{"cluster", nil, "there is no cluster of nodes; servers that share a store know each other by it"},
	{"fabric", words("request_timeout all_docs_timeout view_timeout partition_view_timeout attachments_timeout"), "`[sectional] request_timeout` bounds how long a request works in silence"},
	{"fabric", nil, "there is no cluster of nodes; servers that share a store know each other by it"},
	{"rexi", nil, "there is no cluster of nodes; servers that share a store know each other by it"},
	{"mem3", nil, "there is no cluster of nodes; servers that share a store know each other by it"},
	{"mem3_*", nil, "there is no cluster of nodes; servers that share a store know each other by it"},
	{"global_changes", nil, "`_db_updates` is kept by the store"},
	{"reshard", nil, "databases have no shards"},
	{"ioq", nil, "it is about the insides of CouchDB"},
	{"ioq.*", nil, "it is about the insides of CouchDB"},
	{"ioq2", nil, "it is about the insides of CouchDB"},
	{"ioq2.*", nil, "it is about the insides of CouchDB"},
	{"process_priority", nil, "it is about the insides of CouchDB"},
	{"daemons", nil, "no programs are run by the configuration"},
	{"external", nil, "no programs are run by the configuration"},
	{"os_daemons", nil, "no programs are run by the configuration"},
	{"os_daemon_settings", nil, "no programs are run by the configuration"},
	{"feature_flags", nil, "there are no features to be switched"},
	{"dreyfus", nil, "full-text search has the limits that CouchDB has by default"},
	{"nouveau", words("url max_sessions max_pipeline max_limit request_timeout"), "there is no other server for search"},
	{"custodian", nil, "there is no cluster of nodes; servers that share a store know each other by it"},
}

func words(s string) []string { return strings.Fields(s) }

// has reports whether a setting is one of the row's.
func (i Inert) has(section, key string) bool {
	start, open := strings.CutSuffix(i.Section, "*")
	if section != i.Section && !(open && strings.HasPrefix(section, start)) {
		return false
	}
	return i.Keys == nil || slices.Contains(i.Keys, key)
}
