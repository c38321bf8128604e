// Package migrate owns `sectional migrate`: bringing a database, of whatever server that speaks CouchDB's API, into a
// partitioned one, whose ids begin with partitions. It is a replication (package replicate) whose source is a view of
// the real one (source.go): each document appears there under the id that it is to have, so that revisions, conflicts,
// attachments, deletions, checkpoints and repetitions are the replication's.
//
// It promises that a document lies in the partition that its winning revision has by the template, with all its leaves,
// and in no other that this migration put it into; that what can't be brought over is told by its id; and that a run
// that was interrupted leaves what the next one goes on from. Which partition a document is in is read from the target:
// nothing is kept on the machine that runs it.
//
// Begin reading at Migration.Run.
package migrate
