// Package transfer owns what brings documents to a database from the outside, and away from it. `sectional sync` is a
// replication (package replicate) that takes a snapshot however little there is; it names the task by the two addresses,
// so that a run goes on where the one before came to, and tells people what happens. `sectional import` stores the
// documents of files (package docfile) in batches, several at once, and says of each that was not stored why; it may be
// run again. `sectional export` writes documents page by page, and asks for the rest of a page that breaks off.
//
// Begin reading at Sync.Run, Import.Run and Export.Run.
package transfer
