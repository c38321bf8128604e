package secondary

import (
	"bytes"
	"context"
	"encoding/base64"
	"slices"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/table"
)

// rowVersion is the version of a row's value, its first byte. After it come the projected
// attributes as members of a JSON object, as they are in the document.
const rowVersion = 1

// wanted are members of documents that indexes look at, taken out in one pass.
type wanted struct{ names []string }

// add adds a member and returns its position.
func (w *wanted) add(name string) int {
	i := slices.Index(w.names, name)
	if i < 0 {
		i = len(w.names)
		w.names = append(w.names, name)
	}
	return i
}

// take returns the values of the members, nil for those that a body has not.
func (w *wanted) take(rev *store.Revision) [][]byte {
	values := make([][]byte, len(w.names))
	missing := len(values)
	for m := jsonscan.MembersOf(rev.Body); missing > 0; {
		name, v, ok := m.Next()
		if !ok {
			break
		}
		for i, n := range w.names {
			if values[i] == nil && jsonscan.NameIs(name, n) {
				values[i] = v
				missing--
				break
			}
		}
	}
	return values
}

// extractor makes the row of a document in one index.
type extractor struct {
	*Def
	db, number  uint64
	partitioned bool
	building    bool
	keys        []int    // positions of the keys' members
	projected   []int    // of the others that rows hold
	quoted      [][]byte // their names as JSON
}

func newExtractor(db uint64, x *index.Index, w *wanted) extractor {
	e := extractor{Def: Of(x), db: db, number: x.Number, partitioned: x.Partitioned, building: x.State == index.Building}
	for _, k := range e.Keys {
		e.keys = append(e.keys, w.add(attribute.Member(k.Name)))
	}
	for _, name := range e.Projected {
		member := attribute.Member(name)
		e.projected = append(e.projected, w.add(member))
		e.quoted = append(e.quoted, jsonscan.AppendQuoted(nil, member))
	}
	return e
}

// row returns the row of a document with these values; ok is false for one that is not in
// the index.
func (e *extractor) row(id document.ID, values [][]byte) (r index.Row, ok bool) {
	var tuple []byte
	for i, at := range e.keys {
		if i > 0 {
			tuple = append(tuple, valueEnd)
		}
		if tuple, ok = appendKey(tuple, e.Keys[i].Type, i, values[at]); !ok {
			return r, false
		}
	}
	partition := ""
	if e.partitioned {
		partition = string(id.Partition())
	}
	key := keyspace.SecondaryRow.Key(e.db, keyspace.U(e.number), keyspace.T(partition), keyspace.T(string(tuple)), keyspace.T(string(id)))
	return index.Row{Key: key, Value: e.value(values)}, true
}

// valueEnd stands between two values of a tuple. It is below all that a longer value could
// have there (document.CompositeID).
const valueEnd = '!'

func (e *extractor) value(values [][]byte) []byte {
	b := []byte{rowVersion}
	if e.Projected == nil {
		return b
	}
	b = append(b, '{')
	for i, at := range e.projected {
		if values[at] == nil {
			continue
		}
		if len(b) > 2 {
			b = append(b, ',')
		}
		b = append(append(append(b, e.quoted[i]...), ':'), values[at]...)
	}
	return append(b, '}')
}

// appendKey appends the value of the key at a position. ok is false if the document has none of
// that type, or one that DynamoDB refuses in keys: an empty one, or one that is too long, as
// documents from before the index may have.
func appendKey(dst []byte, t table.Type, at int, v []byte) (_ []byte, ok bool) {
	value := document.Value{Kind: t.Kind()}
	switch kind := jsonscan.KindOf(v); {
	case t == table.String && kind == jsonscan.String:
		value.Text = string(jsonscan.Text(nil, v))
	case t == table.Number && kind == jsonscan.Number:
		value.Text = string(v)
	case t == table.Binary && kind == jsonscan.Object:
		value.Text = binary(v)
	}
	if value.Text == "" || t != table.Number && len(value.Text) > table.MaxBytes(at) {
		return dst, false
	}
	dst, err := document.AppendValue(dst, value)
	return dst, err == nil
}

// binary returns the bytes of a binary value as documents have it, {"$b": base 64}.
func binary(v []byte) string {
	m := jsonscan.MembersOf(v)
	name, text, _ := m.Next()
	if _, _, more := m.Next(); more || jsonscan.KindOf(text) != jsonscan.String || !jsonscan.NameIs(name, attribute.BinaryMember) {
		return ""
	}
	b, err := base64.StdEncoding.DecodeString(string(jsonscan.Text(nil, text)))
	if err != nil {
		return ""
	}
	return string(b)
}

// Applier is index.Transactional's.
func (Kind) Applier(db uint64, indexes []*index.Index) index.Applier {
	a := &applier{}
	for _, x := range indexes {
		a.indexes = append(a.indexes, newExtractor(db, x, &a.wanted))
	}
	return a
}

// applier keeps all secondary indexes of a database: a document is read once for all.
type applier struct {
	wanted
	indexes []extractor
}

// Slow is index.Applier's.
func (*applier) Slow() bool { return false }

// Derive is index.Applier's.
func (*applier) Derive(context.Context, *store.Revision) (any, error) { return nil, nil }

// Apply is index.Applier's. Rows that stay as they are are not written, but those of an
// index that is being built: the build leaves out what was written meanwhile.
func (a *applier) Apply(tx kv.Txn, before, after *store.Revision, _ any) error {
	var old, now [][]byte
	if before != nil {
		old = a.take(before)
	}
	if after != nil {
		now = a.take(after)
	}
	for i := range a.indexes {
		if err := a.indexes[i].apply(tx, before, after, old, now); err != nil {
			return err
		}
	}
	return nil
}

func (e *extractor) apply(tx kv.Txn, before, after *store.Revision, old, now [][]byte) error {
	var gone, comes index.Row
	was, is := false, false
	if before != nil {
		gone, was = e.row(before.ID, old)
	}
	if after != nil {
		comes, is = e.row(after.ID, now)
	}
	if was && (!is || !bytes.Equal(gone.Key, comes.Key)) {
		if err := tx.Delete(gone.Key); err != nil {
			return err
		}
	}
	if !is || was && !e.building && bytes.Equal(gone.Key, comes.Key) && bytes.Equal(gone.Value, comes.Value) {
		return nil
	}
	return tx.Put(comes.Key, comes.Value)
}

// Rows is index.Transactional's.
func (Kind) Rows(db uint64, x *index.Index) index.RowsOf {
	w := &wanted{}
	e := newExtractor(db, x, w)
	return func(dst []index.Row, rev *store.Revision) ([]index.Row, error) {
		if r, ok := e.row(rev.ID, w.take(rev)); ok {
			dst = append(dst, r)
		}
		return dst, nil
	}
}
