package pebblekv

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// maxIdle bounds the iterators of each use that a state keeps for its next
// readers.
const maxIdle = 16

// use is what an iterator is made for.
type use uint8

const (
	points use = iota // finds single rows
	walks             // walks a range
	uses
)

// idle holds the iterators of a state that nobody uses. To make one costs more
// than a read does, so readers hand them on: each takes one for its get or its
// walk and gives it back. Those for points look at the filters of all levels;
// Pebble's own get leaves that of the last one aside and reads a block to find
// that a key is absent.
//
// An iterator holds on to the files that it was made over. Those that nobody
// uses are therefore closed when the files change (forget), or a server at rest
// would keep on disk what compaction has replaced.
type idle struct {
	sync.Mutex
	by    [uses][]*pebble.Iterator
	files int // how often forget was called
}

// taken is an iterator in use.
type taken struct {
	*pebble.Iterator
	use   use
	files int // what idle.files was before it was made
}

// find calls use with the value of key, which is valid until use returns, and
// reports whether there is one.
func (s *state) find(key []byte, use func(value []byte)) (found bool, err error) {
	it, err := s.take(points)
	if err == nil {
		found, err = it.find(key, use)
	}
	return found, s.found(it, err)
}

// findEach is find for the keys at the given indexes; use is called for those that
// are there.
func (s *state) findEach(keys [][]byte, at []int, use func(i int, value []byte)) error {
	it, err := s.take(points)
	for n := 0; err == nil && n < len(at); n++ {
		_, err = it.find(keys[at[n]], func(value []byte) { use(at[n], value) })
	}
	return s.found(it, err)
}

// find is state.find by one iterator.
func (t *taken) find(key []byte, use func(value []byte)) (bool, error) {
	if !t.SeekPrefixGE(key) { // the prefix is the whole key
		return false, t.Error()
	}
	value, err := t.ValueAndErr()
	if err == nil {
		use(value)
	}
	return err == nil, err
}

// found ends searches, of which the last one ended with err.
func (s *state) found(it taken, err error) error {
	if err == nil {
		return s.giveBack(it)
	}
	if it.Iterator != nil {
		_ = it.Close() // says the same
	}
	return err
}

// walk returns an iterator over a range, whose start is not after its end.
func (s *state) walk(start, end []byte) (taken, error) {
	it, err := s.take(walks)
	if err == nil {
		it.SetBounds(start, end)
	}
	return it, err
}

func (s *state) take(u use) (taken, error) {
	p := &s.idle
	p.Lock()
	it := taken{use: u, files: p.files}
	if last := len(p.by[u]) - 1; last >= 0 {
		it.Iterator, p.by[u] = p.by[u][last], p.by[u][:last]
	}
	p.Unlock()
	if it.Iterator != nil {
		return it, nil
	}
	var err error
	it.Iterator, err = s.snap.NewIter(&pebble.IterOptions{UseL6Filters: u == points})
	return it, err
}

// giveBack keeps an iterator for the next reader, unless it has failed.
func (s *state) giveBack(it taken) error {
	p := &s.idle
	failed := it.Error() != nil
	p.Lock()
	keep := !failed && p.files == it.files && len(p.by[it.use]) < maxIdle
	if keep {
		p.by[it.use] = append(p.by[it.use], it.Iterator)
	}
	p.Unlock()
	if keep {
		return nil
	}
	return it.Close()
}

// forget closes the iterators that nobody uses; the others are closed when they
// are given back.
func (p *idle) forget() {
	p.Lock()
	by := p.by
	p.by = [uses][]*pebble.Iterator{}
	p.files++
	p.Unlock()
	for _, its := range by {
		for _, it := range its {
			_ = it.Close() // what it could tell, its last reader was told
		}
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
