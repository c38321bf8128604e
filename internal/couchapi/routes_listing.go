package couchapi

// listingRoutes are lists of documents, feeds and partitions.
func listingRoutes() []route {
	const listAllow = "GET,HEAD,POST"
	rows := []route{
		{methods: "GET,POST", pattern: "/{db}/_changes", rights: memberOrHead, class: classFeed, run: databaseChanges, allow: "GET,POST,HEAD"},
		{methods: "*", pattern: "/{db}/_partition", rights: member, class: classQuery, run: partitionForgotten},
		{methods: "GET", pattern: "/{db}/_partitions", rights: dbAdmin, class: classQuery, run: listPartitions},
		{methods: "GET", pattern: "/{db}/_partition/{partition}", rights: member, class: classQuery, run: partitionInfo},
		{methods: "DELETE", pattern: "/{db}/_partition/{partition}", rights: dbAdmin, class: classAdmin, run: dropPartition},
		{methods: "GET,POST", pattern: "/{db}/_partition/{partition}/_changes", rights: member, class: classFeed, run: databaseChanges, allow: "GET,POST,HEAD"},
		{methods: "GET,POST", pattern: "/{db}/_partition/{partition}/_all_docs", rights: member, class: classQuery, run: listDocs(allDocsKind), allow: listAllow},
		{methods: "POST", pattern: "/{db}/_partition/{partition}/_all_docs/queries", rights: member, class: classQuery, run: listQueries(allDocsKind)},
		{methods: "*", pattern: "/{db}/_partition/{partition}/{path...}", rights: member, class: classQuery, run: noPartitionPage},
	}
	for name, kind := range map[string]*listKind{"_all_docs": allDocsKind, "_design_docs": designDocsKind, "_local_docs": localDocsKind} {
		rows = append(rows,
			route{methods: "GET,POST", pattern: "/{db}/" + name, rights: memberOrHead, class: classQuery, run: listDocs(kind), allow: listAllow},
			route{methods: "POST", pattern: "/{db}/" + name + "/queries", rights: memberOrHead, class: classQuery, run: listQueries(kind)},
		)
	}
	return rows
}
