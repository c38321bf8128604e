package couchapi

// functionRoutes are the functions of design documents that answer requests.
func functionRoutes() []route {
	const ddoc = "/{db}/_design/{ddoc}"
	return []route{
		{methods: "*", pattern: ddoc + "/_update", at: everyEndpoint, rights: writer, class: classWrite, run: invalidPath("update_error")},
		{methods: "*", pattern: ddoc + "/_update/{path...}", at: everyEndpoint, rights: writer, class: classWrite, run: updateFunction},
		{methods: "*", pattern: ddoc + "/_show", at: everyEndpoint, rights: reader, class: classQuery, run: rendered(invalidPath("show_error"))},
		{methods: "*", pattern: ddoc + "/_show/{path...}", at: everyEndpoint, rights: reader, class: classQuery, run: rendered(showFunction)},
		{methods: "GET,POST,OPTIONS", pattern: ddoc + "/_list", at: everyEndpoint, rights: reader, class: classQuery, run: rendered(invalidPath("list_error")), allow: "GET,POST,HEAD"},
		{methods: "GET,POST,OPTIONS", pattern: ddoc + "/_list/{path...}", at: everyEndpoint, rights: reader, class: classQuery, run: rendered(listFunction), allow: "GET,POST,HEAD"},
		{methods: "*", pattern: ddoc + "/_rewrite", at: everyEndpoint, rights: reader, class: classQuery, run: rendered(rewriteRequest)},
		{methods: "*", pattern: ddoc + "/_rewrite/{path...}", at: everyEndpoint, rights: reader, class: classQuery, run: rendered(rewriteRequest)},
	}
}
