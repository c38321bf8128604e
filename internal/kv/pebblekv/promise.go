package pebblekv

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
)

// A promise says how much of which log was on disk when a record was written. It is the first entry of the record's
// batch, of the kind that Pebble keeps in logs alone. A log whose records can't be read up to a promise in a later one
// has lost what was acknowledged. Pebble's own promise, in the headers of chunks, leaves out the blocks that a record
// fills whole (record.LogWriter, version 2.1.7), so that it falls behind.
const (
	promiseLength = 16
	promiseAt     = batchrepr.HeaderLen + 2 // after the entry's kind and length, a byte each
)

var emptyPromise [promiseLength]byte

// syncedLog is what is on disk of a log.
type syncedLog struct {
	number uint64
	bytes  int64
}

// promiseIn puts a promise into an empty batch.
func promiseIn(b *pebble.Batch) error { return b.LogData(emptyPromise[:], nil) }

// keep sets the promise of a batch that promiseIn began.
func (s *syncedLog) keep(b *pebble.Batch) {
	if s == nil {
		return
	}
	p := b.Repr()[promiseAt:][:promiseLength]
	binary.LittleEndian.PutUint64(p, s.number)
	binary.LittleEndian.PutUint64(p[8:], uint64(s.bytes))
}

// promiseOf reads the promise at the beginning of a batch, which may be cut; ok is false if there is none.
func promiseOf(batch []byte) (s syncedLog, ok bool) {
	if batchrepr.IsEmpty(batch) {
		return syncedLog{}, false
	}
	r := batchrepr.Read(batch)
	kind, p, _, ok, err := r.Next()
	if !ok || err != nil || kind != pebble.InternalKeyKindLogData || len(p) != promiseLength {
		return syncedLog{}, false
	}
	return syncedLog{binary.LittleEndian.Uint64(p), int64(binary.LittleEndian.Uint64(p[8:]))}, true
}
