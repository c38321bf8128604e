package pebblekv

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// maxIdle bounds the iterators that a state keeps for its next readers.
const maxIdle = 16

// points are the iterators that find single rows of a state. To make one costs
// more than a read does, so readers hand them on: each takes one for its get and
// gives it back. They look at the filters of all levels; Pebble's own get leaves
// that of the last one aside and reads a block to find that a key is absent.
//
// An iterator holds on to the files that it was made over. Those that nobody
// uses are therefore closed when the files change (forget), or a server at rest
// would keep on disk what compaction has replaced.
type points struct {
	sync.Mutex
	idle  []*pebble.Iterator
	files int // how often forget was called
}

// point is an iterator in use.
type point struct {
	*pebble.Iterator
	files int // what points.files was before it was made
}

// find calls use with the value of key, which is valid until use returns, and
// reports whether there is one.
func (s *state) find(key []byte, use func(value []byte)) (found bool, err error) {
	it, err := s.take()
	if err != nil {
		return false, err
	}
	if it.SeekPrefixGE(key) { // the prefix is the whole key
		var value []byte
		if value, err = it.ValueAndErr(); err == nil {
			use(value)
			found = true
		}
	}
	if err == nil {
		err = it.Error()
	}
	if err != nil {
		_ = it.Close() // says the same
		return false, err
	}
	return found, s.giveBack(it)
}

func (s *state) take() (point, error) {
	p := &s.points
	p.Lock()
	taken := point{files: p.files}
	if last := len(p.idle) - 1; last >= 0 {
		taken.Iterator, p.idle = p.idle[last], p.idle[:last]
	}
	p.Unlock()
	if taken.Iterator != nil {
		return taken, nil
	}
	var err error
	taken.Iterator, err = s.snap.NewIter(&pebble.IterOptions{UseL6Filters: true})
	return taken, err
}

// giveBack keeps an iterator for the next reader.
func (s *state) giveBack(it point) error {
	p := &s.points
	p.Lock()
	keep := p.files == it.files && len(p.idle) < maxIdle
	if keep {
		p.idle = append(p.idle, it.Iterator)
	}
	p.Unlock()
	if keep {
		return nil
	}
	return it.Close()
}

// forget closes the iterators that nobody uses; the others are closed when they
// are given back.
func (p *points) forget() {
	p.Lock()
	idle := p.idle
	p.idle = nil
	p.files++
	p.Unlock()
	for _, it := range idle {
		_ = it.Close() // what it could tell, its last reader was told
	}
}

// filesChanged lets go of the files that the newest states' idle iterators hold.
// Pebble calls it with its own mutex held, which closing an iterator may take,
// so the work is done beside it.
func (e *Engine) filesChanged() {
	go func() {
		if !e.open.TryRLock() {
			return // Close closes them
		}
		defer e.open.RUnlock()
		e.states.forget()
	}()
}
