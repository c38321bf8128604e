// Package snapshot owns the stream by which one Sectional gives another all
// documents of a database or partition at once: its bytes
// (docs/formats/snapshot.md), how it is made of a scope, and how it is loaded
// into one.
//
// It promises that the stream has every document as it was at the sequence in
// its header or later, so that the changes since then make a replica complete;
// that no snapshot of the store stays open while a client reads; that what is
// loaded goes through the store's one entry point and may be loaded again; that a byte
// that was changed, lost or repeated on the way is found before the document
// that it belongs to is stored; and that memory is bounded by a page and the
// largest document, never by an attachment. It knows nothing of HTTP.
//
// Begin reading at Source.Send and Load; the frames are in frame.go and form.go.
package snapshot
