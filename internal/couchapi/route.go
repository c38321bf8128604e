package couchapi

import (
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/web"
)

// rights says who may call a route.
type rights uint8

const (
	anyone          rights = iota
	metricsOnly            // server administrators and readers of metrics
	adminOnly              // server administrators; asked before the database is looked for
	user                   // whoever is logged in
	member                 // members of the database (anybody who may read it)
	memberOrHead           // as reader, but of users and of _replicator server administrators only: lists and feeds
	reader                 // members, and whoever a rule lets read the partition that the path names
	writer                 // members, and whoever a rule lets write to the partition that the path names
	partitionLister        // administrators of the database, and, of their own partitions, whom rules let in
	dbAdmin                // administrators of the database: "You are not a server or db admin."
	securer                // administrators of the database, and whom `cloudant` lets write _security
	dbOwner                // administrators of the database, in the words of _security: "You are not a db or server admin."
)

// class groups routes in the metrics.
type class uint8

const (
	classServer class = iota // the server's own pages
	classLookup              // one document or attachment read
	classWrite               // documents written
	classQuery               // lists, views, queries
	classFeed                // changes feeds
	classAdmin               // databases and settings
	classCount
)

// classes count the requests of each class.
type classes [classCount]*web.Class

// newClasses makes what counts each of the classes.
func newClasses(m *web.Metrics) (made classes) {
	for c, name := range [classCount]string{"server", "lookup", "write", "query", "feed", "admin"} {
		made[c] = m.Class(name, class(c) == classFeed)
	}
	return made
}

// bodyKind says what the body of a route is: how long it may be once it is unpacked, and
// what a byte of it costs while the request runs.
type bodyKind uint8

const (
	bodyOfClass   bodyKind = iota // what is usual for the route's class
	loginBody                     // read from anybody
	settingBody                   // settings and definitions
	queryBody                     // queries, and lists of keys and ids
	documentsBody                 // documents, whose attachments may be inline
)

var bodyCosts = [...]web.BodyCost{
	loginBody:     {Most: 64 << 10, Weight: 1, Element: 128},
	settingBody:   {Most: 1 << 20, Weight: 1, Element: 128},
	queryBody:     {Most: 32 << 20, Weight: 3, Element: 128},
	documentsBody: {Most: 256 << 20, Weight: 3, Element: 16},
}

// classBodies are the kinds that rows have when they do not say.
var classBodies = [classCount]bodyKind{
	classServer: settingBody, classAdmin: settingBody, classLookup: queryBody, classQuery: queryBody, classFeed: queryBody, classWrite: documentsBody,
}

// handler answers one request. It writes an answer by r's methods or returns
// an error, which the frame renders.
type handler func(r *request) error

// route is one row of the surface.
//
// Of patterns see web.Table. {db} opens that database, unless the row is bare. It stands for the
// root of every endpoint at which the row is served: see endpoint.
type route struct {
	methods string // "GET" or "GET,POST"; GET serves HEAD too, "*" is every method
	pattern string
	at      endpoint // where a pattern that begins with {db} is served; zero: atDatabase
	rights  rights
	class   class
	run     handler
	body    bodyKind // what its body is; zero: what is usual for its class
	bare    bool     // {db} is an argument like any other
	allow   string   // the Allow header of the pattern, if it is not the methods of its rows; first row only
	missing string   // instead of run: why this is not implemented

	action web.Action // what follows from class and body
}

// newTable makes the table that finds the rows. It panics on rows that contradict each other.
func newTable(rows []route, counted classes) *web.Table[*route] {
	t := &web.Table[*route]{}
	for _, row := range expandRoutes(rows) {
		if row.body == bodyOfClass {
			row.body = classBodies[row.class]
		}
		row.action = web.Action{Class: counted[row.class], Body: bodyCosts[row.body]}
		t.Add(row.pattern, row.methods, row.allow, &row)
	}
	return t
}

func notAllowed(methods string) error {
	return dberr.New(dberr.Invalid, "method_not_allowed", "Only "+methods+" allowed")
}

func notImplemented(reason string) error {
	return dberr.New(dberr.NotImplemented, "not_implemented", reason)
}
