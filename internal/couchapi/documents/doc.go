// Package documents owns the endpoints of documents: read, written, patched, copied and purged one by one and in bulk, with
// their attachments, and those that are local to a server. It parses all of a request into a document.Edit, which goes
// through the store's one entry point for writes, and writes revisions as CouchDB's JSON and multipart forms (couchwire).
//
// It must not know how a revision tree grows or what may be written: that is document's and admission's. Begin reading
// at Routes.
package documents
