package store

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/sectional/sectional/internal/kv"
)

// guard is a snapshot whose first read looks at claims too. When one does not hold, that
// read and all after it fail with ErrStale.
type guard struct {
	kv.Snapshot
	preconditions []precondition
	looking       sync.Mutex
	looked        atomic.Bool
	failed        error
	assumeStale   bool // for tests: what is looked at is taken for out of date

	expected kv.Reads // what comes with the first read besides (Reader.Expect)
	came     expected
}

// expected is what came of what was expected.
type expected struct {
	sync.Mutex
	values map[string][]byte // nil for absent rows
	walks  []expectedWalk
}

type expectedWalk struct {
	kv.Walk
	it kv.Iterator // nil once it was taken
}

// Expect says what is about to be read with r: the values of keys, and of walks the first
// pages, of as many rows as Want says. They come with the first read, and cost no round trip
// when they are asked for, a walk once. It changes nothing of what is read, and does
// nothing where reading costs no round trips, nor after the first read.
func (r *Reader) Expect(e kv.Reads) {
	if g, ok := r.v.(*guard); ok && !g.looked.Load() {
		g.expected.Keys = append(g.expected.Keys, e.Keys...)
		g.expected.Walks = append(g.expected.Walks, e.Walks...)
	}
}

// withExpected adds to the first read what is expected besides. A walk that it asks for itself is left out.
func (g *guard) withExpected(r kv.Reads) kv.Reads {
	r.Keys = append(r.Keys, g.expected.Keys...)
	asked := r.Walks
	r.Walks = asked[:len(asked):len(asked)]
	kept := g.expected.Walks[:0:0]
	for _, w := range g.expected.Walks {
		if len(asked) == 1 && sameWalk(&w, asked[0].Range, asked[0].IterOptions) {
			asked = nil
			r.Walks[0].Want = w.Want
			continue
		}
		kept = append(kept, w)
	}
	g.expected.Walks = kept
	r.Walks = append(r.Walks, kept...)
	return r
}

func sameWalk(w *kv.Walk, r kv.Range, o kv.IterOptions) bool {
	return w.Reverse == o.Reverse && bytes.Equal(w.Start, r.Start) && bytes.Equal(w.End, r.End)
}

// keep keeps what came: the last values and walks of what was found.
func (g *guard) keep(f *kv.Found) {
	keys, walks := len(f.Values)-len(g.expected.Keys), len(f.Walks)-len(g.expected.Walks)
	g.came.values = make(map[string][]byte, len(g.expected.Keys))
	for i, v := range f.Values[keys:] {
		g.came.values[string(g.expected.Keys[i])] = v
	}
	for i, it := range f.Walks[walks:] {
		g.came.walks = append(g.came.walks, expectedWalk{g.expected.Walks[i], it})
	}
	f.Values, f.Walks = f.Values[:keys], f.Walks[:walks]
}

// value returns the value of an expected key.
func (g *guard) value(key []byte) (value []byte, was bool) {
	g.came.Lock()
	defer g.came.Unlock()
	value, was = g.came.values[string(key)]
	return bytes.Clone(value), was
}

// walk takes an expected walk; nil if there is none.
func (g *guard) walk(r kv.Range, o kv.IterOptions) (it kv.Iterator) {
	g.came.Lock()
	defer g.came.Unlock()
	for i := range g.came.walks {
		if w := &g.came.walks[i]; w.it != nil && sameWalk(&w.Walk, r, o) {
			it, w.it = w.it, nil
			return it
		}
	}
	return nil
}

// resume has the next read be a first one again, which brings what is expected then. The claims have been looked at.
func (g *guard) resume() {
	g.close()
	g.preconditions, g.expected, g.came.values = nil, kv.Reads{}, nil
	g.looked.Store(false)
}

// close closes the walks that nobody took.
func (g *guard) close() {
	g.came.Lock()
	defer g.came.Unlock()
	for _, w := range g.came.walks {
		if w.it != nil {
			_ = w.it.Close() // nothing was read by it
		}
	}
	g.came.walks = nil
}

// first reads what is asked for together with the rows of the claims, if nobody has looked at
// these.
func (g *guard) first(r kv.Reads) (f kv.Found, was bool, err error) {
	if g.looked.Load() {
		return f, false, g.failed
	}
	g.looking.Lock()
	defer g.looking.Unlock()
	if g.looked.Load() {
		return f, false, g.failed
	}
	n := len(r.Keys)
	r.Keys = r.Keys[:n:n]
	for i := range g.preconditions {
		r.Keys = append(r.Keys, g.preconditions[i].key)
	}
	if f, err = g.Snapshot.Read(g.withExpected(r)); err != nil {
		return f, false, err
	}
	g.keep(&f)
	if g.failed = look(g.preconditions, f.Values[n:]); g.assumeStale {
		g.failed = look(g.preconditions, make([][]byte, len(g.preconditions)))
	}
	f.Values = f.Values[:n]
	g.looked.Store(true)
	if g.failed != nil {
		f.Close()
	}
	return f, true, g.failed
}

// look looks whether claims hold in the values of their rows. What was remembered
// otherwise is forgotten.
func look(claims []precondition, values [][]byte) (err error) {
	for i, c := range claims {
		if !c.holds(values[i]) {
			err = ErrStale
			if c.forget != nil {
				c.forget()
			}
		}
	}
	return err
}

// check looks at the claims if nobody has.
func (g *guard) check() error {
	_, _, err := g.first(kv.Reads{})
	return err
}

// Get implements kv.Snapshot.
func (g *guard) Get(key []byte) ([]byte, error) {
	f, was, err := g.first(kv.Reads{Keys: [][]byte{key}})
	switch {
	case err != nil:
		return nil, err
	case !was:
		if value, was := g.value(key); was {
			return found(value)
		}
		return g.Snapshot.Get(key)
	case f.Values[0] == nil:
		return nil, kv.ErrNotFound
	}
	return f.Values[0], nil
}

// GetMany implements kv.Snapshot.
func (g *guard) GetMany(keys [][]byte) ([][]byte, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	f, was, err := g.first(kv.Reads{Keys: keys})
	if err != nil || was {
		return f.Values, err
	}
	return g.Snapshot.GetMany(keys)
}

// Read implements kv.Snapshot.
func (g *guard) Read(r kv.Reads) (kv.Found, error) {
	if len(r.Keys)+len(r.Walks) == 0 {
		return kv.Found{}, nil
	}
	f, was, err := g.first(r)
	switch {
	case err != nil:
		return kv.Found{}, err
	case was:
		return f, nil
	}
	return g.Snapshot.Read(r)
}

// Iterate implements kv.Snapshot. As the first read it brings the first page.
func (g *guard) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	f, was, err := g.first(kv.Reads{Walks: []kv.Walk{{Range: r, IterOptions: o}}})
	switch {
	case err != nil:
		return nil, err
	case was:
		return f.Walks[0], nil
	}
	if it := g.walk(r, o); it != nil {
		return it, nil
	}
	return g.Snapshot.Iterate(r, o)
}
