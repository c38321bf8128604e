package legacy

import (
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
)

// Routes are the functions of design documents that answer requests.
func Routes() []couchhttp.Route {
	const ddoc = "/{db}/_design/{ddoc}"
	return []couchhttp.Route{
		{Methods: "*", Pattern: ddoc + "/_update", At: couchhttp.EveryEndpoint, Rights: couchhttp.Writer, Class: couchhttp.ClassWrite, Run: invalidPath("update_error")},
		{Methods: "*", Pattern: ddoc + "/_update/{path...}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Writer, Class: couchhttp.ClassWrite, Run: updateFunction},
		{Methods: "*", Pattern: ddoc + "/_show", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassQuery, Run: rendered(invalidPath("show_error"))},
		{Methods: "*", Pattern: ddoc + "/_show/{path...}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassQuery, Run: rendered(showFunction)},
		{Methods: "GET,POST,OPTIONS", Pattern: ddoc + "/_list", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassQuery, Run: rendered(invalidPath("list_error")), Allow: "GET,POST,HEAD"},
		{Methods: "GET,POST,OPTIONS", Pattern: ddoc + "/_list/{path...}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassQuery, Run: rendered(listFunction), Allow: "GET,POST,HEAD"},
		{Methods: "*", Pattern: ddoc + "/_rewrite", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassQuery, Run: rendered(rewriteRequest)},
		{Methods: "*", Pattern: ddoc + "/_rewrite/{path...}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassQuery, Run: rendered(rewriteRequest)},
	}
}
