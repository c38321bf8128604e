package couchapi

import (
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// endpoint is a way to the documents of a database, or a set of such ways. Below
// the endpoint of a partition lies what a client takes for a database: the same rows
// of the route table serve it. A row is declared once, with the endpoints at which
// it is served.
type endpoint uint8

const (
	atDatabase  endpoint = 1 << iota // all of a database
	atPartition                      // one partition
	atTenant                         // one partition, as its tenant sees it

	inside        = atPartition | atTenant // the endpoints of a partition
	everyEndpoint = atDatabase | inside
	// withPrefixes are the endpoints at which ids are the stored ones.
	withPrefixes = atDatabase | atPartition
)

// endpointRoot is the root of an endpoint's paths: what stands for {db} in the patterns.
type endpointRoot struct {
	at   endpoint
	root string
}

// endpointRoots are those of all endpoints.
func endpointRoots() []endpointRoot {
	return []endpointRoot{{atDatabase, "/{db}"}, {atPartition, "/{db}/_partition/{partition}"}, {atTenant, "/{db}/_owner/{partition}"}}
}

// expandRoutes returns each row of the table as often as there are endpoints for it, with
// the pattern that it has there.
func expandRoutes(table []route) []route {
	var rows []route
	for _, row := range table {
		below, of := strings.CutPrefix(row.pattern, "/{db}")
		if !of {
			rows = append(rows, row)
			continue
		}
		at := row.at
		if at == 0 {
			at = atDatabase
		}
		for _, e := range endpointRoots() {
			if at&e.at != 0 {
				row.at, row.pattern = e.at, e.root+below
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// endpointNames are the segments behind a database's name that lead to its endpoints.
func endpointNames() []string { return []string{"_partition", "_owner"} }

// expandEndpoint takes apart a first segment that names an endpoint with its slashes
// escaped: so clients ask that take "db/_partition/p" for a database's name.
func expandEndpoint(p *web.Path) {
	if len(p.Parts()) == 0 || !strings.Contains(p.Parts()[0], "/") {
		return
	}
	db, rest, found := p.Parts()[0], "", ""
	for _, name := range endpointNames() {
		if before, after, ok := strings.Cut(db+"/", "/"+name+"/"); ok {
			db, rest, found = before, strings.TrimSuffix(after, "/"), name
		}
	}
	switch {
	case found == "":
	case rest == "":
		p.Expand(db, found)
	default:
		p.Expand(db, found, rest)
	}
}

// below is how many segments of the path lead to the endpoint.
func (r *request) below() int {
	if r.inPartition() {
		return 3
	}
	return 1
}

// appendPlace appends the escaped path of the request's endpoint and of what lies
// below it.
func (r *request) appendPlace(dst []byte, parts ...string) []byte {
	for _, p := range r.Path.Parts()[:r.below()] {
		dst = web.AppendQuotedPath(append(dst, '/'), p)
	}
	for _, p := range parts {
		dst = web.AppendQuotedPath(append(dst, '/'), p)
	}
	return dst
}

// place returns the absolute address of what lies below the request's endpoint.
func (r *request) place(parts ...string) string {
	return string(r.appendPlace(append(make([]byte, 0, 96), r.Host()...), parts...))
}

// endpointExists answers PUT of a partition: it needs no making.
func endpointExists(*request) error {
	return dberr.New(dberr.Exists, "file_exists", "The database could not be created, the file already exists.")
}

// tenantSecurity answers GET of _security to a tenant. Who may come in at this endpoint
// is the database's to say, and names others; clients of a database of their own
// expect an object.
func tenantSecurity(r *request) error { return r.json(http.StatusOK, []byte("{}")) }

// newID returns an id for a document that came without one.
func newID(s store.Scope, uuid string) string {
	if p := s.Partition(); p != "" {
		return string(p) + ":" + uuid
	}
	return uuid
}
