package couchapi

// listingRoutes are lists of documents and feeds.
func listingRoutes() []route {
	rows := []route{
		{methods: "GET,POST", pattern: "/{db}/_changes", at: everyEndpoint, rights: memberOrHead, class: classFeed, run: databaseChanges, allow: "GET,POST,HEAD"},
		{methods: "GET", pattern: "/{db}/_snapshot", at: withPrefixes, rights: memberOrHead, class: classFeed, run: getSnapshot, allow: "GET,HEAD,POST"},
		{methods: "POST", pattern: "/{db}/_snapshot", at: withPrefixes, rights: writer, class: classWrite, run: postSnapshot},
	}
	for name, kind := range map[string]*listKind{"_all_docs": allDocsKind, "_design_docs": designDocsKind, "_local_docs": localDocsKind} {
		rows = append(rows,
			route{methods: "GET,POST", pattern: "/{db}/" + name, at: everyEndpoint, rights: memberOrHead, class: classQuery, run: listDocs(kind), allow: "GET,HEAD,POST"},
			route{methods: "POST", pattern: "/{db}/" + name + "/queries", at: everyEndpoint, rights: memberOrHead, class: classQuery, run: listQueries(kind)},
		)
	}
	return rows
}
