// Package transfer owns bringing one database to another from the outside, as
// `sectional sync` does: by a snapshot first, where both servers are Sectionals
// that have not met yet, and by the protocol of replication from there, or from
// the beginning with anybody else.
//
// It promises that what was carried over once is not carried again when it is
// ended and started anew: the mark of the snapshot lies in a local document of
// the target, and at its end becomes a checkpoint like that of any replication.
// It does not look into the stream, which goes from one server to the other as
// it comes.
//
// Begin reading at Sync.Run.
package transfer
