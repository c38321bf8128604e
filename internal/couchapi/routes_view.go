package couchapi

// viewRoutes are the views of design documents.
func viewRoutes() []route {
	const allow = "GET,POST,HEAD"
	const ddoc = "/{db}/_design/{ddoc}"
	return []route{
		{methods: "*", pattern: "/{db}/_temp_view", at: everyEndpoint, rights: reader, run: tempView, class: classQuery},
		{methods: "GET,POST", pattern: ddoc + "/_view/{view}", at: everyEndpoint, rights: reader, class: classQuery, run: queryView, allow: allow},
		{methods: "POST", pattern: ddoc + "/_view/{view}/queries", at: everyEndpoint, rights: reader, class: classQuery, run: viewQueries},
		{methods: "*", pattern: ddoc + "/_view", at: everyEndpoint, rights: reader, class: classQuery, run: noViewName, allow: allow},
		{methods: "*", pattern: ddoc + "/_view/{path...}", at: everyEndpoint, rights: reader, class: classQuery, run: noViewName, allow: allow},
		{methods: "GET", pattern: ddoc + "/_info", at: everyEndpoint, rights: member, class: classQuery, run: designInfo},
	}
}
