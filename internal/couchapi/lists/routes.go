package lists

import (
	"slices"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
)

// Routes are the rows of the package.
func Routes() []couchhttp.Route {
	return slices.Concat(viewRoutes(), searchRoutes(), geoRoutes(), mangoRoutes(), documentRoutes())
}

// documentRoutes are lists of documents.
func documentRoutes() (rows []couchhttp.Route) {
	for name, kind := range map[string]*ListKind{"_all_docs": AllDocsKind, "_design_docs": designDocsKind, "_local_docs": localDocsKind} {
		rows = append(rows,
			couchhttp.Route{Methods: "GET,POST", Pattern: "/{db}/" + name, At: couchhttp.EveryEndpoint, Rights: couchhttp.MemberOrHead, Class: couchhttp.ClassQuery, Reads: true, Run: listDocs(kind), Allow: "GET,HEAD,POST"},
			couchhttp.Route{Methods: "POST", Pattern: "/{db}/" + name + "/queries", At: couchhttp.EveryEndpoint, Rights: couchhttp.MemberOrHead, Class: couchhttp.ClassQuery, Run: listQueries(kind)},
		)
	}
	return rows
}
