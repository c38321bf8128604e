package lists

import (
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
)

// viewRoutes are the views of design documents.
func viewRoutes() []couchhttp.Route {
	const allow = "GET,POST,HEAD"
	const ddoc = "/{db}/_design/{ddoc}"
	return []couchhttp.Route{
		{Methods: "*", Pattern: "/{db}/_temp_view", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Run: tempView, Class: couchhttp.ClassQuery},
		{Methods: "GET,POST", Pattern: ddoc + "/_view/{view}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassQuery, Reads: true, Run: queryView, Allow: allow},
		{Methods: "POST", Pattern: ddoc + "/_view/{view}/queries", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassQuery, Run: viewQueries},
		{Methods: "*", Pattern: ddoc + "/_view", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassQuery, Run: noViewName, Allow: allow},
		{Methods: "*", Pattern: ddoc + "/_view/{path...}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassQuery, Run: noViewName, Allow: allow},
		{Methods: "GET", Pattern: ddoc + "/_info", At: couchhttp.EveryEndpoint, Rights: couchhttp.Member, Class: couchhttp.ClassQuery, Run: designInfo},
		{Methods: "POST", Pattern: "/{db}/_compact/{ddoc}", Rights: couchhttp.DbAdmin, Run: compactViews, Class: couchhttp.ClassAdmin},
	}
}
