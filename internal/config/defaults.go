package config

import "maps"

// defaults gives a fresh layer of the built-in values, under CouchDB's names
// where CouchDB has the setting. _config shows them, so everything that counts
// unless somebody says otherwise stands here; what means something only when it
// is given does not.
func defaults() layer {
	l := layer{
		"admins": {},
		"attachments": {
			"compressible_types": "text/*, application/javascript, application/json, application/xml",
			"compression_level":  "8",
		},
		"chttpd": {
			"authentication_handlers": "{chttpd_auth, cookie_authentication_handler}, " +
				"{chttpd_auth, default_authentication_handler}",
			"admin_only_all_dbs":               "true",
			"bind_address":                     "127.0.0.1",
			"changes_timeout":                  "60000",
			"enable_cors":                      "false",
			"max_db_number_for_dbs_info_req":   "100",
			"max_http_request_size":            "4294967296",
			"port":                             "5984",
			"require_valid_user":               "false",
			"require_valid_user_except_for_up": "false",
		},
		"couchdb": {
			"default_security":           "admin_only",
			"max_attachment_size":        "1073741824",
			"max_bulk_docs_count":        "10000",
			"max_bulk_get_count":         "10000",
			"max_document_id_length":     "infinity",
			"max_document_size":          "8000000",
			"max_partition_size":         "0",
			"os_process_timeout":         "5000",
			"single_node":                "true",
			"users_db_security_editable": "false",
		},
		"log": {
			"level":  "info",
			"writer": "stderr",
		},
		"purge": {
			"max_document_id_number": "100",
			"max_revisions_number":   "1000",
		},
		"sectional": {
			"keep_beaten":                 "600",
			"view_wait":                   "5",
			"min_seq_wait":                "5",
			"max_attachments":             "10000",
			"max_connections":             "0",
			"max_connections_per_address": "0",
			"write_timeout":               "60",
			"body_timeout":                "60",
			"max_bodies_memory":           "536870912",
			"limits":                      "couchdb",
			"owner_design_docs":           "views",
			"owner_max_design_docs":       "50",
			"owner_max_design_size":       "65536",
			"owner_max_indexes":           "50",
			"render":                      "true",
			"selector_steps":              "10000000000",
			"min_free":                    "536870912",
			"reserve":                     "67108864",
			"max_conflicts":               "10000",
			"max_queued_writes":           "134217728",
		},
		"subscriptions": {
			"allow_private": "false",
			"max_dead":      "1000",
			"max_per_scope": "100",
			"workers":       "64",
		},
		"ssl": {
			"enable": "false",
			"port":   "6984",
		},
		"uuids": {
			"algorithm": "sequential",
			"max_count": "1000",
		},
	}
	maps.Copy(l, callerDefaults())
	maps.Copy(l, functionDefaults())
	maps.Copy(l, replicationDefaults())
	return l
}

// callerDefaults are those of who may call, and from where.
func callerDefaults() layer {
	return layer{
		"chttpd_auth": {
			"allow_conflicted_user_docs": "false",
			"allow_persistent_cookies":   "true",
			"auth_cache_size":            "10000",
			"authentication_redirect":    "/_utils/session.html",
			"hash_algorithms":            "sha256, sha",
			"iterations":                 "600000",
			"max_iterations":             "10000000",
			"min_iterations":             "1",
			"pbkdf2_prf":                 "sha256",
			"proxy_use_secret":           "true",
			"same_site":                  "Lax",
			"timeout":                    "600",
			"x_auth_roles":               "X-Auth-CouchDB-Roles",
			"x_auth_token":               "X-Auth-CouchDB-Token",
			"x_auth_username":            "X-Auth-CouchDB-UserName",
		},
		"chttpd_auth_lockout": {
			"max_lifetime": "300000",
			"max_objects":  "10000",
			"mode":         "enforce",
			"threshold":    "5",
		},
		"csp": {
			"attachments_enable":       "true",
			"attachments_header_value": "sandbox",
			"showlist_enable":          "true",
			"showlist_header_value":    "sandbox",
		},
		"cors": {
			"credentials": "false",
			"max_age":     "600",
		},
		"couch_peruser": {
			"database_prefix": "userdb-",
			"delete_dbs":      "false",
			"enable":          "false",
		},
		"jwt_auth": {
			"jwks_keep":        "86400",
			"jwks_refresh":     "3600",
			"jwks_retry":       "30",
			"required_claims":  "exp",
			"roles_claim_name": "_couchdb.roles",
		},
	}
}

// functionDefaults are those of design functions, beside [couchdb]
// os_process_timeout.
func functionDefaults() layer {
	return layer{
		"query_server_config": {
			"os_process_idle_limit": "300",
		},
		"quickjs": {
			"memory_limit_bytes": "268435456",
		},
	}
}

// replicationDefaults are those of the replicator.
func replicationDefaults() layer {
	return layer{
		"replicator": {
			"checkpoint_interval":      "30000",
			"connection_timeout":       "30000",
			"health_threshold":         "120",
			"http_connections":         "20",
			"interval":                 "60000",
			"max_churn":                "20",
			"max_history":              "20",
			"max_jobs":                 "500",
			"priority_coeff":           "0.98",
			"private_addresses":        "admins",
			"retries_per_request":      "5",
			"usage_coeff":              "0.5",
			"use_bulk_get":             "true",
			"use_checkpoints":          "true",
			"valid_endpoint_protocols": "http, https",
			"valid_proxy_protocols":    "http, https, socks5",
			"verify_ssl_certificates":  "true",
			"worker_batch_size":        "500",
			"worker_processes":         "4",
		},
	}
}
