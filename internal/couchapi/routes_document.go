package couchapi

// The methods of documents, local documents and attachments, in CouchDB's
// order; PATCH is ours.
const (
	documentMethods   = "DELETE,GET,HEAD,POST,PUT,COPY,PATCH"
	localMethods      = "DELETE,GET,HEAD,POST,PUT,COPY"
	attachmentMethods = "DELETE,GET,HEAD,PUT"
)

// documentRoutes are documents, attachments, bulk reads and writes, and what
// replicators ask of a target.
func documentRoutes() []route {
	rows := []route{
		{methods: "POST", pattern: "/{db}", at: everyEndpoint, rights: writer, class: classWrite, run: postDocument},
		{methods: "POST", pattern: "/{db}/_bulk_docs", at: everyEndpoint, rights: writer, class: classWrite, run: bulkDocs},
		{methods: "POST", pattern: "/{db}/_bulk_get", at: everyEndpoint, rights: reader, class: classLookup, run: bulkGet},
		{methods: "POST", pattern: "/{db}/_revs_diff", at: everyEndpoint, rights: reader, class: classLookup, run: revsDiff},
		{methods: "POST", pattern: "/{db}/_missing_revs", at: everyEndpoint, rights: reader, class: classLookup, run: missingRevs},
		{methods: "POST", pattern: "/{db}/_purge", rights: adminOnly, class: classWrite, run: purge},
		{methods: "GET", pattern: "/{db}/_purged_infos", rights: member, class: classAdmin, run: purgedInfos, allow: "GET"},
		{methods: "*", pattern: "/{db}/_local", at: everyEndpoint, rights: reader, class: classLookup, run: nameless},
		{methods: "GET", pattern: "/{db}/_local/{id}", at: everyEndpoint, rights: reader, class: classLookup, run: getLocal, allow: localMethods},
		{methods: "PUT", pattern: "/{db}/_local/{id}", at: everyEndpoint, rights: reader, class: classWrite, run: putLocal},
		{methods: "DELETE", pattern: "/{db}/_local/{id}", at: everyEndpoint, rights: reader, class: classWrite, run: deleteLocal},
		{methods: "COPY", pattern: "/{db}/_local/{id}", at: everyEndpoint, rights: reader, class: classWrite, run: copyDocument},
		{methods: "POST", pattern: "/{db}/_local/{id}", at: everyEndpoint, rights: reader, class: classWrite, run: postForm},
		{methods: "*", pattern: "/{db}/_local/{id}/{attachment...}", at: everyEndpoint, rights: reader, class: classLookup, run: noLocalAttachments},
	}
	for _, doc := range []string{"/{db}/{id}", "/{db}/_design/{id}"} {
		rows = append(rows,
			route{methods: "GET", pattern: doc, at: everyEndpoint, rights: reader, class: classLookup, run: getDocument, allow: documentMethods},
			route{methods: "PUT", pattern: doc, at: everyEndpoint, rights: writer, class: classWrite, run: putDocument},
			route{methods: "DELETE", pattern: doc, at: everyEndpoint, rights: writer, class: classWrite, run: deleteDocument},
			route{methods: "COPY", pattern: doc, at: everyEndpoint, rights: reader, class: classWrite, run: copyDocument},
			route{methods: "PATCH", pattern: doc, at: everyEndpoint, rights: writer, class: classWrite, body: queryBody, run: patchDocument},
			route{methods: "POST", pattern: doc, at: everyEndpoint, rights: writer, class: classWrite, run: postForm},
			route{methods: "GET", pattern: doc + "/{attachment...}", at: everyEndpoint, rights: reader, class: classLookup, run: getAttachment, allow: attachmentMethods},
			route{methods: "PUT", pattern: doc + "/{attachment...}", at: everyEndpoint, rights: writer, class: classWrite, run: putAttachment},
			route{methods: "DELETE", pattern: doc + "/{attachment...}", at: everyEndpoint, rights: writer, class: classWrite, run: deleteAttachment},
		)
	}
	return rows
}
