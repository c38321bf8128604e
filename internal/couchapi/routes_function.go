package couchapi

// functionRoutes are the functions of design documents that answer requests.
func functionRoutes() []route {
	var rows []route
	for _, at := range []string{"/{db}/_design/{ddoc}", "/{db}/_partition/{partition}/_design/{ddoc}"} {
		rows = append(rows,
			route{methods: "*", pattern: at + "/_update", rights: member, class: classWrite, run: invalidPath("update_error")},
			route{methods: "*", pattern: at + "/_update/{path...}", rights: member, class: classWrite, run: updateFunction},
			route{methods: "*", pattern: at + "/_show", rights: member, class: classQuery, run: rendered(invalidPath("show_error"))},
			route{methods: "*", pattern: at + "/_show/{path...}", rights: member, class: classQuery, run: rendered(showFunction)},
			route{methods: "GET,POST", pattern: at + "/_list", rights: member, class: classQuery, run: rendered(invalidPath("list_error")), allow: "GET,POST,HEAD"},
			route{methods: "GET,POST", pattern: at + "/_list/{path...}", rights: member, class: classQuery, run: rendered(listFunction), allow: "GET,POST,HEAD"},
			route{methods: "*", pattern: at + "/_rewrite", rights: member, class: classQuery, run: rendered(rewriteRequest)},
			route{methods: "*", pattern: at + "/_rewrite/{path...}", rights: member, class: classQuery, run: rendered(rewriteRequest)},
		)
	}
	return rows
}
