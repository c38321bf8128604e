package field

import (
	"bytes"
	"iter"
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/store"
)

// Span is a range of encoded tuples: From ≤ tuple < To; a nil To is no bound.
type Span struct{ From, To []byte }

// Bound is an end of a range of values of one column.
type Bound struct {
	Value     []byte // JSON; nil for no bound
	Exclusive bool   // Value itself lies outside
}

// null is the least value that a field may have.
var null = []byte("null")

// Span returns the tuples that begin with prefix (encoded values of the columns
// before) and whose value of the column is there and lies between low and high. It
// may be a little wider than that, never narrower.
func (d *Def) Span(prefix []byte, column int, low, high Bound) (Span, error) {
	if low.Value == nil && d.Optional(column) {
		low = Bound{Value: null}
	}
	if d.inverted(column) {
		low, high = high, low
	}
	from, err := d.edge(prefix, column, low, low.Exclusive)
	if err != nil {
		return Span{}, err
	}
	to, err := d.edge(prefix, column, high, !high.Exclusive)
	if err != nil {
		return Span{}, err
	}
	s := Span{From: from, To: to}
	if from == nil {
		s.From = prefix
	}
	if to == nil {
		s.To = kv.PrefixEnd(prefix)
	}
	return s.widened(), nil
}

// edge is the tuple at which a bound lies, before or after all tuples with its
// value; nil for no bound.
func (d *Def) edge(prefix []byte, column int, b Bound, behind bool) ([]byte, error) {
	if b.Value == nil {
		return nil, nil
	}
	t, err := d.AppendValue(bytes.Clone(prefix), column, b.Value)
	if err != nil {
		return nil, err
	}
	if behind {
		t = kv.PrefixEnd(t)
	}
	return t, nil
}

// Equal returns the tuples that begin with the encoded values prefix.
func Equal(prefix []byte) Span {
	return Span{From: prefix, To: kv.PrefixEnd(prefix)}.widened()
}

// widened makes room for tuples that are cut.
func (s Span) widened() Span {
	if len(s.From) > maxTuple {
		s.From = s.From[:maxTuple]
	}
	if len(s.To) > maxTuple {
		s.To = kv.PrefixEnd(s.To[:maxTuple])
	}
	return s
}

// Empty reports whether no tuple lies in the span.
func (s Span) Empty() bool { return s.To != nil && bytes.Compare(s.From, s.To) >= 0 }

// Contains reports whether a tuple lies in the span.
func (s Span) Contains(tuple []byte) bool {
	return bytes.Compare(tuple, s.From) >= 0 && (s.To == nil || bytes.Compare(tuple, s.To) < 0)
}

// Overflow is the span of the documents that have too many elements for rows of
// their own. A query over elements reads it besides its own spans.
func Overflow() Span { return Span{From: []byte{overflow}} }

// Range returns the rows of a span in an index; partition is "" for a global one.
func (s Span) Range(db uint64, x *index.Index, partition document.Partition) kv.Range {
	parts := []keyspace.Part{keyspace.U(x.Number), keyspace.T(string(partition))}
	within := kv.Prefix(keyspace.FieldRow.Key(db, parts...))
	r := kv.Range{Start: keyspace.FieldRow.TextPrefix(db, string(s.From), parts...), End: within.End}
	if s.To != nil {
		r.End = keyspace.FieldRow.TextPrefix(db, string(s.To), parts...)
	}
	return r
}

// Entry is a row of a field index.
type Entry struct {
	ID    document.ID
	Tuple []byte // the encoded values
	// Values are the columns' values and after them the included fields, as
	// JSON; nil where the document has none. They are missing altogether
	// unless Whole. Those of an entry that Walk gave are borrowed until its next step.
	Values [][]byte
	Whole  bool
	Size   int // bytes of key and value
}

// Decode reads a row. The entry refers to value.
func (d *Def) Decode(key, value []byte) (Entry, error) {
	_, parts, err := keyspace.FieldRow.Decode(key)
	if err != nil {
		return Entry{}, err
	}
	return d.entry(parts, value, nil)
}

// entry makes the entry of a row; values is the memory of its Values.
func (d *Def) entry(parts []keyspace.Part, value []byte, values [][]byte) (Entry, error) {
	e := Entry{ID: document.ID(parts[3].String()), Tuple: []byte(parts[2].String())}
	r, _ := packed.ReadUpTo(value, rowLacking)
	if e.Whole = r.Byte()&flagPartial == 0; !e.Whole {
		return e, r.Err()
	}
	e.Values = slices.Grow(values[:0], len(d.Columns)+len(d.Include))
	for range len(d.Columns) + len(d.Include) {
		v := r.Bytes()
		if len(v) == 0 {
			v = nil
		}
		e.Values = append(e.Values, v)
	}
	return e, r.Err()
}

// RowKey says where a row of an index is.
type RowKey struct {
	Tuple []byte
	ID    document.ID
}

// Walk returns the rows of a span in an index, in the partition of the reader's
// scope (that which a tenant takes for a database, if the index is the database's)
// or in a global index, from small to large or, descending, the other way
// round; those after a position if one is given. Documents that the reader may
// not show are among them.
func Walk(r *store.Reader, x *index.Index, s Span, after *RowKey, descending bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		partition, shown := document.Partition(""), yield
		if x.Partitioned {
			partition = r.Partition()
		}
		if p := r.Tenant(); p != "" && x.Partitioned {
			partition = p
			if after != nil {
				after = &RowKey{after.Tuple, r.Stored(after.ID)}
			}
			shown = func(e Entry, err error) bool {
				if err == nil {
					e.ID, _ = r.Shown(e.ID)
				}
				return yield(e, err)
			}
		}
		db := r.Database().Number()
		rg := s.Range(db, x, partition)
		if after != nil {
			key := keyspace.FieldRow.Key(db, keyspace.U(x.Number), keyspace.T(string(partition)), keyspace.T(string(after.Tuple)), keyspace.T(string(after.ID)))
			if descending {
				rg.End = key
			} else {
				rg.Start = append(key, 0)
			}
		}
		if bytes.Compare(rg.Start, rg.End) >= 0 {
			return
		}
		if err := walk(r, Of(x), rg, descending, shown); err != nil {
			yield(Entry{}, err)
		}
	}
}

func walk(r *store.Reader, d *Def, rg kv.Range, descending bool, yield func(Entry, error) bool) error {
	it, err := r.Snapshot().Iterate(rg, kv.IterOptions{Reverse: descending})
	if err != nil {
		return err
	}
	defer it.Close()
	var parts []keyspace.Part
	var values [][]byte
	for it.Next() {
		if _, parts, err = keyspace.FieldRow.DecodeInto(parts[:0], it.Key()); err != nil {
			return err
		}
		value, err := it.Borrow()
		if err != nil {
			return err
		}
		e, err := d.entry(parts, value, values)
		values = e.Values
		if err != nil {
			return err
		}
		e.Size = len(it.Key()) + len(value)
		if !yield(e, nil) {
			return nil
		}
	}
	return it.Err()
}

// First reports whether a row is the one that stands for its document in a query
// over several rows of a document: the first of the document's rows that lie in
// the query's spans, in the order in which the query reads them. Spans are in
// that order; descending says that each is read from its end.
func First(x *index.Index, rev *store.Revision, tuple []byte, spans []Span, descending bool) (bool, error) {
	tuples, err := tuplesOf(x, rev)
	if err != nil {
		return false, err
	}
	slices.SortFunc(tuples, bytes.Compare)
	if descending {
		slices.Reverse(tuples)
	}
	for _, s := range spans {
		for _, t := range tuples {
			if s.Contains(t) {
				return bytes.Equal(t, tuple), nil
			}
		}
	}
	return false, nil
}

// Holds reports whether one of a document's rows lies in the spans.
func Holds(x *index.Index, rev *store.Revision, spans []Span) (bool, error) {
	tuples, err := tuplesOf(x, rev)
	return slices.ContainsFunc(spans, func(s Span) bool { return slices.ContainsFunc(tuples, s.Contains) }), err
}

// tuplesOf returns the encoded values of a document's rows.
func tuplesOf(x *index.Index, rev *store.Revision) ([][]byte, error) {
	rows, err := Kind{}.Rows(0, x)(nil, rev)
	if err != nil {
		return nil, err
	}
	tuples := make([][]byte, 0, len(rows))
	for _, r := range rows {
		e, err := Of(x).Decode(r.Key, r.Value)
		if err != nil {
			return nil, err
		}
		tuples = append(tuples, e.Tuple)
	}
	return tuples, nil
}
