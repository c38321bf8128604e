package lists

import (
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
)

// searchRoutes are the full-text indexes of design documents.
func searchRoutes() []couchhttp.Route {
	const allow = "GET,POST,HEAD"
	const ddoc = "/{db}/_design/{ddoc}"
	return []couchhttp.Route{
		{Methods: "GET,POST", Pattern: ddoc + "/_search/{index}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassQuery, Run: search, Allow: allow},
		{Methods: "GET", Pattern: ddoc + "/_search_info/{index}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Member, Class: couchhttp.ClassQuery, Run: searchInfo},
		{Methods: "GET", Pattern: ddoc + "/_search_disk_size/{index}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Member, Class: couchhttp.ClassQuery, Run: searchDiskSize},
		{Methods: "GET,POST", Pattern: ddoc + "/_nouveau/{index}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassQuery, Run: nouveau, Allow: allow},
		{Methods: "GET", Pattern: ddoc + "/_nouveau_info/{index}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Member, Class: couchhttp.ClassQuery, Run: nouveauInfo},
		{Methods: "POST", Pattern: "/_nouveau_analyze", Rights: couchhttp.AdminOnly, Class: couchhttp.ClassQuery, Body: couchhttp.QueryBody, Run: nouveauAnalyze},
		{Methods: "GET,POST", Pattern: "/_search_analyze", Rights: couchhttp.AdminOnly, Class: couchhttp.ClassQuery, Body: couchhttp.QueryBody, Run: searchAnalyze},
	}
}
