package couchapi

import (
	"strings"

	"github.com/sectional/sectional/internal/dberr"
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

// String names the class in the metrics.
func (c class) String() string {
	return [classCount]string{"server", "lookup", "write", "query", "feed", "admin"}[c]
}

// handler answers one request. It writes an answer by r's methods or returns
// an error, which the frame renders.
type handler func(r *request) error

// route is one row of the surface.
//
// A pattern is made of segments: a literal, {name} for any one segment, or at
// the end {name...} for one or more. Literals go before {name} and {name...}, segment
// by segment. {db} opens that database, unless the row is bare. It stands for the
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
}

// node is a step of the route trie.
type node struct {
	literals map[string]*node
	wild     *node
	rest     *node
	rows     []*route
	allow    string
	names    []string // of the {…} on the way, for the rows of this node
	at       endpoint // the endpoint of its rows, zero for pages of the server
}

// buildRoutes makes the trie. It panics on a table that contradicts itself.
func buildRoutes(table []route) *node {
	root := &node{}
	for _, row := range expandRoutes(table) {
		root.add(&row)
	}
	return root
}

func (n *node) add(row *route) {
	var names []string
	for seg := range strings.SplitSeq(strings.Trim(row.pattern, "/"), "/") {
		switch name, isName := strings.CutPrefix(seg, "{"); {
		case seg == "":
		case isName && strings.HasSuffix(seg, "...}"):
			n.rest = orNew(n.rest)
			n, names = n.rest, append(names, strings.TrimSuffix(name, "...}"))
		case isName:
			n.wild = orNew(n.wild)
			n, names = n.wild, append(names, strings.TrimSuffix(name, "}"))
		default:
			if n.literals == nil {
				n.literals = map[string]*node{}
			}
			n.literals[seg] = orNew(n.literals[seg])
			n = n.literals[seg]
		}
	}
	if n.rows == nil {
		n.names, n.allow, n.at = names, row.allow, row.at
	}
	if strings.Join(n.names, " ") != strings.Join(names, " ") || len(names) > maxArgs {
		panic("couchapi: route " + row.pattern + " names its segments otherwise than a row before it, or too many")
	}
	n.rows = append(n.rows, row)
}

func orNew(n *node) *node {
	if n == nil {
		return &node{}
	}
	return n
}

// find returns the node for segments i and on of p, nil if there is none.
// Arguments are stored in args on the way out.
func (n *node) find(p *path, i int, args *[maxArgs]string, depth int) *node {
	if i == p.n {
		if n.rows == nil {
			return nil
		}
		return n
	}
	if next := n.literals[p.parts[i]]; next != nil {
		if found := next.find(p, i+1, args, depth); found != nil {
			return found
		}
	}
	if n.wild != nil {
		if found := n.wild.find(p, i+1, args, depth+1); found != nil {
			args[depth] = p.parts[i]
			return found
		}
	}
	if n.rest != nil {
		args[depth] = p.rest(i)
		return n.rest
	}
	return nil
}

// row returns the row of the node for a method.
func (n *node) row(method string) *route {
	if method == "HEAD" {
		method = "GET"
	}
	for _, row := range n.rows {
		if row.methods == "*" || hasMethod(row.methods, method) {
			return row
		}
	}
	return nil
}

func hasMethod(list, method string) bool {
	for list != "" {
		var m string
		m, list, _ = strings.Cut(list, ",")
		if m == method {
			return true
		}
	}
	return false
}

// allowed returns the methods of the node as the Allow header has them.
func (n *node) allowed() string {
	if n.allow != "" {
		return n.allow
	}
	var ms []string
	for _, row := range n.rows {
		ms = append(ms, row.methods)
	}
	return strings.Join(ms, ",")
}

func notAllowed(methods string) error {
	return dberr.New(dberr.Method, "method_not_allowed", "Only "+methods+" allowed")
}

func notImplemented(reason string) error {
	return dberr.New(dberr.NotImplemented, "not_implemented", reason)
}
