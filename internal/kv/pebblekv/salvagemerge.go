package pebblekv

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"slices"

	"github.com/sectional/sectional/internal/kv"
)

// listed is a source in memory.
type listed struct{ rest []salvagedEntry }

func (l *listed) next() *salvagedEntry {
	if len(l.rest) == 0 {
		return nil
	}
	e := &l.rest[0]
	l.rest = l.rest[1:]
	return e
}

func (l *listed) close() {}

// merged is a heap of sources by their next entries.
type merged []*merging

type merging struct {
	entries
	age     uint64
	current salvagedEntry
}

func (m merged) Len() int { return len(m) }
func (m merged) Less(i, j int) bool {
	return cmp.Or(compareEntries(m[i].current, m[j].current), cmp.Compare(m[j].age, m[i].age)) < 0
}
func (m merged) Swap(i, j int) { m[i], m[j] = m[j], m[i] }

// Push implements heap.Interface.
func (m *merged) Push(x any) { *m = append(*m, x.(*merging)) }

// Pop implements heap.Interface.
func (m *merged) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}

// salvageBytes is how much is written in one transaction: it becomes tables.
const salvageBytes = 8 << 20

// write writes the newest value of each key.
func (s *salvage) write(ctx context.Context, to kv.Engine, progress func(rows int)) error {
	var rows []salvagedEntry
	size := 0
	flush := func() error {
		err := to.Update(ctx, func(tx kv.Txn) error {
			for _, r := range rows {
				if err := tx.Put(r.key, r.value); err != nil {
					return err
				}
			}
			return nil
		})
		s.found.Rows += len(rows)
		rows, size = rows[:0], 0
		progress(s.found.Rows)
		return err
	}
	for e := range s.newest {
		rows = append(rows, e)
		if size += len(e.key) + len(e.value); size >= salvageBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// newest yields the newest value of each key that is not deleted. Tables are opened when their turn comes.
func (s *salvage) newest(yield func(salvagedEntry) bool) {
	slices.SortFunc(s.sources, func(a, b source) int { return bytes.Compare(a.first, b.first) })
	slices.SortFunc(s.ranges, func(a, b deletedRange) int { return bytes.Compare(a.start, b.start) })
	var m merged
	var over []deletedRange // those that the key lies in, or has passed
	defer func() {
		for _, source := range m {
			source.close()
		}
	}()
	var last []byte
	for begun := false; ; {
		for len(s.sources) > 0 && (len(m) == 0 || bytes.Compare(s.sources[0].first, m[0].current.key) <= 0) {
			s.begin(&m, s.sources[0])
			s.sources = s.sources[1:]
		}
		if len(m) == 0 {
			return
		}
		e := m[0].current
		if next := m[0].next(); next != nil {
			m[0].current = *next
			heap.Fix(&m, 0)
		} else {
			heap.Pop(&m).(*merging).close()
		}
		if begun && bytes.Equal(e.key, last) {
			continue
		}
		begun, last = true, e.key
		for len(s.ranges) > 0 && bytes.Compare(s.ranges[0].start, e.key) <= 0 {
			over, s.ranges = append(over, s.ranges[0]), s.ranges[1:]
		}
		over = slices.DeleteFunc(over, func(r deletedRange) bool { return bytes.Compare(r.end, e.key) <= 0 })
		deleted := slices.ContainsFunc(over, func(r deletedRange) bool { return r.sequence > e.sequence })
		if e.put && !deleted && !yield(e) {
			return
		}
	}
}

// begin adds a source to those that are read.
func (s *salvage) begin(m *merged, from source) {
	opened, err := from.open()
	if err != nil {
		s.lost("The table %06d can't be read: %v", from.age, err)
		return
	}
	e := opened.next()
	if e == nil {
		opened.close()
		return
	}
	heap.Push(m, &merging{entries: opened, age: from.age, current: *e})
}
