package pgkv

import "github.com/sectional/sectional/internal/kv"

// pages are the first pages of several walks, which are read in one trip: those that go up by
// one statement, those that go down by another.
type pages struct {
	its      []*iterator
	up, down []*iterator
}

// newPages returns iterators that are fed once the calls were made.
func newPages(r *reader, walks []kv.Walk) *pages {
	p := &pages{its: make([]*iterator, len(walks))}
	for i, w := range walks {
		it := newIterator(r, w.Range, w.IterOptions)
		it.fed, it.limit = true, it.first
		it.low, it.high = it.start, it.end // so that a Seek looks there first
		if p.its[i] = it; w.Reverse {
			p.down = append(p.down, it)
		} else {
			p.up = append(p.up, it)
		}
	}
	return p
}

func (p *pages) reset() {
	for _, it := range p.its {
		it.empty()
	}
}

// calls returns what reads the pages.
func (p *pages) calls() (calls []call) {
	if len(p.up) > 0 {
		calls = append(calls, pagesOf(stAscend, p.up))
	}
	if len(p.down) > 0 {
		calls = append(calls, pagesOf(stDescend, p.down))
	}
	return calls
}

// pagesOf is the call that reads the first pages of iterators.
func pagesOf(name string, its []*iterator) call {
	lows, highs, most := make([][]byte, len(its)), make([][]byte, len(its)), make([][]byte, len(its))
	for i, it := range its {
		lows[i], highs[i], most[i] = it.start, it.end, int8Of(int64(it.limit))
	}
	return call{name: name, args: [][]byte{array(oidBytea, lows), array(oidBytea, highs), array(oidInt8, most)}, row: func(values [][]byte) {
		its[int8From(values[0])-1].take(values[1:])
	}}
}
