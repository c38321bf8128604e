package store

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
)

// What this process remembers of databases and users is the truth only where the engine is
// its own. Where other processes write to it (kv.Sharer), a security object may have been
// replaced, a database dropped and another made under its name, a user removed, and nobody
// has told us. To read all that first would cost each request a round trip or two. Instead
// a request is let in by what is remembered, and what that rests on is noted: the claims,
// rows with what must be in them. The first snapshot that the request reads fetches these
// rows together with the first it is asked for, so that they cost nothing; if one is
// another than claimed, the read fails with ErrStale, what was remembered is forgotten, and
// whoever let the request in does so again. Nothing has been answered by then.
//
// So no request is decided by anything older than itself, and what it reads first is read
// under the rights of that very snapshot.

// ErrStale says that something changed that a request was let in by.
var ErrStale error = dberr.New(dberr.Unavailable, "", "Access rules changed during the request; retry.")

// precondition is a row that a decision rests on.
type precondition struct {
	key    []byte
	holds  func(value []byte) bool // nil for an absent row
	forget func()                  // what was remembered; nil for nothing
}

// Preconditions are what a request was let in by. They are open, that is, may be added to, until
// they are looked at.
type Preconditions struct {
	store *Store
	mu    struct {
		sync.Mutex
		rows   []precondition
		closed bool
		stale  bool // one did not hold
	}
}

type preconditionsKey struct{}

// WithPreconditions returns a context under which databases and users may come from memory: with
// claims, for the first View or Confirm to look at. nil claims, and nothing changes, where
// what this process remembers is the truth.
func (s *Store) WithPreconditions(ctx context.Context) (context.Context, *Preconditions) {
	if !s.shared {
		return ctx, nil
	}
	c := &Preconditions{store: s}
	s.claimConfiguration(c)
	return context.WithValue(ctx, preconditionsKey{}, c), c
}

// Shared reports whether other processes may write to the store.
func (s *Store) Shared() bool { return s.shared }

func preconditionsOf(ctx context.Context) *Preconditions {
	c, _ := ctx.Value(preconditionsKey{}).(*Preconditions)
	return c
}

// add adds a claim; false if they are closed, or there are none.
func (c *Preconditions) add(row precondition) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.mu.closed {
		c.mu.rows = append(c.mu.rows, row)
	}
	return !c.mu.closed
}

// open returns the claims as long as nobody has looked at them.
func (c *Preconditions) open() []precondition {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		return nil
	}
	return c.mu.rows
}

// Open reports whether there are claims that nobody has looked at.
func (c *Preconditions) Open() bool { return len(c.open()) > 0 }

// close ends the adding: what is looked up from now on is read.
func (c *Preconditions) close() {
	if c != nil {
		c.mu.Lock()
		c.mu.closed, c.mu.rows = true, nil
		c.mu.Unlock()
	}
}

// Stale reports whether one of them was found not to hold.
func (c *Preconditions) Stale() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.stale
}

// fail notes that one does not hold.
func (c *Preconditions) fail() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.stale, c.mu.closed, c.mu.rows = true, true, nil
	return ErrStale
}

// Confirm looks at open claims now, in a read of its own. Errors: ErrStale, also when that was
// found before.
func (c *Preconditions) Confirm(ctx context.Context) error {
	if c.Stale() {
		return ErrStale
	}
	if !c.Open() {
		c.close()
		return nil
	}
	g := &guard{preconditions: c.open()}
	err := c.store.engine.View(ctx, func(v kv.Snapshot) error {
		g.Snapshot = v
		return g.check()
	})
	if g.failed != nil {
		return c.fail()
	}
	if err == nil {
		c.close()
	}
	return err
}

// batchPreconditions are the claims of several requests, whose rows come in one read.
type batchPreconditions [][]precondition

// claimsOfAll returns the open claims of requests; nil if none was let in by any.
func claimsOfAll(batch []*request) batchPreconditions {
	if !slices.ContainsFunc(batch, func(r *request) bool { return r.preconditions != nil }) {
		return nil
	}
	t := make(batchPreconditions, len(batch))
	for i, r := range batch {
		t[i] = r.preconditions.open()
	}
	return t
}

// keys returns the keys of their rows.
func (t batchPreconditions) keys() (keys [][]byte) {
	for _, claims := range t {
		for i := range claims {
			keys = append(keys, claims[i].key)
		}
	}
	return keys
}

// look notes which of the requests were let in by what does not hold, and reports whether all were.
func (t batchPreconditions) look(batch []*request, values [][]byte) (all bool) {
	all = len(t) > 0
	for i, claims := range t {
		batch[i].stale = look(claims, values[:len(claims)]) != nil || batch[i].preconditions.Stale()
		values = values[len(claims):]
		all = all && batch[i].stale
	}
	return all
}

// IsStale reports whether whoever was let in by the claims has to be let in again: one does not
// hold. They are looked at for that if err, which the request ended with, may be for what
// they say.
func (c *Preconditions) IsStale(ctx context.Context, err error) bool {
	if err != nil && c.Open() {
		_ = c.Confirm(ctx) // if that can't be looked at, the first error stands
	}
	return c.Stale()
}

// viewTries is how often a read looks for a state of its databases that stays: each time
// somebody has changed a definition meanwhile.
const viewTries = 20

// viewShared is Store.View where other processes write to the engine: what is remembered
// of each database, hidden partitions among it, is that of the snapshot, and the claims in
// ctx hold there.
func (s *Store) viewShared(ctx context.Context, scopes []Scope, fn func([]*Reader) error) error {
	for try := range viewTries {
		if err := backoff(ctx, try); err != nil {
			return err
		}
		c := preconditionsOf(ctx)
		if c.Stale() {
			return ErrStale
		}
		open := c.open()
		g := &guard{preconditions: open, assumeStale: s.o.AssumeStale != nil && try == 0 && s.o.AssumeStale()}
		readers := make([]*Reader, len(scopes))
		stale := map[*Database]bool{}
		for i, scope := range scopes {
			readers[i] = s.guarded(g, scope, stale)
		}
		err := s.engine.View(ctx, func(v kv.Snapshot) error {
			g.Snapshot = v
			defer g.close()
			err := fn(readers)
			if failed := g.check(); failed != nil {
				return failed
			}
			return err
		})
		if !g.looked.Load() {
			return err
		}
		if g.failed == nil {
			c.close()
			return err
		}
		if len(open) > 0 {
			return c.fail()
		}
		if err := refreshAll(ctx, stale); err != nil {
			return err
		}
	}
	return ErrStale
}

// guarded makes the reader of a scope that goes by what is remembered of its database, and
// has g look whether that is so; if not it is noted in stale.
func (s *Store) guarded(g *guard, scope Scope, stale map[*Database]bool) *Reader {
	set := scope.db.settings.Load()
	r := &Reader{Scope: scope, v: g, hidden: set.hidden, known: &set.definitions}
	row := scope.db.laneClaim(set.version, func(l *lane) { r.loaded = l })
	row.forget = func() { stale[scope.db] = true }
	g.preconditions = append(g.preconditions[:len(g.preconditions):len(g.preconditions)], row)
	return r
}

// laneClaim is the claim that the database is there and its lane head has a version; seen
// is called with the lane head.
func (d *Database) laneClaim(version uint64, seen func(*lane)) precondition {
	return precondition{key: laneKey(d.number), holds: func(value []byte) bool {
		if value == nil {
			return false
		}
		l, err := decodeLane(value)
		if seen(&l); err != nil {
			return false
		}
		return l.version == version
	}, forget: func() { d.staleCache.Store(true) }}
}

// refreshAll refreshes databases. NotFound if one has been dropped.
func refreshAll(ctx context.Context, ds map[*Database]bool) error {
	for d := range ds {
		there, err := d.refresh(ctx)
		if err == nil && !there {
			err = errNoDatabase
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// claim adds to open claims in ctx that the database is as remembered; false if there are
// none.
func (d *Database) claim(ctx context.Context) bool {
	return !d.staleCache.Load() && preconditionsOf(ctx).add(d.laneClaim(d.settings.Load().version, func(*lane) {}))
}

// Claim is for those who remember something of the database's documents: it adds to open
// claims in ctx that the database is as remembered; false if there are none.
func (d *Database) Claim(ctx context.Context) bool { return d.claim(ctx) }

// refresh brings what is remembered of the database to how it is now. If it is gone it is
// closed.
func (d *Database) refresh(ctx context.Context) (there bool, err error) {
	moved := false
	err = d.store.engine.View(ctx, func(v kv.Snapshot) error {
		d.staleCache.Store(false)
		l, err := d.decodeLaneRow(v)
		if err != nil || l.version <= d.settings.Load().version {
			return err
		}
		f, err := d.load(v, l.version)
		if err == nil {
			d.define(f)
			moved = true
		}
		return err
	})
	if moved {
		d.watch.wakeAll() // feeds ask whether they may go on
	}
	if errors.Is(err, errNoDatabase) {
		d.store.dropHandle(d.name, d.number)
		return false, nil
	}
	return err == nil, err
}

// Mark is the head of a document as a snapshot had it, or that it was not there: what was
// made of the document is right as long as the mark is.
type Mark struct{ key, value []byte }

// Mark returns the mark of a document.
func (r *Reader) Mark(id document.ID) (Mark, error) {
	key := r.db.headKey(r.Stored(id))
	value, err := r.v.Get(key)
	if errors.Is(err, kv.ErrNotFound) {
		return Mark{key: key}, nil
	}
	return Mark{key, bytes.Clone(value)}, err
}

// Claim adds to open claims in ctx that the document is as marked; forget is called if it
// is not. false if there are none.
func (m Mark) Claim(ctx context.Context, forget func()) bool {
	if m.key == nil {
		return true // no document can have the name
	}
	return preconditionsOf(ctx).add(precondition{key: m.key, holds: m.holds, forget: forget})
}

// holds reports whether the document is as marked if value is its head, nil for none.
func (m Mark) holds(value []byte) bool {
	return (value == nil) == (m.value == nil) && bytes.Equal(value, m.value)
}
