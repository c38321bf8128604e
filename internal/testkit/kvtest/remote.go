package kvtest

import (
	"bytes"
	"context"
	"sync"

	"github.com/sectional/sectional/internal/kv"
)

// PageRows is how many rows of a walk count as one round trip, if its user wants no more.
const PageRows = 256

// Trip is a call that an engine across a network would have to send and wait for.
type Trip struct {
	Op   string // get, lock (a get for update), page, read (of several things), commit or discard
	Key  []byte // the first, or where the page begins
	Rows int    // keys asked for, rows of the page walked so far
}

// Remote is an engine as if it lay across a network: it says so (Limits.Distant), notes
// the round trips which its user waits for, and makes him wait. This counts as one each:
//
//   - a Get, and a GetMany of however many keys, but not of none; for update too,
//     and whether or not the transaction wrote the keys itself;
//   - of an iterator, each page of rows walked one after another: PageRows of them, or
//     as many as its user says that he wants. The first page
//     comes with the first move, and a Seek begins a new one unless it goes back into the
//     last; to make an iterator is free, and so is to find that a page was the last;
//   - a Read, whatever it asks for. The first pages of its walks have as many rows as
//     their user wants, and no more;
//   - a commit of what wrote or read for update, and a Discard.
//
// To begin a View or an Update is free, and to lock what it names: that goes with the
// first read. It has none of the optional powers of other engines.
type Remote struct {
	kv.Engine
	wait func()
	mu   struct {
		sync.Mutex
		trips []*Trip
	}
}

// NewRemote wraps e. wait is called at each round trip and returns when that is over;
// nil for trips that take no time.
func NewRemote(e kv.Engine, wait func()) *Remote {
	if wait == nil {
		wait = func() {}
	}
	return &Remote{Engine: e, wait: wait}
}

// Limits implements kv.Engine.
func (e *Remote) Limits() kv.Limits {
	l := e.Engine.Limits()
	l.Distant = true
	return l
}

// Take returns the trips since it was called last.
func (e *Remote) Take() []*Trip {
	e.mu.Lock()
	defer e.mu.Unlock()
	trips := e.mu.trips
	e.mu.trips = nil
	return trips
}

func (e *Remote) note(op string, rows int, key []byte) *Trip {
	e.wait()
	t := &Trip{Op: op, Key: bytes.Clone(key), Rows: rows}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.trips = append(e.mu.trips, t)
	return t
}

// many notes one trip for keys.
func (e *Remote) many(op string, keys [][]byte) {
	if len(keys) > 0 {
		e.note(op, len(keys), keys[0])
	}
}

// View implements kv.Engine.
func (e *Remote) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	return e.Engine.View(ctx, func(s kv.Snapshot) error { return fn(&remoteSnapshot{s, e}) })
}

// Update implements kv.Engine.
func (e *Remote) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	var last *remoteTxn
	err := e.Engine.Update(ctx, func(t kv.Txn) error {
		last.committed() // the run before, and lost
		last = &remoteTxn{Txn: t, remoteSnapshot: remoteSnapshot{t, e}}
		return fn(last)
	}, locked...)
	if err == nil {
		last.committed()
	}
	return err
}

// committed notes the commit of a run; nil for none.
func (t *remoteTxn) committed() {
	if t != nil && t.commits {
		t.e.note("commit", t.writes, nil)
	}
}

// Discard implements kv.Engine.
func (e *Remote) Discard(ctx context.Context, r kv.Range) error {
	e.note("discard", 0, r.Start)
	return e.Engine.Discard(ctx, r)
}

type remoteSnapshot struct {
	kv.Snapshot
	e *Remote
}

// Get implements kv.Snapshot.
func (s *remoteSnapshot) Get(key []byte) ([]byte, error) {
	s.e.note("get", 1, key)
	return s.Snapshot.Get(key)
}

// GetMany implements kv.Snapshot.
func (s *remoteSnapshot) GetMany(keys [][]byte) ([][]byte, error) {
	s.e.many("get", keys)
	return s.Snapshot.GetMany(keys)
}

// Iterate implements kv.Snapshot.
func (s *remoteSnapshot) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	it, err := s.Snapshot.Iterate(r, o)
	if err != nil {
		return nil, err
	}
	return &remoteIterator{Iterator: it, e: s.e, start: bytes.Clone(r.Start), reverse: o.Reverse, max: max(PageRows, o.Want)}, nil
}

// Read implements kv.Snapshot.
func (s *remoteSnapshot) Read(r kv.Reads) (kv.Found, error) { return s.read(s.Snapshot, r) }

// read is Read of a snapshot or transaction.
func (s *remoteSnapshot) read(of kv.Snapshot, r kv.Reads) (kv.Found, error) {
	f, err := of.Read(r)
	if err != nil || len(r.Keys)+len(r.ForUpdate)+len(r.Walks) == 0 {
		return f, err
	}
	t := s.e.note("read", len(r.Keys)+len(r.ForUpdate), firstOf(r))
	for i, it := range f.Walks {
		w := r.Walks[i]
		most := w.Want
		if most == 0 {
			most = PageRows
		}
		f.Walks[i] = &remoteIterator{Iterator: it, e: s.e, start: bytes.Clone(w.Start), reverse: w.Reverse, max: most, page: t, from: bytes.Clone(w.Start), at: -1}
	}
	return f, nil
}

// firstOf returns the first key that is asked for.
func firstOf(r kv.Reads) []byte {
	switch {
	case len(r.ForUpdate) > 0:
		return r.ForUpdate[0]
	case len(r.Keys) > 0:
		return r.Keys[0]
	}
	return r.Walks[0].Start
}

// remoteTxn is one run of a closure; commits says that there is something to be
// committed.
type remoteTxn struct {
	kv.Txn
	remoteSnapshot
	commits bool
	writes  int
}

// Get implements kv.Snapshot.
func (t *remoteTxn) Get(key []byte) ([]byte, error) { return t.remoteSnapshot.Get(key) }

// GetMany implements kv.Snapshot.
func (t *remoteTxn) GetMany(keys [][]byte) ([][]byte, error) { return t.remoteSnapshot.GetMany(keys) }

// Iterate implements kv.Snapshot.
func (t *remoteTxn) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	return t.remoteSnapshot.Iterate(r, o)
}

// Read implements kv.Snapshot.
func (t *remoteTxn) Read(r kv.Reads) (kv.Found, error) {
	t.commits = t.commits || len(r.ForUpdate) > 0
	return t.read(t.Txn, r)
}

// GetForUpdate implements kv.Txn.
func (t *remoteTxn) GetForUpdate(key []byte) ([]byte, error) {
	t.commits = true
	t.e.note("lock", 1, key)
	return t.Txn.GetForUpdate(key)
}

// GetManyForUpdate implements kv.Txn.
func (t *remoteTxn) GetManyForUpdate(keys [][]byte) ([][]byte, error) {
	t.commits = t.commits || len(keys) > 0
	t.e.many("lock", keys)
	return t.Txn.GetManyForUpdate(keys)
}

func (t *remoteTxn) wrote() {
	t.commits = true
	t.writes++
}

// Put implements kv.Txn.
func (t *remoteTxn) Put(key, value []byte) error {
	t.wrote()
	return t.Txn.Put(key, value)
}

// Delete implements kv.Txn.
func (t *remoteTxn) Delete(key []byte) error {
	t.wrote()
	return t.Txn.Delete(key)
}

// DeleteOnce implements kv.Txn.
func (t *remoteTxn) DeleteOnce(key []byte) error {
	t.wrote()
	return t.Txn.DeleteOnce(key)
}

// remoteIterator counts pages. What it walked of the last one it has: to go back there
// is no trip.
type remoteIterator struct {
	kv.Iterator
	e       *Remote
	start   []byte
	reverse bool
	max     int      // rows of a page
	page    *Trip    // nil before the first move
	from    []byte   // where it begins
	keys    [][]byte // walked of the page
	at      int      // in keys; before the first: -1
}

// Next implements kv.Iterator.
func (it *remoteIterator) Next() bool {
	if it.page == nil {
		it.begin(it.start)
	}
	ok := it.Iterator.Next()
	if !ok {
		return false
	}
	if it.at++; it.at < len(it.keys) {
		return true
	}
	if len(it.keys) == it.max {
		it.begin(it.Key())
		it.at = 0
	}
	it.walked()
	return true
}

// Seek implements kv.Iterator.
func (it *remoteIterator) Seek(key []byte) bool {
	if it.page != nil && len(it.keys) == 0 && it.Iterator.Next() { // the page has come, and nobody has looked at it
		it.at = 0
		it.walked()
	}
	if at, ok := it.within(key); ok {
		it.at = at
		return it.Iterator.Seek(key)
	}
	if found, known := it.ahead(key); known {
		return found
	}
	it.begin(key)
	ok := it.Iterator.Seek(key)
	if ok {
		it.at = 0
		it.walked()
	}
	return ok
}

// within looks for the row that a Seek moves to among those that were walked.
func (it *remoteIterator) within(key []byte) (at int, ok bool) {
	for i, k := range it.keys {
		if !it.before(k, key) {
			return i, i > 0 || bytes.Equal(k, key) || it.begins(key)
		}
	}
	return 0, false
}

// begins reports whether a key lies at or behind where the page begins. Only walks forward know.
func (it *remoteIterator) begins(key []byte) bool {
	return it.page != nil && !it.reverse && bytes.Compare(it.from, key) <= 0
}

// ahead walks to the row that a Seek moves to if that is on the page, further on, or if the page ends before it and
// was the last.
func (it *remoteIterator) ahead(key []byte) (found, known bool) {
	if len(it.keys) == 0 {
		return false, it.begins(key)
	}
	if it.before(key, it.keys[0]) || !it.Iterator.Seek(it.keys[len(it.keys)-1]) {
		return false, false
	}
	for it.at = len(it.keys) - 1; it.before(it.keys[it.at], key); {
		if it.at++; it.at == it.max {
			return false, false
		}
		if !it.Iterator.Next() {
			return false, true
		}
		it.walked()
	}
	return true, true
}

// before reports whether a comes before b in the direction of travel.
func (it *remoteIterator) before(a, b []byte) bool {
	if it.reverse {
		a, b = b, a
	}
	return bytes.Compare(a, b) < 0
}

func (it *remoteIterator) begin(key []byte) {
	it.page, it.from, it.keys, it.at = it.e.note("page", 0, key), bytes.Clone(key), nil, -1
	it.max = max(it.max, PageRows)
}

func (it *remoteIterator) walked() {
	it.keys = append(it.keys, bytes.Clone(it.Key()))
	it.e.mu.Lock()
	it.page.Rows++
	it.e.mu.Unlock()
}
