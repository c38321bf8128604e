package couchapi

import "slices"

// New makes the handler of CouchDB's API.
func New(o Options) *API { return newAPI(o, allRoutes()) }

// allRoutes is the whole surface.
func allRoutes() []route {
	return slices.Concat(serverRoutes(), sessionRoutes("/_session", 0), nodeRoutes(), databaseRoutes(), expiryRoutes(), endpointRoutes(), designRoutes(), functionRoutes(), viewRoutes(), mangoRoutes(), documentRoutes(), listingRoutes(),
		subscriptionRoutes(), cloudantRoutes())
}

// Why parts of the surface are not built. Each sentence is the reason that
// clients see, and has its numbered line in docs/DIFFERENCES.md.
const (
	noSearch      = "Full-text search is not implemented."
	noNouveau     = "Nouveau search is not implemented."
	noGeo         = "Geo queries are not implemented."
	noReshard     = "Databases have no shards that could be split."
	noQueryServer = "There are no query servers that could be reloaded."
)

// serverRoutes are the pages of the server itself.
func serverRoutes() []route {
	return []route{
		{methods: "GET", pattern: "/", run: welcome, allow: "GET,HEAD"},
		{methods: "GET", pattern: "/_up", run: up, allow: "GET,HEAD"},
		{methods: "GET", pattern: "/_active_tasks", rights: adminOnly, run: activeTasks, allow: "GET,HEAD"},
		{methods: "GET", pattern: "/_all_dbs", run: allDBs, class: classQuery, allow: "GET,HEAD"},
		{methods: "GET", pattern: "/_dbs_info", run: dbsInfoRange, class: classQuery, allow: "GET,HEAD,POST"},
		{methods: "POST", pattern: "/_dbs_info", run: dbsInfoKeys, class: classQuery},
		{methods: "GET", pattern: "/_db_updates", rights: adminOnly, run: dbUpdates, class: classFeed},
		{methods: "GET", pattern: "/_membership", rights: adminOnly, run: membership},
		{methods: "GET", pattern: "/_cluster_setup", rights: adminOnly, run: clusterState, allow: "GET,POST"},
		{methods: "POST", pattern: "/_cluster_setup", rights: adminOnly, run: clusterSetup},
		{methods: "GET", pattern: "/_uuids", run: uuids},
		{methods: "GET", pattern: "/favicon.ico", run: favicon},
		{methods: "GET", pattern: "/_utils", run: utils, allow: "GET,HEAD"},
		{methods: "GET", pattern: "/_utils/{file...}", run: utils, allow: "GET,HEAD"},
		{methods: "GET", pattern: "/_replicate", run: replicateNothing, allow: "GET,POST"},
		{methods: "POST", pattern: "/_replicate", rights: user, body: queryBody, run: replicateOnce, class: classAdmin},
		{methods: "GET", pattern: "/_scheduler/jobs", rights: adminOnly, run: schedulerJobs, allow: "GET,HEAD"},
		{methods: "GET", pattern: "/_scheduler/jobs/{job}", rights: adminOnly, run: schedulerJob, allow: "GET,HEAD"},
		{methods: "GET", pattern: "/_scheduler/jobs/{job}/failures", rights: adminOnly, run: schedulerFailures, allow: "GET,HEAD"},
		{methods: "GET", pattern: "/_scheduler/docs", rights: adminOnly, run: schedulerDocs, allow: "GET,HEAD"},
		{methods: "GET", pattern: "/_scheduler/docs/{path...}", rights: adminOnly, run: schedulerDocs, allow: "GET,HEAD"},
		{methods: "GET,POST", pattern: "/_search_analyze", rights: adminOnly, missing: noSearch},
		{methods: "POST", pattern: "/_nouveau_analyze", rights: adminOnly, missing: noNouveau},
		{methods: "GET", pattern: "/_reshard", rights: adminOnly, missing: noReshard},
		{methods: "GET,PUT", pattern: "/_reshard/state", rights: adminOnly, missing: noReshard},
		{methods: "GET,POST", pattern: "/_reshard/jobs", rights: adminOnly, missing: noReshard},
		{methods: "GET,DELETE", pattern: "/_reshard/jobs/{job}", rights: adminOnly, missing: noReshard},
		{methods: "GET,PUT", pattern: "/_reshard/jobs/{job}/state", rights: adminOnly, missing: noReshard},
		{methods: "POST", pattern: "/_reload_query_servers", rights: adminOnly, missing: noQueryServer},
	}
}

// Why parts of the surface are not built; see missing.
const (
	noTimeSeq = "Sequences by time are not implemented."
	noRestart = "The server is not restarted over HTTP."
)

// nodeRoutes are the pages of one node; this server is one node.
func nodeRoutes() []route {
	return []route{
		{methods: "GET", pattern: "/_node/{node}", rights: adminOnly, run: onNode(nodeName)},
		{methods: "GET", pattern: "/_node/{node}/_config", rights: adminOnly, run: onNode(configAll), class: classAdmin},
		{methods: "POST", pattern: "/_node/{node}/_config/_reload", rights: adminOnly, run: onNode(configReload), class: classAdmin},
		{methods: "GET", pattern: "/_node/{node}/_config/{section}", rights: adminOnly, run: onNode(configSection), class: classAdmin},
		{methods: "GET", pattern: "/_node/{node}/_config/{section}/{key}", rights: adminOnly, run: onNode(configGet), class: classAdmin, allow: "GET,PUT,DELETE"},
		{methods: "PUT", pattern: "/_node/{node}/_config/{section}/{key}", rights: adminOnly, run: onNode(configPut), class: classAdmin},
		{methods: "DELETE", pattern: "/_node/{node}/_config/{section}/{key}", rights: adminOnly, run: onNode(configDelete), class: classAdmin},
		{methods: "GET", pattern: "/_node/{node}/_stats", rights: metricsOnly, run: onNode(nodeStats)},
		{methods: "GET", pattern: "/_node/{node}/_stats/{name...}", rights: metricsOnly, run: onNode(nodeStats)},
		{methods: "GET", pattern: "/_node/{node}/_system", rights: metricsOnly, run: onNode(nodeSystem)},
		{methods: "GET", pattern: "/_node/{node}/_prometheus", rights: metricsOnly, run: onNode(nodePrometheus)},
		{methods: "GET", pattern: "/_node/{node}/_versions", rights: adminOnly, run: onNode(nodeVersions)},
		{methods: "GET", pattern: "/_node/{node}/_smoosh/status", rights: adminOnly, run: onNode(smooshStatus)},
		{methods: "POST", pattern: "/_node/{node}/_restart", rights: adminOnly, missing: noRestart},
	}
}

// databaseRoutes are databases as such and their settings.
func databaseRoutes() []route {
	return []route{
		{methods: "GET", pattern: "/{db}", at: everyEndpoint, rights: reader, run: databaseInfo, class: classAdmin, allow: "DELETE,GET,HEAD,POST"},
		{methods: "PUT", pattern: "/{db}", rights: adminOnly, bare: true, run: createDatabase, class: classAdmin},
		{methods: "DELETE", pattern: "/{db}", rights: adminOnly, bare: true, run: deleteDatabase, class: classAdmin},
		{methods: "PUT", pattern: "/{db}/_security", rights: securer, run: putSecurity, class: classAdmin, allow: "PUT,GET"},
		{methods: "GET", pattern: "/{db}/_security", rights: member, run: getSecurity, class: classAdmin},
		{methods: "PUT", pattern: "/{db}/_revs_limit", rights: dbOwner, run: putRevsLimit, class: classAdmin, allow: "PUT,GET"},
		{methods: "GET", pattern: "/{db}/_revs_limit", rights: member, run: getRevsLimit, class: classAdmin},
		{methods: "PUT", pattern: "/{db}/_purged_infos_limit", rights: dbOwner, run: putPurgedLimit, class: classAdmin, allow: "GET,PUT"},
		{methods: "GET", pattern: "/{db}/_purged_infos_limit", rights: member, run: getPurgedLimit, class: classAdmin},
		{methods: "POST", pattern: "/{db}/_compact", rights: dbAdmin, run: compact, class: classAdmin},
		{methods: "POST", pattern: "/{db}/_compact/{ddoc}", rights: dbAdmin, run: compactViews, class: classAdmin},
		{methods: "POST", pattern: "/{db}/_view_cleanup", rights: dbAdmin, run: cleanUp, class: classAdmin},
		{methods: "POST", pattern: "/{db}/_search_cleanup", rights: dbAdmin, run: cleanUp, class: classAdmin},
		{methods: "POST", pattern: "/{db}/_nouveau_cleanup", rights: dbAdmin, run: cleanUp, class: classAdmin},
		{methods: "POST", pattern: "/{db}/_geo_cleanup", rights: dbAdmin, run: cleanUp, class: classAdmin},
		{methods: "POST", pattern: "/{db}/_ensure_full_commit", at: everyEndpoint, rights: reader, run: fullCommit, class: classAdmin},
		{methods: "GET", pattern: "/{db}/_shards", rights: member, run: shards, class: classAdmin},
		{methods: "GET", pattern: "/{db}/_shards/{id...}", rights: member, run: shardOf, class: classAdmin},
		{methods: "POST", pattern: "/{db}/_sync_shards", rights: adminOnly, run: syncShards, class: classAdmin},
		{methods: "GET", pattern: "/{db}/_auto_purge", rights: member, run: getAutoPurge, class: classAdmin},
		{methods: "PUT", pattern: "/{db}/_auto_purge", rights: dbAdmin, run: putAutoPurge, class: classAdmin},
		{methods: "GET,DELETE", pattern: "/{db}/_time_seq", rights: member, missing: noTimeSeq},
	}
}

// expiryRoutes are the settings by which documents expire.
func expiryRoutes() []route {
	return []route{
		{methods: "GET", pattern: "/{db}/_expiry", at: withPrefixes, rights: reader, class: classAdmin, run: getExpiry},
		{methods: "PUT", pattern: "/{db}/_expiry", at: withPrefixes, rights: dbAdmin, class: classAdmin, run: putExpiry},
		{methods: "DELETE", pattern: "/{db}/_expiry", at: withPrefixes, rights: dbAdmin, class: classAdmin, run: deleteExpiry},
	}
}

// designRoutes are what design documents serve, and the queries over indexes.
func designRoutes() []route {
	return []route{
		{methods: "GET,POST", pattern: "/{db}/_design/{ddoc}/_search/{index}", at: everyEndpoint, rights: reader, class: classQuery, missing: noSearch},
		{methods: "GET", pattern: "/{db}/_design/{ddoc}/_search_info/{index}", at: everyEndpoint, rights: member, class: classQuery, missing: noSearch},
		{methods: "GET", pattern: "/{db}/_design/{ddoc}/_search_disk_size/{index}", at: everyEndpoint, rights: member, class: classQuery, missing: noSearch},
		{methods: "GET,POST", pattern: "/{db}/_design/{ddoc}/_nouveau/{index}", at: everyEndpoint, rights: reader, class: classQuery, missing: noNouveau},
		{methods: "GET", pattern: "/{db}/_design/{ddoc}/_nouveau_info/{index}", at: everyEndpoint, rights: member, class: classQuery, missing: noNouveau},
		{methods: "GET,POST", pattern: "/{db}/_design/{ddoc}/_geo/{index}", at: everyEndpoint, rights: reader, class: classQuery, missing: noGeo},
		{methods: "GET", pattern: "/{db}/_design/{ddoc}/_geo_info/{index}", at: everyEndpoint, rights: member, class: classQuery, missing: noGeo},
	}
}

// endpointRoutes are what a partition has in the place of a database's pages, and
// the paths around it at which clients look for what belongs to a server.
func endpointRoutes() []route {
	rows := []route{
		{methods: "PUT", pattern: "/{db}", at: inside, rights: reader, run: endpointExists, class: classAdmin},
		{methods: "DELETE", pattern: "/{db}", at: inside, rights: dbAdmin, run: dropPartition, class: classAdmin},
		// Who may see one partition need not know who may see others.
		{methods: "GET", pattern: "/{db}/_security", at: atPartition, rights: dbAdmin, run: getSecurity, class: classAdmin},
		{methods: "GET", pattern: "/{db}/_security", at: atTenant, rights: reader, run: tenantSecurity, class: classAdmin},
		// Tenants may ask for what is done without asking.
		{methods: "POST", pattern: "/{db}/_compact", at: atTenant, rights: reader, run: cleanUp, class: classAdmin},
		{methods: "POST", pattern: "/{db}/_view_cleanup", at: atTenant, rights: reader, run: cleanUp, class: classAdmin},
		{methods: "GET", pattern: "/{db}/_partitions", rights: partitionLister, class: classQuery, run: listPartitions},
	}
	for _, name := range endpointNames() {
		rows = append(rows, route{methods: "*", pattern: "/{db}/" + name, rights: member, class: classQuery, run: partitionForgotten})
		rows = append(rows, sessionRoutes("/{db}/"+name+"/_session", atDatabase)...)
	}
	return append(rows, sessionRoutes("/{db}/_session", inside)...)
}

// sessionRoutes are the session of the caller at one of its places. Whoever
// keeps users beside a database looks for it there.
func sessionRoutes(pattern string, at endpoint) []route {
	return []route{
		{methods: "GET", pattern: pattern, at: at, bare: true, run: session, allow: "GET,HEAD,POST,DELETE"},
		{methods: "POST", pattern: pattern, at: at, bare: true, body: loginBody, run: logIn},
		{methods: "DELETE", pattern: pattern, at: at, bare: true, run: logOut},
	}
}
