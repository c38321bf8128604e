package config

// serverTable has the settings of the server as a whole.
var serverTable = []Known{
	{"chttpd", "bind_address", "127.0.0.1", text, atStart, "Address to listen on; `any` and `0.0.0.0` are all of this machine. `--listen` goes before it."},
	{"chttpd", "port", "5984", count, atStart, "Port for HTTP; 0 takes a free one."},
	{"chttpd", "max_http_request_size", "4294967296", byteSize, atOnce, "Longest body of a request."},
	{"chttpd", "changes_timeout", "60000", milliseconds, atOnce, "Longest silence of a `_changes` feed, and longest `timeout` and `heartbeat` of a request."},
	{"chttpd", "max_db_number_for_dbs_info_req", "100", count, atOnce, "Most databases in one `POST /_dbs_info`."},
	{"chttpd", "admin_only_all_dbs", "true", boolean, atOnce, "Whether `_all_dbs` and `_dbs_info` are for server administrators only."},
	{"chttpd", "enable_cors", "false", boolean, atOnce, "Whether pages of other origins are answered as `[cors]` says."},
	{"chttpd", "decode_plus_to_space", "true", boolean, atOnce, "Whether `+` in a path stands for a space; `false` takes it as it is. In query strings it always does."},
	{"chttpd", "secure_rewrites", "true", boolean, atOnce, "Whether a rewrite rule may lead up to its database only; with `false` the rules of a database may lead to any path of the server to read, still with the caller's rights."},
	{"chttpd", "rewrite_limit", "100", count, atOnce, "How often one request may be rewritten."},
	{"chttpd", "x_forwarded_host", "X-Forwarded-Host", text, atOnce, "Header in which a proxy passes the host of the request."},
	{"chttpd", "x_forwarded_proto", "X-Forwarded-Proto", text, atOnce, "Header in which a proxy passes `https` or `http`."},
	{"chttpd", "x_forwarded_ssl", "X-Forwarded-Ssl", text, atOnce, "Header in which a proxy passes `on` for HTTPS; it takes precedence over `x_forwarded_proto`."},
	{"chttpd", "trusted_proxies", "", networks, atOnce, "Proxies whose `X-Forwarded-For` is believed, such as `10.0.0.0/8, ::1`; see access.md."},

	{"ssl", "enable", "false", boolean, atStart, "Whether to listen for HTTPS, too."},
	{"ssl", "port", "6984", count, atStart, "Port for HTTPS."},
	{"ssl", "bind_address", "", text, atStart, "Address for HTTPS; without it that of `[chttpd]`."},
	{"ssl", "cert_file", "", text, atOnce, "File with the certificate and those between it and its root, as PEM. It is read again within seconds after it changed."},
	{"ssl", "key_file", "", text, atOnce, "File with the key of the certificate, as PEM, without a password."},
	{"ssl", "acme_domains", "", hosts, atOnce, "Names of this server, such as `db.example.com`, for which it gets certificates by ACME and renews them; the first is also for clients that name none. See [the guide](guides/network.md#certificates-by-acme)."},
	{"ssl", "acme_accept_terms", "false", boolean, atOnce, "Whether you accept the terms of the ACME server. Without it nothing is asked for."},
	{"ssl", "acme_email", "", text, atOnce, "Address of mail to which the ACME server may write."},
	{"ssl", "acme_directory", "https://acme-v02.api.letsencrypt.org/directory", secureURL, atOnce, "URL of the ACME server's directory: Let's Encrypt's, or that of another or a private one."},
	{"ssl", "acme_ca_root", "", text, atOnce, "File with roots, as PEM, by one of which a private ACME server may be known besides the system's."},
	{"ssl", "acme_eab_key_id", "", text, atOnce, "Id of a key that an ACME server gives to those who have an account with it (external account binding); Let's Encrypt needs none."},
	{"ssl", "acme_eab_key", "", text, atOnce, "That key, in base64. It is not shown."},
	{"ssl", "acme_challenges", "tls-alpn-01, http-01", challenges, atOnce, "How it is shown that a name leads here, in the order in which it is tried: `tls-alpn-01`, for which the names' port 443 leads to the port for HTTPS, `http-01`, for which port 80 leads to that of plain HTTP."},

	{"cors", "origins", "", list, atOnce, "Origins whose pages may ask, such as `https://app.example`; `*` is all. A section `[cors:HOST]` has rules for one name of the server; what it leaves out is taken from `[cors]`."},
	{"cors", "credentials", "false", boolean, atOnce, "Whether they may use cookies and passwords."},
	{"cors", "methods", "", list, atOnce, "Methods that they may use; without it those of the API."},
	{"cors", "headers", "", list, atOnce, "Headers that they may send; without it those that clients use."},
	{"cors", "exposed_headers", "", list, atOnce, "Headers of answers that they may read; without it those that clients use."},
	{"cors", "max_age", "600", seconds, atOnce, "How long a browser may cache the answer to a preflight request."},

	{"csp", "attachments_enable", "true", boolean, atOnce, "Whether attachments have a `Content-Security-Policy`."},
	{"csp", "attachments_header_value", "sandbox", text, atOnce, "That policy."},
	{"csp", "showlist_enable", "true", boolean, atOnce, "Whether answers of shows, lists, updates and rewrites have a `Content-Security-Policy`."},
	{"csp", "showlist_header_value", "sandbox", text, atOnce, "That policy; one that the function sets goes before it."},

	{"log", "level", "info", "debug, info, notice, warning, warn, error, err, critical, crit, alert, emergency, emerg, none", atOnce, "How much is logged, to standard error. CouchDB's names count as the nearest of debug, info, warning, error."},
	{"log", "format", "text", "text, json", atOnce, "How lines look: `key=value`, or a JSON object each."},
	{"log", "requests", "false", boolean, atOnce, "Whether each request is logged at level `info`: time, user, request and result. Otherwise it is logged at level `debug`."},
	{"log", "slow_query", "1000", milliseconds, atOnce, "How long a query takes that is logged as slow, with the index and what was read; 0 for none."},
	{"log", "writer", "stderr", "stderr", atStart, "Shown for programs that look at it: the log always goes to standard error."},

	{"uuids", "algorithm", "sequential", "sequential, random, utc_random, utc_id, uuid_v7", atOnce, "How ids are made for documents without one and for `_uuids`."},
	{"uuids", "utc_id_suffix", "", text, atOnce, "End of ids of the algorithm `utc_id`."},
	{"uuids", "format", "", "base_16, rfc9562", atOnce, "`rfc9562` writes ids of `uuid_v7` with dashes."},
	{"uuids", "max_count", "1000", count, atOnce, "Most ids in one answer of `_uuids`."},

	{"nouveau", "enable", "true", boolean, atOnce, "Whether `_nouveau` answers, and `_index` makes indexes of the type `nouveau`; such indexes are kept either way."},

	{"couchdb", "single_node", "true", boolean, atStart, "Shown for programs that look at it: the server is always a single node."},
	{"couchdb", "maintenance_mode", "", "true, false, nolb", atOnce, "With `true` or `nolb`, `_up` answers 404, so that a balancer sends nothing here. Requests are answered all the same."},
}

// documentTable has the settings of databases, documents and what is computed
// from them.
var documentTable = []Known{
	{"couchdb", "default_security", "admin_only", "admin_only, admin_local, everyone", atOnce, "Who may use a database that is made from now on: server administrators, or with `everyone` everybody. `admin_local` is `everyone` here as on CouchDB's main port."},
	{"couchdb", "users_db_security_editable", "false", boolean, atOnce, "Whether `_security` of `_users` may be changed."},
	{"couchdb", "max_document_size", "8000000", byteSize, atOnce, "Longest document, without its attachments."},
	{"couchdb", "max_document_id_length", "infinity", byteSize, atOnce, "Longest id of a document."},
	{"couchdb", "max_attachment_size", "1073741824", byteSize, atOnce, "Longest attachment."},
	{"couchdb", "max_bulk_docs_count", "10000", count, atOnce, "Most documents in one `_bulk_docs`."},
	{"couchdb", "max_bulk_get_count", "10000", count, atOnce, "Most documents in one `_bulk_get`."},
	{"couchdb", "max_partition_size", "0", byteSize, atOnce, "Largest partition, 0 for no limit; writes beyond it are refused with 403."},

	{"attachments", "compression_level", "8", count, atOnce, "0 stores attachments as they come; with any other number those of `compressible_types` are compressed."},
	{"attachments", "compressible_types", "text/*, application/javascript, application/json, application/xml", list, atOnce, "Media types of attachments that are compressed; `*` stands for anything."},

	{"purge", "max_document_id_number", "100", count, atOnce, "Most documents in one `_purge`."},
	{"purge", "max_revisions_number", "1000", count, atOnce, "Most revisions in one `_purge`."},
	{"couch_auto_purge_plugin", "deleted_document_ttl", "", period, atOnce, "Age at which deletion markers are dropped, of databases that do not say themselves; without it they are kept."},

	{"couchdb", "os_process_timeout", "5000", milliseconds, atStart, "Processor time that a function of a design document may take for one document, and six times as much by the clock."},
	{"quickjs", "memory_limit_bytes", "", byteSize, atStart, "Memory that a process with functions of design documents may take; without it an eighth of the memory, 64 to 256 MB."},
	{"query_server_config", "os_process_limit", "", count, atStart, "Most processes with such functions at once; without it by the number of processors."},
	{"query_server_config", "os_process_idle_limit", "300", seconds, atStart, "How long such a process waits for work before it ends."},
	{"query_server_config", "query_limit", "infinity", count, atOnce, "Most rows of one query of a view or of `_all_docs`: what asks for more is a 400, what asks for no limit gets that many."},
	{"query_server_config", "partition_query_limit", "infinity", count, atOnce, "The same for queries of one partition."},
	{"mango", "index_all_disabled", "false", "true, false, warn", atOnce, "Whether `POST /{db}/_index` refuses text indexes of all fields with 403; `warn` logs them. Those of design documents are made."},
}
