package couchhttp

import (
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/web"
)

// rights says who may call a route.
type rights uint8

const (
	Anyone          rights = iota
	MetricsOnly            // server administrators and readers of metrics
	AdminOnly              // server administrators; asked before the database is looked for
	User                   // whoever is logged in
	Member                 // members of the database (anybody who may read it)
	MemberOrHead           // as reader, but of users and of _replicator server administrators only: lists and feeds
	Reader                 // members, and whoever a rule lets read the partition that the path names
	Writer                 // members, and whoever a rule lets write to the partition that the path names
	PartitionLister        // administrators of the database, and, of their own partitions, whom rules let in
	DbAdmin                // administrators of the database: "You are not a server or db admin."
	Securer                // administrators of the database, and whom `cloudant` lets write _security
	DbOwner                // administrators of the database, in the words of _security: "You are not a db or server admin."
)

// class groups routes in the metrics.
type class uint8

const (
	classServer class = iota // the server's own pages
	ClassLookup              // one document or attachment read
	ClassWrite               // documents written
	ClassQuery               // lists, views, queries
	ClassFeed                // changes feeds
	ClassAdmin               // databases and settings
	classCount
)

// Classes count the requests of each class.
type Classes [classCount]*web.Class

// newClasses makes what counts each of the classes.
func newClasses(m *web.Metrics) (made Classes) {
	for c, name := range [classCount]string{"server", "lookup", "write", "query", "feed", "admin"} {
		made[c] = m.Class(name, class(c) == ClassFeed)
	}
	return made
}

// bodyKind says what the body of a route is: how long it may be once it is unpacked, and
// what a byte of it costs while the request runs.
type bodyKind uint8

const (
	bodyOfClass   bodyKind = iota // what is usual for the route's class
	LoginBody                     // read from anybody
	settingBody                   // settings and definitions
	QueryBody                     // queries, and lists of keys and ids
	documentsBody                 // documents, whose attachments may be inline
)

var bodyCosts = [...]web.BodyCost{
	LoginBody:     {Max: 64 << 10, Weight: 1, Element: 128},
	settingBody:   {Max: 1 << 20, Weight: 1, Element: 128},
	QueryBody:     {Max: 32 << 20, Weight: 3, Element: 128},
	documentsBody: {Max: 256 << 20, Weight: 3, Element: 16, Written: true},
}

// classBodies are the kinds that rows have when they do not say.
var classBodies = [classCount]bodyKind{
	classServer: settingBody, ClassAdmin: settingBody, ClassLookup: QueryBody, ClassQuery: QueryBody, ClassFeed: QueryBody, ClassWrite: documentsBody,
}

// Handler answers one request. It writes an answer by r's methods or returns
// an error, which the frame renders.
type Handler func(r *Request) error

// Route is one row of the surface.
//
// Of patterns see web.Table. {db} opens that database, unless the row is bare. It stands for the
// root of every endpoint at which the row is served: see endpoint.
type Route struct {
	Methods string // "GET" or "GET,POST"; GET serves HEAD too, "*" is every method
	Pattern string
	At      Endpoint // where a pattern that begins with {db} is served; zero: atDatabase
	Rights  rights
	Class   class
	Run     Handler
	Body    bodyKind // what its body is; zero: what is usual for its class
	Reads   bool     // it begins with a read of the database or a commit, which looks at what let the request in
	Often   bool     // limits of requests do not count it
	Bare    bool     // {db} is an argument like any other
	Allow   string   // the Allow header of the pattern, if it is not the methods of its rows; first row only
	Missing string   // instead of run: why this is not implemented

	action web.Action // what follows from class and body
}

// NewTable makes the table that finds the rows. It panics on rows that contradict each other.
func NewTable(rows []Route, counted Classes) *web.Table[*Route] {
	t := &web.Table[*Route]{}
	for _, row := range ExpandRoutes(rows) {
		if row.Body == bodyOfClass {
			row.Body = classBodies[row.Class]
		}
		row.action = row.actionOf(counted)
		t.Add(row.Pattern, row.Methods, row.Allow, &row)
	}
	return t
}

// NotAllowed makes the error of a method that a path does not have; methods are those that it has.
func NotAllowed(methods string) error {
	return dberr.New(dberr.Invalid, "method_not_allowed", "Only "+methods+" allowed")
}

// NotImplemented makes the error of what this server does not have, with the reason why.
func NotImplemented(reason string) error {
	return dberr.New(dberr.NotImplemented, "not_implemented", reason)
}
