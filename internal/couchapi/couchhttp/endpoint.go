package couchhttp

import (
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// Endpoint is a way to the documents of a database, or a set of such ways. Below
// the endpoint of a partition lies what a client takes for a database: the same rows
// of the route table serve it. A row is declared once, with the endpoints at which
// it is served.
type Endpoint uint8

const (
	AtDatabase  Endpoint = 1 << iota // all of a database
	AtPartition                      // one partition
	AtTenant                         // one partition, as its tenant sees it

	Inside        = AtPartition | AtTenant // the endpoints of a partition
	EveryEndpoint = AtDatabase | Inside
	// WithPrefixes are the endpoints at which ids are the stored ones.
	WithPrefixes = AtDatabase | AtPartition
)

// endpointRoot is the root of an endpoint's paths: what stands for {db} in the patterns.
type endpointRoot struct {
	At   Endpoint
	Root string
}

// EndpointRoots are those of all endpoints.
func EndpointRoots() []endpointRoot {
	return []endpointRoot{{AtDatabase, "/{db}"}, {AtPartition, "/{db}/_partition/{partition}"}, {AtTenant, "/{db}/_owner/{partition}"}}
}

// ExpandRoutes returns each row of the table as often as there are endpoints for it, with
// the pattern that it has there.
func ExpandRoutes(table []Route) []Route {
	var rows []Route
	for _, row := range table {
		below, of := strings.CutPrefix(row.Pattern, "/{db}")
		if !of {
			rows = append(rows, row)
			continue
		}
		at := row.At
		if at == 0 {
			at = AtDatabase
		}
		for _, e := range EndpointRoots() {
			if at&e.At != 0 {
				row.At, row.Pattern = e.At, e.Root+below
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// EndpointNames are the segments after a database's name that lead to its endpoints.
func EndpointNames() []string { return []string{"_partition", "_owner"} }

// ExpandEndpoint takes apart a first segment that names an endpoint with its slashes
// escaped: so clients ask that take "db/_partition/p" for a database's name.
func ExpandEndpoint(p *web.Path) {
	if len(p.Parts()) == 0 || !strings.Contains(p.Parts()[0], "/") {
		return
	}
	db, rest, found := p.Parts()[0], "", ""
	for _, name := range EndpointNames() {
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

// Below is how many segments of the path lead to the endpoint.
func (r *Request) Below() int {
	if r.inPartition() {
		return 3
	}
	return 1
}

// AppendAddress appends the escaped path of the request's endpoint and of what lies
// below it.
func (r *Request) AppendAddress(dst []byte, parts ...string) []byte {
	for _, p := range r.Path.Parts()[:r.Below()] {
		dst = web.AppendQuotedPath(append(dst, '/'), p)
	}
	for _, p := range parts {
		dst = web.AppendQuotedPath(append(dst, '/'), p)
	}
	return dst
}

// Address returns the absolute address of what lies below the request's endpoint.
func (r *Request) Address(parts ...string) string {
	return string(r.AppendAddress(append(make([]byte, 0, 96), r.Host()...), parts...))
}

// EndpointExists answers PUT of a partition: it needs no making.
func EndpointExists(*Request) error {
	return dberr.New(dberr.Exists, "file_exists", "The database could not be created, the file already exists.")
}

// TenantSecurity answers GET of _security to a tenant. Who may come in at this endpoint
// is the database's to say, and names others; clients of a database of their own
// expect an object.
func TenantSecurity(r *Request) error { return r.JSON(http.StatusOK, []byte("{}")) }

// NewID returns an id for a document that came without one.
func NewID(s store.Scope, uuid string) string {
	if p := s.Partition(); p != "" {
		return string(p) + ":" + uuid
	}
	return uuid
}
