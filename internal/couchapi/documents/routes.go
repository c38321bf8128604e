package documents

import (
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
)

// The methods of documents, local documents and attachments, in CouchDB's
// order; PATCH is ours.
const (
	documentMethods   = "DELETE,GET,HEAD,POST,PUT,COPY,PATCH"
	localMethods      = "DELETE,GET,HEAD,POST,PUT,COPY"
	attachmentMethods = "DELETE,GET,HEAD,PUT"
)

// Routes are documents, attachments, bulk reads and writes, and what
// replicators ask of a target.
func Routes() []couchhttp.Route {
	rows := []couchhttp.Route{
		{Methods: "POST", Pattern: "/{db}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Writer, Class: couchhttp.ClassWrite, Reads: true, Run: postDocument},
		{Methods: "POST", Pattern: "/{db}/_bulk_docs", At: couchhttp.EveryEndpoint, Rights: couchhttp.Writer, Class: couchhttp.ClassWrite, Reads: true, Run: bulkDocs},
		{Methods: "POST", Pattern: "/{db}/_bulk_get", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassLookup, Reads: true, Run: bulkGet},
		{Methods: "POST", Pattern: "/{db}/_revs_diff", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassLookup, Reads: true, Run: revsDiff},
		{Methods: "POST", Pattern: "/{db}/_missing_revs", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassLookup, Reads: true, Run: missingRevs},
		{Methods: "POST", Pattern: "/{db}/_purge", Rights: couchhttp.AdminOnly, Class: couchhttp.ClassWrite, Run: purge},
		{Methods: "GET", Pattern: "/{db}/_purged_infos", Rights: couchhttp.Member, Class: couchhttp.ClassAdmin, Run: purgedInfos, Allow: "GET"},
		{Methods: "*", Pattern: "/{db}/_local", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassLookup, Run: couchhttp.Nameless},
		{Methods: "GET", Pattern: "/{db}/_local/{id}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassLookup, Reads: true, Run: getLocal, Allow: localMethods},
		{Methods: "PUT", Pattern: "/{db}/_local/{id}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassWrite, Run: putLocal},
		{Methods: "DELETE", Pattern: "/{db}/_local/{id}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassWrite, Run: deleteLocal},
		{Methods: "COPY", Pattern: "/{db}/_local/{id}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassWrite, Run: copyDocument},
		{Methods: "POST", Pattern: "/{db}/_local/{id}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassWrite, Run: postForm},
		{Methods: "*", Pattern: "/{db}/_local/{id}/{attachment...}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassLookup, Run: couchhttp.NoLocalAttachments},
	}
	for _, doc := range []string{"/{db}/{id}", "/{db}/_design/{id}"} {
		rows = append(rows,
			couchhttp.Route{Methods: "GET", Pattern: doc, At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassLookup, Reads: true, Run: getDocument, Allow: documentMethods},
			couchhttp.Route{Methods: "PUT", Pattern: doc, At: couchhttp.EveryEndpoint, Rights: couchhttp.Writer, Class: couchhttp.ClassWrite, Reads: true, Run: putDocument},
			couchhttp.Route{Methods: "DELETE", Pattern: doc, At: couchhttp.EveryEndpoint, Rights: couchhttp.Writer, Class: couchhttp.ClassWrite, Reads: true, Run: deleteDocument},
			couchhttp.Route{Methods: "COPY", Pattern: doc, At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassWrite, Run: copyDocument},
			couchhttp.Route{Methods: "PATCH", Pattern: doc, At: couchhttp.EveryEndpoint, Rights: couchhttp.Writer, Class: couchhttp.ClassWrite, Body: couchhttp.QueryBody, Run: patchDocument},
			couchhttp.Route{Methods: "POST", Pattern: doc, At: couchhttp.EveryEndpoint, Rights: couchhttp.Writer, Class: couchhttp.ClassWrite, Run: postForm},
			couchhttp.Route{Methods: "GET", Pattern: doc + "/{attachment...}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassLookup, Reads: true, Run: getAttachment, Allow: attachmentMethods},
			couchhttp.Route{Methods: "PUT", Pattern: doc + "/{attachment...}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Writer, Class: couchhttp.ClassWrite, Run: putAttachment},
			couchhttp.Route{Methods: "DELETE", Pattern: doc + "/{attachment...}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Writer, Class: couchhttp.ClassWrite, Run: deleteAttachment},
		)
	}
	return rows
}
