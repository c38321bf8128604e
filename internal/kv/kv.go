// Package kv owns the contract between the store and a storage engine: an
// ordered map of byte strings with snapshots and transactions, and its limits.
//
// Engines live in kv/pebblekv and beside it; testkit/kvtest holds the suite
// that each of them passes, a model engine in memory that enforces the
// smallest limits, and a wrapper that injects faults. The comments here are the
// specification, and kvtest checks them. Nothing here knows what a document is.
//
// Isolation. A transaction reads from the snapshot it began with, overlaid with
// its own writes: snapshot isolation. A transaction that commits after another one did,
// from a snapshot without that one's writes, is run again if the other wrote a key that
// it writes or has read for update. The order of the two matters: who read a key for
// update and commits first comes before who writes it, as it has seen, and that one
// commits too. Transactions are therefore as if one followed another in the order of
// their commits, as far as all that they rely on is read for update. Write
// skew over plainly read keys DOES commit, and so do phantoms in ranges;
// whatever a write relies on is therefore read by GetForUpdate, and no write
// decision rests on a range. A key that is absent from the snapshot and again
// when the transaction commits need not make a conflict, whatever came between; nor
// need one that is absent from the snapshot and deleted without having been read for
// update: such a deletion does nothing.
//
// A snapshot is taken when its closure reads first, or at any moment between that and
// the call of View or Update: it holds what was durable when that was called, and
// perhaps more. An engine across a network takes it with the first read, which then
// costs no round trip of its own.
//
// Locks. With several writers, optimism alone wastes what they wait for: a transaction
// that loses is run again from its first read. So Update may name keys that are locked
// before its snapshot. Transactions that name a key in common run one after the other,
// each from before its snapshot until its writes are what new transactions read, so
// that none of them makes another run again. A lock keeps out nobody else: whoever
// does not name the key reads and writes it as ever, and conflicts are found as ever.
// Engines order the keys, so that nobody waits in a circle; they may take different
// keys for one.
//
// Durability. When Update returns nil the writes are on disk, and only then can
// any View see them: a snapshot never holds a write that a crash could take
// back. A reader that begins after an Update returned sees its writes.
//
// Errors are of the kinds named at each method; besides, a cancelled context
// returns its own error as it is, a closed or stopped engine Unavailable with
// ErrStopped as a cause, one that is away and may come back Unavailable without it, with ErrAway
// where it knows that, and a disk that can't be read Internal.
package kv

import (
	"bytes"
	"context"
	"time"
)

// Engine is an ordered, transactional key-value store. All methods may be
// called from many goroutines.
type Engine interface {
	// View runs fn over a snapshot of all durable writes. The snapshot and
	// its iterators must not be used after fn returns. fn runs once and its
	// error is returned as it is. Errors: SnapshotTooOld when the closure outlives
	// Limits.Age (returned by the reads within it).
	View(ctx context.Context, fn func(Snapshot) error) error

	// Update runs fn and commits its writes atomically. fn may run several
	// times, each time over a fresh snapshot and with no trace of the runs
	// before, so it has no outside effect. If fn returns an error nothing
	// is written and that error is returned as it is; even then Update
	// returns only when everything fn read is durable, so that a refusal
	// never reports a write that a crash could take back.
	// fn itself begins no Update. Errors: TooLarge for keys, values or
	// transactions over the limits (from Put and Delete already);
	// SnapshotTooOld when fn outlives Limits.Age;
	// Full when the disk has no room for what ctx does not mark as Freeing;
	// UnknownOutcome when the commit may or may not have happened, or may
	// still happen (nothing but a row that it writes can tell, and only once
	// another transaction has written that too).
	// locked are keys that are locked before the snapshot, as said above: few,
	// and those of rows that all who compete write. fn need not read them.
	Update(ctx context.Context, fn func(Txn) error, locked ...[]byte) error

	// Discard removes all keys in r, irrevocably and outside any
	// transaction; snapshots begun earlier may or may not still see them.
	// It is only for ranges that nobody reads or writes any more.
	Discard(ctx context.Context, r Range) error

	// Limits reports what the engine accepts; it never changes.
	Limits() Limits

	// Close waits for running closures and releases the engine. Calls after
	// it get Unavailable; closing again does nothing.
	Close() error
}

// Snapshot reads one state of the store. Several goroutines may read one at
// once; an iterator, and a Txn with all its iterators, are for one goroutine.
type Snapshot interface {
	// Get returns the value of key, which the caller owns. ErrNotFound if
	// there is none.
	Get(key []byte) ([]byte, error)
	// GetMany returns the values of keys in the order of keys, nil for each key that
	// is absent (an empty value is not nil). Keys may be in any order and may
	// repeat; the caller owns the values, which may share memory. To an engine
	// across a network it is one round trip where as many Gets are one each, so
	// whoever knows several keys asks for them together.
	GetMany(keys [][]byte) ([][]byte, error)
	// Iterate returns an iterator over r, placed before its first key in the
	// direction of travel. The caller closes it before the closure returns.
	// In a Txn it walks what the transaction sees at this moment, whatever
	// it writes during the walk.
	Iterate(r Range, o IterOptions) (Iterator, error)
	// Read does what GetMany, GetManyForUpdate and Iterate do, for all that is asked for
	// in one round trip: the iterators of its walks have their first page already, of as
	// many rows as Want says, so that walking it is free. Engines without round trips
	// read no rows of walks before they are moved.
	Read(Reads) (Found, error)
}

// Reads are what Snapshot.Read reads together.
type Reads struct {
	Keys [][]byte
	// ForUpdate are keys read as GetManyForUpdate does; for a Txn only.
	ForUpdate [][]byte
	Walks     []Walk
}

// Walk is a range that is iterated over.
type Walk struct {
	Range
	IterOptions
}

// Found is what Snapshot.Read found, each in the order in which it was asked for.
type Found struct {
	Values    [][]byte // of Keys; as GetMany's
	ForUpdate [][]byte
	Walks     []Iterator // the caller closes them before the closure returns
}

// Txn is a snapshot that can be written to; it sees its own writes. Keys and values given to it may be reused by the caller
// after the call.
type Txn interface {
	Snapshot
	// GetForUpdate is Get, and makes the commit fail and rerun if another
	// transaction wrote key since the snapshot, also when key is absent.
	GetForUpdate(key []byte) ([]byte, error)
	// GetManyForUpdate is GetMany, and makes the commit depend on each of the keys
	// as GetForUpdate does.
	GetManyForUpdate(keys [][]byte) ([][]byte, error)
	// Put sets key to value. Empty values are allowed, empty keys are not.
	Put(key, value []byte) error
	// Delete removes key, which need not exist.
	Delete(key []byte) error
	// DeleteOnce removes a key that has been put exactly once since it last
	// did not exist. Engines may make the pair vanish without a tombstone;
	// for keys that are absent or were put more than once the result is
	// undefined. Several puts within one transaction count as one.
	DeleteOnce(key []byte) error
}

// Iterator walks keys of a range in byte order. Key is valid until the next
// move and not changed; Value is a copy that the caller owns. Both are called
// only after a move that reported true.
type Iterator interface {
	// Next moves to the next key in the direction of travel (at first: onto
	// the first key) and reports whether there is one.
	Next() bool
	// Seek moves to the first key at or beyond key in the direction of
	// travel (walking backward: the last key at or before it), within the
	// range, and reports whether there is one. It may go back.
	Seek(key []byte) bool
	Key() []byte
	Value() ([]byte, error)
	// Borrow is Value without the copy: the bytes are the iterator's, valid
	// until its next move or Close, and not changed.
	Borrow() ([]byte, error)
	// Err reports why the last move reported false; nil at the end of the range.
	// Engines look at the age of the snapshot only now and then while
	// walking, at least every thousand rows.
	Err() error
	Close() error
}

// Range is the half-open interval of keys Start ≤ k < End. A nil End means no
// upper bound.
type Range struct{ Start, End []byte }

// Contains reports whether a key is in the range.
func (r Range) Contains(key []byte) bool {
	return bytes.Compare(key, r.Start) >= 0 && (r.End == nil || bytes.Compare(key, r.End) < 0)
}

// IterOptions change an iteration; the zero value walks forward.
type IterOptions struct {
	Reverse bool
	// Want is how many rows the caller is going to read, as far as it knows; 0 if it does
	// not. An engine across a network brings so many in its first trip. It changes
	// nothing of what the iterator gives.
	Want int
}

// Limits bound what one engine accepts.
type Limits struct {
	Key   int           // bytes in a key
	Value int           // bytes in a value
	Txn   int           // bytes of keys and values written by one transaction
	Age   time.Duration // how long a snapshot or transaction may live
	// Idle is how many snapshots may stay open while nothing is read from them, for as long as Age allows.
	Idle int
	// Distant says that each call is a round trip to somewhere else: whoever may need
	// a row soon asks for it at once, in vain perhaps.
	Distant bool
}

// SizeReporter is implemented by engines that can tell what a range takes on disk.
type SizeReporter interface {
	// DiskSize estimates the bytes that r takes on disk, after compression.
	DiskSize(r Range) (uint64, error)
}

// PressureReporter is implemented by engines that can fall behind the work that writes leave
// them to do, until they have to make all writes wait.
type PressureReporter interface {
	// Pressure reports how far behind the engine is: 0 when it keeps up, 1 when
	// the next write may have to wait for seconds. It is cheap, and means the
	// engine as a whole, not a database. Whoever has large writes waiting holds
	// them back while it is high, before their transactions begin, so that small
	// ones find room: from about a half on, one large write at a time, and
	// longer pauses between them the higher it is. The engine itself gives way
	// too, in the commits of large transactions, which those that wait behind
	// them feel.
	Pressure() float64
}

// Compacter is implemented by engines whose files can be compacted on demand.
type Compacter interface {
	// Compact rewrites r so that overwritten and deleted rows take no space.
	Compact(ctx context.Context, r Range) error
}

// Versioned is implemented by the snapshots of engines that number the states of
// the store: those of one engine with equal numbers hold the same. A Txn is none.
type Versioned interface {
	Version() uint64
}

// SharedEngine is implemented by engines that other processes may be writing to. Without it
// an engine belongs to the process that opened it.
type SharedEngine interface {
	// Shared reports whether it is so. It does not change.
	Shared() bool
}

// IsShared reports whether other processes may be writing to e.
func IsShared(e Engine) bool {
	s, ok := e.(SharedEngine)
	return ok && s.Shared()
}

// Messenger is implemented by engines that carry messages between the processes that have
// them open, so that these need not look for each other's writes all the time. Messages may
// be lost, come twice and in any order: they are hints.
type Messenger interface {
	// Send sends a message, of at most 1,000 bytes, to all others, and does not wait. What
	// was durable when it was called is readable where it arrives.
	Send(message []byte)
	// Listen has hear called with the messages of others, until stop is called. It does
	// not wait.
	Listen(hear func(message []byte)) (stop func())
}

// ClockReader is implemented by engines with a clock of their own. All processes that have such
// an engine open go by it: their machines' clocks may be minutes apart.
type ClockReader interface {
	// Time asks what time it is; the zero time if nobody has set the clock. Errors are those
	// of a View.
	Time(ctx context.Context) (time.Time, error)
}

// Time returns what time it is by the engine's clock, or where it has none by this
// machine's.
func Time(ctx context.Context, e Engine) (now time.Time, err error) {
	if c, ok := e.(ClockReader); ok {
		now, err = c.Time(ctx)
	}
	if now.IsZero() {
		now = time.Now()
	}
	return now, err
}

// Pipeliner is implemented by engines on which the next transaction of a writer
// can begin while the last one is still on its way to the disk.
type Pipeliner interface {
	// Pipeline is Update, and calls applied once as soon as transactions
	// that begin from then on read the writes, which is before they are
	// durable and before Pipeline returns. It is not called when nothing is
	// written. What such a transaction returns is as durable as always. Keys
	// are locked until then, not until Pipeline returns.
	Pipeline(ctx context.Context, fn func(Txn) error, applied func(), locked ...[]byte) error
}
