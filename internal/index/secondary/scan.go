package secondary

import (
	"bytes"
	"iter"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/table"
)

// Span is a range of an index's rows.
type Span struct {
	Partition document.Partition // of a local index; "", and no Hash, for all of them
	// Hash is the text of the first key, "" for all rows of the index; the bounds are of
	// the second.
	Hash      string
	Low, High Bound
	// Begins, if it is not "", is what strings and binary values of the second key begin
	// with. It excludes the bounds.
	Begins string
}

// Bound is an end of a range of values.
type Bound struct {
	Text      string // strings, numbers in JSON's grammar, bytes
	Exclusive bool
	Set       bool
}

// Position is where a row of an index is: after it the next one comes. Keys are the texts
// of the index's key.
type Position struct {
	Keys []string
	ID   document.ID
}

// Entry is a row of an index.
type Entry struct {
	ID document.ID
	// Attributes are the projected ones, a JSON object as documents have them; nil in an
	// index that projects all. They are borrowed until the next step.
	Attributes []byte
	Size       int // bytes of key and value
}

// errRow is a row that can't be read.
var errRow = dberr.New(dberr.Internal, "", "a row of a secondary index is damaged")

// Walk returns the rows of a span in an index, from small to large or, descending, the
// other way round; those after a position if one is given. Documents that the reader may
// not show are among them. Errors: Invalid for texts that are no values.
func Walk(r *store.Reader, x *index.Index, s Span, after *Position, descending bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		db := r.Database().Number()
		rg, err := Of(x).rangeOf(db, x.Number, s)
		if err == nil && after != nil {
			if x.Partitioned {
				s.Partition = after.ID.Partition()
			}
			err = Of(x).cut(&rg, db, x.Number, s, after, descending)
		}
		if err == nil && bytes.Compare(rg.Start, rg.End) < 0 {
			err = walk(r, rg, descending, yield)
		}
		if err != nil {
			yield(Entry{}, err)
		}
	}
}

// walk gives the rows of a range to yield until it has enough.
func walk(r *store.Reader, rg kv.Range, descending bool, yield func(Entry, error) bool) error {
	it, err := r.Snapshot().Iterate(rg, kv.IterOptions{Reverse: descending})
	if err != nil {
		return err
	}
	defer it.Close()
	var parts []keyspace.Part
	for it.Next() {
		value, err := it.Value()
		if err != nil {
			return err
		}
		if _, parts, err = keyspace.SecondaryRow.DecodeInto(parts[:0], it.Key()); err != nil {
			return err
		}
		if len(value) == 0 || value[0] != rowVersion {
			return errRow
		}
		e := Entry{ID: document.ID(parts[3].String()), Size: len(it.Key()) + len(value)}
		if len(value) > 1 {
			e.Attributes = value[1:]
		}
		if !yield(e, nil) {
			return nil
		}
	}
	return it.Err()
}

// rangeOf returns the keys of a span.
func (d *Def) rangeOf(db, number uint64, s Span) (kv.Range, error) {
	parts := []keyspace.Part{keyspace.U(number), keyspace.T(string(s.Partition))}
	if s.Hash == "" && s.Partition == "" {
		parts = parts[:1] // of a local index too, whose partitions are in order
	}
	if s.Hash == "" {
		return kv.Prefix(keyspace.SecondaryRow.Key(db, parts...)), nil
	}
	hash, err := d.appendText(nil, 0, s.Hash)
	if err != nil {
		return kv.Range{}, err
	}
	if len(d.Keys) == 1 {
		return kv.Prefix(keyspace.SecondaryRow.Key(db, append(parts, keyspace.T(string(hash)))...)), nil
	}
	hash = append(hash, valueEnd)
	if s.Begins != "" && d.Keys[1].Type != table.Binary {
		begins, err := d.appendText(hash, 1, s.Begins)
		return kv.Prefix(keyspace.SecondaryRow.TextPrefix(db, string(begins), parts...)), err
	}
	if s.Begins != "" {
		s.Low, s.High = beginsWith(s.Begins)
	}
	rg := kv.Prefix(keyspace.SecondaryRow.TextPrefix(db, string(hash), parts...))
	if s.Low.Set {
		if rg.Start, err = d.edge(hash, db, parts, s.Low.Text, s.Low.Exclusive); err != nil {
			return rg, err
		}
	}
	if s.High.Set {
		rg.End, err = d.edge(hash, db, parts, s.High.Text, !s.High.Exclusive)
	}
	return rg, err
}

// edge is the key before all rows with a value of the second key, or after them.
func (d *Def) edge(hash []byte, db uint64, parts []keyspace.Part, text string, behind bool) ([]byte, error) {
	tuple, err := d.appendText(bytes.Clone(hash), 1, text)
	if err != nil {
		return nil, err
	}
	key := keyspace.SecondaryRow.Key(db, append(parts[:2:2], keyspace.T(string(tuple)))...)
	if behind {
		key = kv.PrefixEnd(key)
	}
	return key, nil
}

// beginsWith returns the bounds of the bytes that begin with some: of binary values the
// texts in keys, six bits a character, do not begin with each other.
func beginsWith(text string) (low, high Bound) {
	low = Bound{Text: text, Set: true}
	if end := kv.PrefixEnd([]byte(text)); end != nil {
		high = Bound{Text: string(end), Exclusive: true, Set: true}
	}
	return low, high
}

func (d *Def) appendText(dst []byte, key int, text string) ([]byte, error) {
	return document.AppendValue(dst, document.Value{Kind: d.Keys[key].Type.Kind(), Text: text})
}

// cut leaves of a range what comes after a position.
func (d *Def) cut(rg *kv.Range, db, number uint64, s Span, after *Position, descending bool) (err error) {
	var tuple []byte
	for i, text := range after.Keys {
		if i > 0 {
			tuple = append(tuple, valueEnd)
		}
		if tuple, err = d.appendText(tuple, i, text); err != nil {
			return err
		}
	}
	key := keyspace.SecondaryRow.Key(db, keyspace.U(number), keyspace.T(string(s.Partition)), keyspace.T(string(tuple)), keyspace.T(string(after.ID)))
	switch {
	case descending && bytes.Compare(key, rg.End) < 0:
		rg.End = key
	case !descending && bytes.Compare(key, rg.Start) >= 0:
		rg.Start = append(key, 0)
	}
	return nil
}
