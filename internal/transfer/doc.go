// Package transfer owns `sectional sync`: bringing one database to another from
// the outside by a replication (package replicate) that takes a snapshot however
// little there is. It names the task by the two addresses, so that a run goes on
// where the one before came to, and tells people what happens.
//
// Begin reading at Sync.Run.
package transfer
