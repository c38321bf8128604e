package lists

import (
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
)

// mangoRoutes are Mango queries and their indexes. Indexes belong to the
// database, also where a path names a partition. Who may change them is who may
// change design documents, which admission sees to: asking for an index that is
// there needs no more than reading.
func mangoRoutes() []couchhttp.Route {
	return []couchhttp.Route{
		{Methods: "POST", Pattern: "/{db}/_find", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassQuery, Reads: true, Run: find},
		{Methods: "POST", Pattern: "/{db}/_explain", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassQuery, Run: explain},
		{Methods: "GET", Pattern: "/{db}/_index", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassQuery, Run: listIndexes, Allow: "GET,POST"},
		{Methods: "POST", Pattern: "/{db}/_index", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassAdmin, Run: createIndex},
		{Methods: "POST", Pattern: "/{db}/_index/_bulk_delete", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassAdmin, Run: bulkDeleteIndexes},
		{Methods: "DELETE", Pattern: "/{db}/_index/{ddoc}/{type}/{name}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassAdmin, Run: deleteIndex},
		{Methods: "DELETE", Pattern: "/{db}/_index/_design/{ddoc}/{type}/{name}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassAdmin, Run: deleteIndex},
		{Methods: "DELETE", Pattern: "/{db}/_index/{path...}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassAdmin, Run: noIndexPage},
	}
}
