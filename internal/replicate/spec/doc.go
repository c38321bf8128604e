// Package spec owns what a replication is asked to do: the body of a request to
// _replicate or a document of a _replicator database, read into a Replication,
// the id that follows from it, and what of such a text may be shown to whom.
//
// It promises that whatever it gives to be shown (Endpoint.Shown, Strip) holds no
// password, token or header, and that the id of a replication is the same after a
// restart and with another password. It must not know how replications run,
// where they are kept, or who asks.
//
// Begin reading at Parse; members.go is the table of what a text may hold.
package spec
