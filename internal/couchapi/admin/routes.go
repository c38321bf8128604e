package admin

import (
	"slices"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
)

// Why parts of the surface are not built; see missing.
const (
	noTimeSeq = "Sequences by time are not implemented."
	noRestart = "The server is not restarted over HTTP."
)

// Routes are the rows of the package.
func Routes() []couchhttp.Route {
	return slices.Concat(nodeRoutes(), databaseRoutes(), expiryRoutes(), subscriptionRoutes(), cloudantRoutes(), accessKeyRoutes())
}

// nodeRoutes are the pages of one node; this server is one node.
func nodeRoutes() []couchhttp.Route {
	return []couchhttp.Route{
		{Methods: "GET", Pattern: "/_node/{node}", Rights: couchhttp.AdminOnly, Run: onNode(nodeName)},
		{Methods: "GET", Pattern: "/_node/{node}/_config", Rights: couchhttp.AdminOnly, Run: onNode(configAll), Class: couchhttp.ClassAdmin},
		{Methods: "POST", Pattern: "/_node/{node}/_config/_reload", Rights: couchhttp.AdminOnly, Run: onNode(configReload), Class: couchhttp.ClassAdmin},
		{Methods: "GET", Pattern: "/_node/{node}/_config/{section}", Rights: couchhttp.AdminOnly, Run: onNode(configSection), Class: couchhttp.ClassAdmin},
		{Methods: "GET", Pattern: "/_node/{node}/_config/{section}/{key}", Rights: couchhttp.AdminOnly, Run: onNode(configGet), Class: couchhttp.ClassAdmin, Allow: "GET,PUT,DELETE"},
		{Methods: "PUT", Pattern: "/_node/{node}/_config/{section}/{key}", Rights: couchhttp.AdminOnly, Run: onNode(configPut), Class: couchhttp.ClassAdmin},
		{Methods: "DELETE", Pattern: "/_node/{node}/_config/{section}/{key}", Rights: couchhttp.AdminOnly, Run: onNode(configDelete), Class: couchhttp.ClassAdmin},
		{Methods: "GET", Pattern: "/_node/{node}/_stats", Rights: couchhttp.MetricsOnly, Run: onNode(nodeStats)},
		{Methods: "GET", Pattern: "/_node/{node}/_stats/{name...}", Rights: couchhttp.MetricsOnly, Run: onNode(nodeStats)},
		{Methods: "GET", Pattern: "/_node/{node}/_system", Rights: couchhttp.MetricsOnly, Run: onNode(nodeSystem)},
		{Methods: "GET", Pattern: "/_node/{node}/_prometheus", Often: true, Rights: couchhttp.MetricsOnly, Run: onNode(nodePrometheus)},
		{Methods: "GET", Pattern: "/_node/{node}/_versions", Rights: couchhttp.AdminOnly, Run: onNode(nodeVersions)},
		{Methods: "GET", Pattern: "/_node/{node}/_audit", Rights: couchhttp.AdminOnly, Run: onNode(nodeAudit)},
		{Methods: "GET", Pattern: "/_node/{node}/_smoosh/status", Rights: couchhttp.AdminOnly, Run: onNode(smooshStatus)},
		{Methods: "POST", Pattern: "/_node/{node}/_restart", Rights: couchhttp.AdminOnly, Missing: noRestart},
	}
}

// databaseRoutes are databases as such and their settings.
func databaseRoutes() []couchhttp.Route {
	return []couchhttp.Route{
		{Methods: "GET", Pattern: "/{db}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Run: databaseInfo, Class: couchhttp.ClassAdmin, Allow: "DELETE,GET,HEAD,POST"},
		{Methods: "PUT", Pattern: "/{db}", Rights: couchhttp.AdminOnly, Bare: true, Run: createDatabase, Class: couchhttp.ClassAdmin},
		{Methods: "DELETE", Pattern: "/{db}", Rights: couchhttp.AdminOnly, Bare: true, Run: deleteDatabase, Class: couchhttp.ClassAdmin},
		{Methods: "PUT", Pattern: "/{db}/_security", Rights: couchhttp.Securer, Run: putSecurity, Class: couchhttp.ClassAdmin, Allow: "PUT,GET"},
		{Methods: "GET", Pattern: "/{db}/_security", Rights: couchhttp.Member, Run: GetSecurity, Class: couchhttp.ClassAdmin},
		{Methods: "PUT", Pattern: "/{db}/_revs_limit", Rights: couchhttp.DbOwner, Run: putRevsLimit, Class: couchhttp.ClassAdmin, Allow: "PUT,GET"},
		{Methods: "GET", Pattern: "/{db}/_revs_limit", Rights: couchhttp.Member, Run: getRevsLimit, Class: couchhttp.ClassAdmin},
		{Methods: "PUT", Pattern: "/{db}/_purged_infos_limit", Rights: couchhttp.AdminOnly, Run: putPurgedLimit, Class: couchhttp.ClassAdmin, Allow: "GET,PUT"},
		{Methods: "GET", Pattern: "/{db}/_purged_infos_limit", Rights: couchhttp.AdminOnly, Run: getPurgedLimit, Class: couchhttp.ClassAdmin},
		{Methods: "POST", Pattern: "/{db}/_compact", Rights: couchhttp.DbAdmin, Run: compact, Class: couchhttp.ClassAdmin},
		{Methods: "POST", Pattern: "/{db}/_view_cleanup", Rights: couchhttp.DbAdmin, Run: CleanUp, Class: couchhttp.ClassAdmin},
		{Methods: "POST", Pattern: "/{db}/_search_cleanup", Rights: couchhttp.DbAdmin, Run: CleanUp, Class: couchhttp.ClassAdmin},
		{Methods: "POST", Pattern: "/{db}/_nouveau_cleanup", Rights: couchhttp.DbAdmin, Run: CleanUp, Class: couchhttp.ClassAdmin},
		{Methods: "POST", Pattern: "/{db}/_geo_cleanup", Rights: couchhttp.DbAdmin, Run: CleanUp, Class: couchhttp.ClassAdmin},
		{Methods: "POST", Pattern: "/{db}/_ensure_full_commit", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Run: fullCommit, Class: couchhttp.ClassAdmin},
		{Methods: "GET", Pattern: "/{db}/_shards", Rights: couchhttp.Member, Run: shards, Class: couchhttp.ClassAdmin},
		{Methods: "GET", Pattern: "/{db}/_shards/{id...}", Rights: couchhttp.Member, Run: shardOf, Class: couchhttp.ClassAdmin},
		{Methods: "POST", Pattern: "/{db}/_sync_shards", Rights: couchhttp.AdminOnly, Run: syncShards, Class: couchhttp.ClassAdmin},
		{Methods: "GET", Pattern: "/{db}/_auto_purge", Rights: couchhttp.Member, Run: getAutoPurge, Class: couchhttp.ClassAdmin},
		{Methods: "PUT", Pattern: "/{db}/_auto_purge", Rights: couchhttp.DbAdmin, Run: putAutoPurge, Class: couchhttp.ClassAdmin},
		{Methods: "GET,DELETE", Pattern: "/{db}/_time_seq", Rights: couchhttp.Member, Missing: noTimeSeq},
	}
}

// expiryRoutes are the settings by which documents expire.
func expiryRoutes() []couchhttp.Route {
	return []couchhttp.Route{
		{Methods: "GET", Pattern: "/{db}/_expiry", At: couchhttp.WithPrefixes, Rights: couchhttp.Reader, Class: couchhttp.ClassAdmin, Run: getExpiry},
		{Methods: "PUT", Pattern: "/{db}/_expiry", At: couchhttp.WithPrefixes, Rights: couchhttp.DbAdmin, Class: couchhttp.ClassAdmin, Run: putExpiry},
		{Methods: "DELETE", Pattern: "/{db}/_expiry", At: couchhttp.WithPrefixes, Rights: couchhttp.DbAdmin, Class: couchhttp.ClassAdmin, Run: deleteExpiry},
	}
}
