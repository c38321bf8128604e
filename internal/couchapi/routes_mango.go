package couchapi

// mangoRoutes are Mango queries and their indexes. Indexes belong to the
// database, also where a path names a partition. Who may change them is who may
// change design documents.
func mangoRoutes() []route {
	var rows []route
	for _, at := range []string{"/{db}", "/{db}/_partition/{partition}"} {
		rows = append(rows,
			route{methods: "POST", pattern: at + "/_find", rights: memberOrHead, class: classQuery, run: find},
			route{methods: "POST", pattern: at + "/_explain", rights: member, class: classQuery, run: explain},
			route{methods: "GET", pattern: at + "/_index", rights: member, class: classQuery, run: listIndexes, allow: "GET,POST"},
			route{methods: "POST", pattern: at + "/_index", rights: member, class: classAdmin, run: createIndex},
			route{methods: "POST", pattern: at + "/_index/_bulk_delete", rights: member, class: classAdmin, run: bulkDeleteIndexes},
			route{methods: "DELETE", pattern: at + "/_index/{ddoc}/{type}/{name}", rights: member, class: classAdmin, run: deleteIndex},
			route{methods: "DELETE", pattern: at + "/_index/_design/{ddoc}/{type}/{name}", rights: member, class: classAdmin, run: deleteIndex},
			route{methods: "*", pattern: at + "/_index/{path...}", rights: member, class: classAdmin, run: noIndexPage},
		)
	}
	return rows
}
