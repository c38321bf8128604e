package pebblekv

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// age says when a snapshot is too old to be read.
type age struct {
	now   func() time.Time
	begun time.Time
	limit time.Duration
}

func (e *Engine) newAge() age {
	return age{now: e.now, begun: e.now(), limit: e.limits.Age}
}

func (a *age) check() error {
	if a.now().Sub(a.begun) > a.limit {
		return dberr.New(dberr.SnapshotTooOld, "", "The snapshot is older than %v.", a.limit)
	}
	return nil
}

// snapshot is what a View and a txn read from.
type snapshot struct {
	ctx   context.Context
	state *state
	age   age
}

// viewed is the snapshot of a View.
type viewed struct{ snapshot }

var _ kv.Versioned = (*viewed)(nil)

// Version implements kv.Versioned: every commit leaves another state.
func (v *viewed) Version() uint64 { return v.state.n }

// Get implements kv.Snapshot.
func (s *snapshot) Get(key []byte) ([]byte, error) {
	if err := s.age.check(); err != nil {
		return nil, err
	}
	var out []byte
	found, err := s.state.find(key, func(value []byte) {
		out = make([]byte, len(value))
		copy(out, value)
	})
	if err == nil && !found {
		return nil, kv.ErrNotFound
	}
	return out, dberr.Wrap("pebblekv.Get", err)
}

// GetMany implements kv.Snapshot. To go through the keys in their order would cost
// more than it saves.
func (s *snapshot) GetMany(keys [][]byte) ([][]byte, error) {
	values := make([][]byte, len(keys))
	return values, s.fill(values, keys, all(len(keys)))
}

// all returns the indexes below n.
func all(n int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	return at
}

// fill puts the stored values of the keys at the given indexes into values.
func (s *snapshot) fill(values, keys [][]byte, at []int) error {
	var room room
	for page := range slices.Chunk(at, checkEvery) {
		if err := s.age.check(); err != nil {
			return err
		}
		if err := s.ctx.Err(); err != nil {
			return err
		}
		err := s.state.findEach(keys, page, func(i int, value []byte) { values[i] = room.keep(value) })
		if err != nil {
			return dberr.Wrap("pebblekv.GetMany", err)
		}
	}
	return nil
}

// Read implements kv.Snapshot.
func (s *snapshot) Read(r kv.Reads) (kv.Found, error) { return kv.ReadEach(s, r) }

// Iterate implements kv.Snapshot.
func (s *snapshot) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	it, err := s.iterate(r, o)
	if err != nil {
		return nil, err
	}
	return it, nil
}

func (s *snapshot) iterate(r kv.Range, o kv.IterOptions) (*iterator, error) {
	if err := s.age.check(); err != nil {
		return nil, err
	}
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	if r.End != nil && bytes.Compare(r.Start, r.End) >= 0 {
		r.End = r.Start // Pebble wants Start ≤ End
	}
	p, err := s.state.walk(r.Start, r.End)
	if err != nil {
		return nil, dberr.Wrap("pebblekv.Iterate", err)
	}
	return &iterator{p: p, s: s, reverse: o.Reverse}, nil
}
