package couchapi

// mangoRoutes are Mango queries and their indexes. Indexes belong to the
// database, also where a path names a partition. Who may change them is who may
// change design documents, which admission sees to: asking for an index that is
// there needs no more than reading.
func mangoRoutes() []route {
	return []route{
		{methods: "POST", pattern: "/{db}/_find", at: everyEndpoint, rights: reader, class: classQuery, run: find},
		{methods: "POST", pattern: "/{db}/_explain", at: everyEndpoint, rights: reader, class: classQuery, run: explain},
		{methods: "GET", pattern: "/{db}/_index", at: everyEndpoint, rights: reader, class: classQuery, run: listIndexes, allow: "GET,POST"},
		{methods: "POST", pattern: "/{db}/_index", at: everyEndpoint, rights: reader, class: classAdmin, run: createIndex},
		{methods: "POST", pattern: "/{db}/_index/_bulk_delete", at: everyEndpoint, rights: reader, class: classAdmin, run: bulkDeleteIndexes},
		{methods: "DELETE", pattern: "/{db}/_index/{ddoc}/{type}/{name}", at: everyEndpoint, rights: reader, class: classAdmin, run: deleteIndex},
		{methods: "DELETE", pattern: "/{db}/_index/_design/{ddoc}/{type}/{name}", at: everyEndpoint, rights: reader, class: classAdmin, run: deleteIndex},
		{methods: "DELETE", pattern: "/{db}/_index/{path...}", at: everyEndpoint, rights: reader, class: classAdmin, run: noIndexPage},
	}
}
