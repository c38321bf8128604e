// Package changes owns the feed of a database or partition as a process in
// time: where a reader goes on from, which rows it sees, when it waits, when it
// is told that the connection lives, and when it ends.
//
// It promises that no snapshot is open while a sink sends or a feed waits,
// that every change after the start is shown at least once (a document that
// changes while a feed is read may be shown twice), and that the place a feed
// ends at is one to go on from. It knows nothing of HTTP, JSON, selectors or
// scripts: rows go to a Sink, and a Filter is a function.
//
// Begin reading at Feed.Run; page.go reads the feed, lookup.go documents by id,
// judge.go asks a filter about a page at a time, wait.go waits.
package changes
