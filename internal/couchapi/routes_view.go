package couchapi

// viewRoutes are the views of design documents.
func viewRoutes() []route {
	const allow = "GET,POST,HEAD"
	var rows []route
	for _, at := range []string{"/{db}/_design/{ddoc}", "/{db}/_partition/{partition}/_design/{ddoc}"} {
		rows = append(rows,
			route{methods: "GET,POST", pattern: at + "/_view/{view}", rights: memberOrHead, class: classQuery, run: queryView, allow: allow},
			route{methods: "POST", pattern: at + "/_view/{view}/queries", rights: memberOrHead, class: classQuery, run: viewQueries},
			route{methods: "*", pattern: at + "/_view", rights: memberOrHead, class: classQuery, run: noViewName, allow: allow},
			route{methods: "*", pattern: at + "/_view/{path...}", rights: memberOrHead, class: classQuery, run: noViewName, allow: allow},
			route{methods: "GET", pattern: at + "/_info", rights: member, class: classQuery, run: designInfo},
		)
	}
	return rows
}
