package kvtest

import (
	"bytes"
	"context"
	"sync"

	"github.com/sectional/sectional/internal/kv"
)

// PageRows is how many rows of a walk count as one round trip.
const PageRows = 256

// Trip is a call that an engine across a network would have to send and wait for.
type Trip struct {
	Op   string // get, lock (a get for update), page, commit or discard
	Key  []byte // the first, or where the page begins
	Rows int    // keys asked for, rows of the page walked so far
}

// Trips is an engine that notes the round trips which its user would wait for if
// it lay across a network. This counts as one each:
//
//   - a Get, and a GetMany of however many keys, but not of none; for update too,
//     and whether or not the transaction wrote the keys itself;
//   - of an iterator, each PageRows rows walked one after another. The first page
//     comes with the first move, and each Seek begins a new one; to make an
//     iterator is free, and so is to find that a page was the last;
//   - a commit of what wrote or read for update, and a Discard.
//
// To begin a View or an Update is free: it goes with the first read. It has none
// of the optional powers of other engines.
type Trips struct {
	kv.Engine
	mu struct {
		sync.Mutex
		trips []*Trip
	}
}

// NewTrips wraps e.
func NewTrips(e kv.Engine) *Trips { return &Trips{Engine: e} }

// Take returns the trips since it was called last.
func (e *Trips) Take() []*Trip {
	e.mu.Lock()
	defer e.mu.Unlock()
	trips := e.mu.trips
	e.mu.trips = nil
	return trips
}

func (e *Trips) note(op string, rows int, key []byte) *Trip {
	t := &Trip{Op: op, Key: bytes.Clone(key), Rows: rows}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.trips = append(e.mu.trips, t)
	return t
}

// many notes one trip for keys.
func (e *Trips) many(op string, keys [][]byte) {
	if len(keys) > 0 {
		e.note(op, len(keys), keys[0])
	}
}

// View implements kv.Engine.
func (e *Trips) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	return e.Engine.View(ctx, func(s kv.Snapshot) error { return fn(&tripsSnapshot{s, e}) })
}

// Update implements kv.Engine.
func (e *Trips) Update(ctx context.Context, fn func(kv.Txn) error) error {
	var last *tripsTxn
	err := e.Engine.Update(ctx, func(t kv.Txn) error {
		last = &tripsTxn{Txn: t, tripsSnapshot: tripsSnapshot{t, e}}
		return fn(last)
	})
	if last != nil && last.commits && err == nil {
		e.note("commit", last.writes, nil)
	}
	return err
}

// Discard implements kv.Engine.
func (e *Trips) Discard(ctx context.Context, r kv.Range) error {
	e.note("discard", 0, r.Start)
	return e.Engine.Discard(ctx, r)
}

type tripsSnapshot struct {
	kv.Snapshot
	e *Trips
}

// Get implements kv.Snapshot.
func (s *tripsSnapshot) Get(key []byte) ([]byte, error) {
	s.e.note("get", 1, key)
	return s.Snapshot.Get(key)
}

// GetMany implements kv.Snapshot.
func (s *tripsSnapshot) GetMany(keys [][]byte) ([][]byte, error) {
	s.e.many("get", keys)
	return s.Snapshot.GetMany(keys)
}

// Iterate implements kv.Snapshot.
func (s *tripsSnapshot) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	it, err := s.Snapshot.Iterate(r, o)
	if err != nil {
		return nil, err
	}
	return &tripsIterator{Iterator: it, e: s.e, start: bytes.Clone(r.Start)}, nil
}

// tripsTxn is one run of a closure; commits says that there is something to be
// committed.
type tripsTxn struct {
	kv.Txn
	tripsSnapshot
	commits bool
	writes  int
}

// Get implements kv.Snapshot.
func (t *tripsTxn) Get(key []byte) ([]byte, error) { return t.tripsSnapshot.Get(key) }

// GetMany implements kv.Snapshot.
func (t *tripsTxn) GetMany(keys [][]byte) ([][]byte, error) { return t.tripsSnapshot.GetMany(keys) }

// Iterate implements kv.Snapshot.
func (t *tripsTxn) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	return t.tripsSnapshot.Iterate(r, o)
}

// GetForUpdate implements kv.Txn.
func (t *tripsTxn) GetForUpdate(key []byte) ([]byte, error) {
	t.commits = true
	t.e.note("lock", 1, key)
	return t.Txn.GetForUpdate(key)
}

// GetManyForUpdate implements kv.Txn.
func (t *tripsTxn) GetManyForUpdate(keys [][]byte) ([][]byte, error) {
	t.commits = t.commits || len(keys) > 0
	t.e.many("lock", keys)
	return t.Txn.GetManyForUpdate(keys)
}

func (t *tripsTxn) wrote() {
	t.commits = true
	t.writes++
}

// Put implements kv.Txn.
func (t *tripsTxn) Put(key, value []byte) error {
	t.wrote()
	return t.Txn.Put(key, value)
}

// Delete implements kv.Txn.
func (t *tripsTxn) Delete(key []byte) error {
	t.wrote()
	return t.Txn.Delete(key)
}

// DeleteOnce implements kv.Txn.
func (t *tripsTxn) DeleteOnce(key []byte) error {
	t.wrote()
	return t.Txn.DeleteOnce(key)
}

// tripsIterator counts pages; nil before the first move.
type tripsIterator struct {
	kv.Iterator
	e     *Trips
	start []byte
	page  *Trip
}

// Next implements kv.Iterator.
func (it *tripsIterator) Next() bool {
	if it.page == nil {
		it.page = it.e.note("page", 0, it.start)
	}
	ok := it.Iterator.Next()
	if ok && it.page.Rows == PageRows {
		it.page = it.e.note("page", 0, it.Key())
	}
	it.count(ok)
	return ok
}

// Seek implements kv.Iterator.
func (it *tripsIterator) Seek(key []byte) bool {
	it.page = it.e.note("page", 0, key)
	ok := it.Iterator.Seek(key)
	it.count(ok)
	return ok
}

func (it *tripsIterator) count(ok bool) {
	if ok {
		it.e.mu.Lock()
		it.page.Rows++
		it.e.mu.Unlock()
	}
}
