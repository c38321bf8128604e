package couchapi

import (
	"slices"

	"github.com/sectional/sectional/internal/couchapi/admin"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchapi/documents"
	"github.com/sectional/sectional/internal/couchapi/legacy"
	"github.com/sectional/sectional/internal/couchapi/lists"
)

// New makes the handler of CouchDB's API.
func New(o couchhttp.Options) *couchhttp.API { return couchhttp.New(o, allRoutes()) }

// allRoutes is the whole surface. Where packages have rows of one pattern, the first says by its rights who is told
// which methods there are.
func allRoutes() []couchhttp.Route {
	return slices.Concat(serverRoutes(), sessionRoutes("/_session", 0), admin.Routes(), endpointRoutes(), legacy.Routes(), lists.Routes(),
		documents.Routes(), feedRoutes())
}

// Why parts of the surface are not built. Each sentence is the reason that
// clients see, and has its numbered line in docs/DIFFERENCES.md.
const (
	noReshard     = "Databases have no shards that could be split."
	noQueryServer = "There are no query servers that could be reloaded."
)

// serverRoutes are the pages of the server itself.
func serverRoutes() []couchhttp.Route {
	return []couchhttp.Route{
		{Methods: "GET", Pattern: "/", Run: welcome, Allow: "GET,HEAD"},
		{Methods: "GET", Pattern: "/_up", Run: up, Often: true, Allow: "GET,HEAD"},
		{Methods: "GET", Pattern: "/_active_tasks", Rights: couchhttp.AdminOnly, Run: admin.ActiveTasks, Allow: "GET,HEAD"},
		{Methods: "GET", Pattern: "/_all_dbs", Run: admin.AllDBs, Class: couchhttp.ClassQuery, Allow: "GET,HEAD"},
		{Methods: "GET", Pattern: "/_dbs_info", Run: admin.DbsInfoRange, Class: couchhttp.ClassQuery, Allow: "GET,HEAD,POST"},
		{Methods: "POST", Pattern: "/_dbs_info", Run: admin.DbsInfoKeys, Class: couchhttp.ClassQuery},
		{Methods: "GET", Pattern: "/_db_updates", Rights: couchhttp.AdminOnly, Run: dbUpdates, Class: couchhttp.ClassFeed},
		{Methods: "GET", Pattern: "/_membership", Rights: couchhttp.AdminOnly, Run: membership},
		{Methods: "GET", Pattern: "/_cluster_setup", Rights: couchhttp.AdminOnly, Run: admin.ClusterState, Allow: "GET,POST"},
		{Methods: "POST", Pattern: "/_cluster_setup", Rights: couchhttp.AdminOnly, Run: admin.ClusterSetup},
		{Methods: "GET", Pattern: "/_uuids", Run: admin.Uuids},
		{Methods: "GET", Pattern: "/favicon.ico", Run: favicon},
		{Methods: "GET", Pattern: "/_utils", Run: utils, Allow: "GET,HEAD"},
		{Methods: "GET", Pattern: "/_utils/{file...}", Run: utils, Allow: "GET,HEAD"},
		{Methods: "GET", Pattern: "/_replicate", Run: replicateNothing, Allow: "GET,POST"},
		{Methods: "POST", Pattern: "/_replicate", Rights: couchhttp.User, Body: couchhttp.QueryBody, Run: replicateOnce, Class: couchhttp.ClassAdmin},
		{Methods: "GET", Pattern: "/_scheduler/jobs", Rights: couchhttp.AdminOnly, Run: admin.SchedulerJobs, Allow: "GET,HEAD"},
		{Methods: "GET", Pattern: "/_scheduler/jobs/{job}", Rights: couchhttp.AdminOnly, Run: admin.SchedulerJob, Allow: "GET,HEAD"},
		{Methods: "GET", Pattern: "/_scheduler/jobs/{job}/failures", Rights: couchhttp.AdminOnly, Run: admin.SchedulerFailures, Allow: "GET,HEAD"},
		{Methods: "GET", Pattern: "/_scheduler/docs", Rights: couchhttp.AdminOnly, Run: admin.SchedulerDocs, Allow: "GET,HEAD"},
		{Methods: "GET", Pattern: "/_scheduler/docs/{path...}", Rights: couchhttp.AdminOnly, Run: admin.SchedulerDocs, Allow: "GET,HEAD"},
		{Methods: "GET", Pattern: "/_reshard", Rights: couchhttp.AdminOnly, Missing: noReshard},
		{Methods: "GET,PUT", Pattern: "/_reshard/state", Rights: couchhttp.AdminOnly, Missing: noReshard},
		{Methods: "GET,POST", Pattern: "/_reshard/jobs", Rights: couchhttp.AdminOnly, Missing: noReshard},
		{Methods: "GET,DELETE", Pattern: "/_reshard/jobs/{job}", Rights: couchhttp.AdminOnly, Missing: noReshard},
		{Methods: "GET,PUT", Pattern: "/_reshard/jobs/{job}/state", Rights: couchhttp.AdminOnly, Missing: noReshard},
		{Methods: "POST", Pattern: "/_reload_query_servers", Rights: couchhttp.AdminOnly, Missing: noQueryServer},
	}
}

// endpointRoutes are what a partition has in the place of a database's pages, and
// the paths around it at which clients look for what belongs to a server.
func endpointRoutes() []couchhttp.Route {
	rows := []couchhttp.Route{
		{Methods: "PUT", Pattern: "/{db}", At: couchhttp.Inside, Rights: couchhttp.Reader, Run: couchhttp.EndpointExists, Class: couchhttp.ClassAdmin},
		{Methods: "DELETE", Pattern: "/{db}", At: couchhttp.Inside, Rights: couchhttp.DbAdmin, Run: admin.DropPartition, Class: couchhttp.ClassAdmin},
		// Who may see one partition need not know who may see others.
		{Methods: "GET", Pattern: "/{db}/_security", At: couchhttp.AtPartition, Rights: couchhttp.DbAdmin, Run: admin.GetSecurity, Class: couchhttp.ClassAdmin},
		{Methods: "GET", Pattern: "/{db}/_security", At: couchhttp.AtTenant, Rights: couchhttp.Reader, Run: couchhttp.TenantSecurity, Class: couchhttp.ClassAdmin},
		// Tenants may ask for what is done without asking.
		{Methods: "POST", Pattern: "/{db}/_compact", At: couchhttp.AtTenant, Rights: couchhttp.Reader, Run: admin.CleanUp, Class: couchhttp.ClassAdmin},
		{Methods: "POST", Pattern: "/{db}/_view_cleanup", At: couchhttp.AtTenant, Rights: couchhttp.Reader, Run: admin.CleanUp, Class: couchhttp.ClassAdmin},
		{Methods: "GET", Pattern: "/{db}/_partitions", Rights: couchhttp.PartitionLister, Class: couchhttp.ClassQuery, Run: admin.ListPartitions},
		{Methods: "GET", Pattern: "/{db}/_partition_advice", Rights: couchhttp.DbAdmin, Class: couchhttp.ClassQuery, Run: admin.PartitionAdvice},
	}
	for _, name := range couchhttp.EndpointNames() {
		rows = append(rows, couchhttp.Route{Methods: "*", Pattern: "/{db}/" + name, Rights: couchhttp.Member, Class: couchhttp.ClassQuery, Run: admin.PartitionForgotten})
		rows = append(rows, sessionRoutes("/{db}/"+name+"/_session", couchhttp.AtDatabase)...)
	}
	return append(rows, sessionRoutes("/{db}/_session", couchhttp.Inside)...)
}

// sessionRoutes are the session of the caller at one of its places. Whoever
// keeps users beside a database looks for it there.
func sessionRoutes(pattern string, at couchhttp.Endpoint) []couchhttp.Route {
	return []couchhttp.Route{
		{Methods: "GET", Pattern: pattern, At: at, Bare: true, Run: session, Allow: "GET,HEAD,POST,DELETE"},
		{Methods: "POST", Pattern: pattern, At: at, Bare: true, Body: couchhttp.LoginBody, Run: logIn},
		{Methods: "DELETE", Pattern: pattern, At: at, Bare: true, Run: logOut},
	}
}
