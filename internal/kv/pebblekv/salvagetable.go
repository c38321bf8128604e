package pebblekv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
)

// addTable reads where a table begins, and the ranges that it deletes.
func (s *salvage) addTable(t table) {
	s.found.Tables++
	r, err := s.openTable(t)
	if err != nil {
		s.lost("The table %06d can't be read: %v", t.file, err)
		return
	}
	defer r.Close()
	if err := s.addRanges(t, r); err != nil {
		s.lost("The ranges that the table %06d deletes can't be read: %v", t.file, err)
	}
	it, err := r.NewIter(t.transforms(), nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		s.lost("The table %06d can't be read: %v", t.file, err)
		return
	}
	defer it.Close()
	first := []byte{} // where its first block can't be read, it is read from the beginning
	if e := it.First(); e != nil {
		first = bytes.Clone(e.K.UserKey)
	} else if it.Error() == nil {
		return // it has ranges alone
	}
	s.sources = append(s.sources, source{first: first, age: t.file, open: func() (entries, error) { return s.readTable(t) }})
}

func (t *table) transforms() sstable.IterTransforms {
	return sstable.IterTransforms{SyntheticSeqNum: sstable.SyntheticSeqNum(t.sequence())}
}

func (s *salvage) openTable(t table) (*sstable.Reader, error) {
	file, err := s.fs.Open(s.fs.PathJoin(s.dir, tableName(t.file)))
	if err != nil {
		return nil, err
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	o := Options{}.pebble(s.fs, nil, nil)
	o.EnsureDefaults()
	r, err := sstable.NewReader(context.Background(), readable, o.MakeReaderOptions())
	if err != nil {
		return nil, errors.Join(err, readable.Close())
	}
	return r, nil
}

// addRanges adds the ranges that a table deletes.
func (s *salvage) addRanges(t table, r *sstable.Reader) error {
	it, err := r.NewRawRangeDelIter(context.Background(), sstable.FragmentIterTransforms{SyntheticSeqNum: sstable.SyntheticSeqNum(t.sequence())}, sstable.NoReadEnv)
	if err != nil || it == nil {
		return err
	}
	defer it.Close()
	span, err := it.First()
	for ; span != nil; span, err = it.Next() {
		start, end := span.Start, span.End
		if t.virtual {
			smallest, _ := userKey(t.smallest)
			largest, _ := userKey(t.largest)
			start = slices.MaxFunc([][]byte{start, smallest}, bytes.Compare)
			end = slices.MinFunc([][]byte{end, largest}, bytes.Compare)
		}
		if len(span.Keys) > 0 && bytes.Compare(start, end) < 0 { // the newest is first
			s.ranges = append(s.ranges, deletedRange{bytes.Clone(start), bytes.Clone(end), uint64(span.Keys[0].SeqNum())})
		}
	}
	return err
}

// tableEntries reads a table.
type tableEntries struct {
	s       *salvage
	t       table
	r       *sstable.Reader
	it      sstable.Iterator
	current salvagedEntry
	begun   bool
	skipped bool // a part that can't be read
}

func (s *salvage) readTable(t table) (entries, error) {
	r, err := s.openTable(t)
	if err != nil {
		return nil, err
	}
	it, err := r.NewIter(t.transforms(), nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &tableEntries{s: s, t: t, r: r, it: it}, nil
}

func (e *tableEntries) close() {
	_ = e.it.Close() // it was read alone
	_ = e.r.Close()
}

func (e *tableEntries) next() *salvagedEntry {
	for {
		next := e.it.First
		if e.begun {
			next = e.it.Next
		}
		e.begun = true
		kv := next()
		for kv == nil {
			if e.it.Error() == nil {
				return nil
			}
			from := e.behind(e.it.Error())
			if from == nil {
				return nil
			}
			kv = e.it.SeekGE(from, 0)
		}
		if !e.t.holds(kv.K.UserKey) {
			continue
		}
		value, _, err := kv.Value(nil)
		if err != nil {
			e.s.lost("A value of the table %06d can't be read: %v", e.t.file, err)
			continue
		}
		e.current = salvagedEntry{key: bytes.Clone(kv.K.UserKey), sequence: uint64(kv.K.SeqNum())}
		switch kv.K.Kind() {
		case pebble.InternalKeyKindSet, pebble.InternalKeyKindSetWithDelete:
			e.current.put, e.current.value = true, bytes.Clone(value)
		}
		return &e.current
	}
}

// behind returns the first key behind the last block that can't be read, nil if there is none.
func (e *tableEntries) behind(cause error) []byte {
	if e.skipped {
		e.s.lost("The table %06d can't be read further: %v", e.t.file, cause)
		return nil
	}
	e.skipped = true
	last := e.current.key
	var from []byte
	for kv := e.it.Last(); kv != nil && bytes.Compare(kv.K.UserKey, last) > 0; kv = e.it.Prev() {
		from = append(from[:0], kv.K.UserKey...)
	}
	if from == nil {
		e.s.lost("The table %06d can't be read after the key %q: %v", e.t.file, last, cause)
		return nil
	}
	e.s.lost("The table %06d can't be read between the keys %q and %q: %v", e.t.file, last, from, cause)
	return from
}

// tableName returns the name of the file of a table.
func tableName(file uint64) string { return fmt.Sprintf("%06d.sst", file) }
