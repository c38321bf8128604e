package pebblekv

import "github.com/cockroachdb/pebble/v2"

// cleaner removes files that are not needed any more, logs among them. Pebble by
// itself keeps as many logs for use again as there may be memtables, each as large
// as one, which is more than a small database takes. It does not where a cleaner
// wants to see what is in a log, as the archiving one does, whose mark this one
// has; the methods are those of the deleting one, since they lie less deep.
type cleaner struct {
	pebble.DeleteCleaner
	readsLogs
}

type readsLogs struct{ pebble.ArchiveCleaner }
