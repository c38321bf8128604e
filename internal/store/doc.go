// Package store owns databases, documents, revisions, partitions and
// attachments, and how they lie in an engine's keys.
//
// Documents are written by Scope.Write, or together in several scopes by
// Store.Transact, and read by Scope.View: a Scope is a database or one partition of it. A write goes
// through four stations: checks and admission (write.go), what can be prepared
// without others waiting (prepare.go), a plan that says which rows change
// (plan.go), and the commit that many writers share (queue.go, group.go,
// put.go). Begin reading at write.go; the rows are declared in package keyspace
// and their values in rows.go and body.go.
//
// It promises: what was acknowledged is on disk; sequences are given in commit
// order, so a reader of a feed never sees a gap that it has passed fill up; counters,
// feeds and documents change in one transaction and always agree (Check); and a
// document of a partition that is being dropped is seen at no endpoint. It
// knows nothing of HTTP, users or design documents: Admission brings those in.
package store
