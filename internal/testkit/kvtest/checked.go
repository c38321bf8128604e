package kvtest

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// NewChecked wraps e so that breaches of the contract fail t: a snapshot,
// transaction or iterator used after its end or by two goroutines at once, an
// iterator left open or read off a row, a key of an iterator changed or kept
// beyond the next move, an error of a kind the contract does not name, limits
// that change, a closure's error that does not come back.
//
// Keys and values are handed on as copies that are overwritten after the call,
// so that an engine that keeps them fails too. Optional powers of e are kept.
func NewChecked(t testing.TB, e kv.Engine) kv.Engine {
	c := &checked{t: t, e: e, limits: e.Limits()}
	m, measurer := e.(kv.SizeReporter)
	p, compacter := e.(kv.Compacter)
	switch {
	case measurer && compacter:
		return &struct {
			*checked
			kv.SizeReporter
			kv.Compacter
		}{c, m, p}
	case measurer:
		return &struct {
			*checked
			kv.SizeReporter
		}{c, m}
	case compacter:
		return &struct {
			*checked
			kv.Compacter
		}{c, p}
	}
	return c
}

type checked struct {
	t      testing.TB
	e      kv.Engine
	limits kv.Limits
}

// Limits implements kv.Engine.
func (c *checked) Limits() kv.Limits {
	l := c.e.Limits()
	if l != c.limits {
		c.t.Errorf("kv: the limits changed from %+v to %+v", c.limits, l)
	}
	return l
}

// View implements kv.Engine.
func (c *checked) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	var own error
	ran := false
	err := c.e.View(ctx, func(s kv.Snapshot) error {
		if ran {
			c.t.Error("kv: View ran its closure twice")
		}
		ran = true
		cs := &checkedSnapshot{c: c, s: s}
		defer cs.end()
		if v, ok := s.(kv.Versioned); ok {
			own = fn(&struct {
				*checkedSnapshot
				kv.Versioned
			}{cs, v})
		} else {
			own = fn(cs)
		}
		return own
	})
	if ran && err != own {
		c.t.Errorf("kv: View returned %v instead of the closure's %v", err, own)
	}
	return err
}

// Update implements kv.Engine.
func (c *checked) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	var own error
	args, scribble := borrowed(locked...)
	defer scribble()
	err := c.e.Update(ctx, func(t kv.Txn) error {
		ct := &checkedTxn{checkedSnapshot: checkedSnapshot{c: c, s: t, private: true}, t: t}
		defer ct.end()
		own = fn(ct)
		return own
	}, args...)
	if own != nil && err != own {
		c.kinds("Update after a refusal", err, dberr.Unavailable)
	}
	if own == nil {
		c.kinds("Update", err, dberr.TooLarge, dberr.UnknownOutcome, dberr.SnapshotTooOld, dberr.Unavailable, dberr.Internal)
	}
	return err
}

// Discard implements kv.Engine.
func (c *checked) Discard(ctx context.Context, r kv.Range) error {
	err := c.e.Discard(ctx, r)
	c.kinds("Discard", err, dberr.UnknownOutcome, dberr.Unavailable, dberr.Internal)
	return err
}

// Close implements kv.Engine.
func (c *checked) Close() error { return c.e.Close() }

// kinds reports an error of a kind that op must not return.
func (c *checked) kinds(op string, err error, allowed ...dberr.Kind) {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	for _, k := range allowed {
		if dberr.Is(err, k) {
			return
		}
	}
	c.t.Errorf("kv: %s returned an error of kind %d: %v", op, dberr.KindOf(err), err)
}

// scribble overwrites bytes that were borrowed for one call.
func scribble(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}

// borrowed returns copies of slices and a function that overwrites them.
func borrowed(slices ...[]byte) ([][]byte, func()) {
	out := make([][]byte, len(slices))
	for i, s := range slices {
		out[i] = bytes.Clone(s)
	}
	return out, func() {
		for _, s := range out {
			scribble(s)
		}
	}
}

// checkedSnapshot watches one run of a closure.
type checkedSnapshot struct {
	c       *checked
	s       kv.Snapshot
	ended   atomic.Bool
	busy    atomic.Bool
	private bool // for one goroutine, as transactions are
	open    atomic.Int64
}

// enter begins a call; leave ends it.
func (s *checkedSnapshot) enter(op string) (leave func()) {
	if s.ended.Load() {
		s.c.t.Errorf("kv: %s after the closure returned", op)
	}
	if !s.private {
		return func() {}
	}
	if !s.busy.CompareAndSwap(false, true) {
		s.c.t.Errorf("kv: %s beside another call of the same transaction", op)
	}
	return func() { s.busy.Store(false) }
}

// end is called when the closure returns.
func (s *checkedSnapshot) end() {
	s.ended.Store(true)
	if n := s.open.Load(); n != 0 {
		s.c.t.Errorf("kv: %d iterators were left open", n)
	}
}

func (s *checkedSnapshot) get(op string, key []byte, get func([]byte) ([]byte, error)) ([]byte, error) {
	defer s.enter(op)()
	args, scribble := borrowed(key)
	defer scribble()
	value, err := get(args[0])
	if err == nil && value == nil {
		s.c.t.Errorf("kv: %s returned neither a value nor an error", op)
	}
	s.c.kinds(op, err, dberr.NotFound, dberr.SnapshotTooOld, dberr.Unavailable, dberr.Internal)
	return value, err
}

// Get implements kv.Snapshot.
func (s *checkedSnapshot) Get(key []byte) ([]byte, error) { return s.get("Get", key, s.s.Get) }

func (s *checkedSnapshot) getMany(op string, keys [][]byte, get func([][]byte) ([][]byte, error)) ([][]byte, error) {
	defer s.enter(op)()
	args, scribble := borrowed(keys...)
	defer scribble()
	values, err := get(args)
	if err == nil && len(values) != len(keys) {
		s.c.t.Errorf("kv: %s returned %d values of %d keys", op, len(values), len(keys))
	}
	s.c.kinds(op, err, dberr.SnapshotTooOld, dberr.Unavailable, dberr.Internal)
	return values, err
}

// GetMany implements kv.Snapshot.
func (s *checkedSnapshot) GetMany(keys [][]byte) ([][]byte, error) {
	return s.getMany("GetMany", keys, s.s.GetMany)
}

// Iterate implements kv.Snapshot.
func (s *checkedSnapshot) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	defer s.enter("Iterate")()
	args, scribble := borrowed(r.Start, r.End)
	defer scribble()
	it, err := s.s.Iterate(kv.Range{Start: args[0], End: args[1]}, o)
	s.c.kinds("Iterate", err, dberr.SnapshotTooOld, dberr.Unavailable, dberr.Internal)
	if err != nil {
		return nil, err
	}
	s.open.Add(1)
	return &checkedIterator{s: s, it: it, r: r, reverse: o.Reverse}, nil
}

// Read implements kv.Snapshot.
func (s *checkedSnapshot) Read(r kv.Reads) (kv.Found, error) {
	defer s.enter("Read")()
	own, scribble := borrowedReads(r)
	defer scribble()
	f, err := s.s.Read(own)
	s.c.kinds("Read", err, dberr.SnapshotTooOld, dberr.Unavailable, dberr.Internal)
	if err != nil {
		return kv.Found{}, err
	}
	if len(f.Values) != len(r.Keys) || len(f.ForUpdate) != len(r.ForUpdate) || len(f.Walks) != len(r.Walks) {
		s.c.t.Errorf("kv: Read returned %d, %d and %d of %d, %d and %d", len(f.Values), len(f.ForUpdate), len(f.Walks), len(r.Keys), len(r.ForUpdate), len(r.Walks))
	}
	s.open.Add(int64(len(f.Walks)))
	for i, it := range f.Walks {
		f.Walks[i] = &checkedIterator{s: s, it: it, r: r.Walks[i].Range, reverse: r.Walks[i].Reverse}
	}
	return f, nil
}

// borrowedReads returns a copy of what is asked for and a function that overwrites it.
func borrowedReads(r kv.Reads) (own kv.Reads, scribble func()) {
	all := append(append([][]byte{}, r.Keys...), r.ForUpdate...)
	for _, w := range r.Walks {
		all = append(all, w.Start, w.End)
	}
	all, scribble = borrowed(all...)
	own.Keys, own.ForUpdate = all[:len(r.Keys)], all[len(r.Keys):len(r.Keys)+len(r.ForUpdate)]
	ends := all[len(r.Keys)+len(r.ForUpdate):]
	for i, w := range r.Walks {
		own.Walks = append(own.Walks, kv.Walk{Range: kv.Range{Start: ends[2*i], End: ends[2*i+1]}, IterOptions: w.IterOptions})
	}
	return own, scribble
}

// checkedTxn is a checkedSnapshot that can be written to.
type checkedTxn struct {
	checkedSnapshot
	t kv.Txn
}

// GetForUpdate implements kv.Txn.
func (t *checkedTxn) GetForUpdate(key []byte) ([]byte, error) {
	return t.get("GetForUpdate", key, t.t.GetForUpdate)
}

// GetManyForUpdate implements kv.Txn.
func (t *checkedTxn) GetManyForUpdate(keys [][]byte) ([][]byte, error) {
	return t.getMany("GetManyForUpdate", keys, t.t.GetManyForUpdate)
}

func (t *checkedTxn) write(op string, key, value []byte, write func(key, value []byte) error) error {
	defer t.enter(op)()
	args, scribble := borrowed(key, value)
	defer scribble()
	err := write(args[0], args[1])
	t.c.kinds(op, err, dberr.TooLarge, dberr.SnapshotTooOld, dberr.Unavailable, dberr.Internal)
	return err
}

// Put implements kv.Txn.
func (t *checkedTxn) Put(key, value []byte) error { return t.write("Put", key, value, t.t.Put) }

// Delete implements kv.Txn.
func (t *checkedTxn) Delete(key []byte) error {
	return t.write("Delete", key, nil, func(key, _ []byte) error { return t.t.Delete(key) })
}

// DeleteOnce implements kv.Txn.
func (t *checkedTxn) DeleteOnce(key []byte) error {
	return t.write("DeleteOnce", key, nil, func(key, _ []byte) error { return t.t.DeleteOnce(key) })
}
