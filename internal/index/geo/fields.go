package geo

import (
	"bytes"
	"context"
	"errors"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

// Fields is the kind of indexes by a field: a document is in the index if
// the field holds a geometry. It is kept in the transactions of the writers; where the
// geometry lies is worked out before.
type Fields struct{}

// FieldsName is the kind's word in stored rows.
const FieldsName = "geo-field"

var _ index.Transactional = Fields{}

// FieldDef is a definition of an index by a field.
type FieldDef struct {
	Name   string // as the definition spells it
	Path   *selector.Path
	source []byte
}

// Source returns the definition as JSON.
func (d *FieldDef) Source() []byte { return d.source }

// FieldOf returns the definition of an index of the kind.
func FieldOf(x *index.Index) *FieldDef { return x.Opened.(*FieldDef) }

// Name is index.Kind's.
func (Fields) Name() string { return FieldsName }

// Prefixes is index.Kind's.
func (Fields) Prefixes(db, number uint64) [][]byte { return prefixes(db, number) }

// Open is index.Kind's: it returns a *FieldDef.
func (Fields) Open(source []byte) (any, error) { return ParseFields(source) }

var errFields = dberr.New(dberr.Invalid, "invalid_index", "A geo index has one field: {\"fields\": [name]}.")

// ParseFields reads a definition: {"fields": [name]}.
func ParseFields(source []byte) (*FieldDef, error) {
	if jsonscan.KindOf(source) != jsonscan.Object {
		return nil, errFields
	}
	fields, _ := jsonscan.Member(source, "fields")
	if jsonscan.KindOf(fields) != jsonscan.Array || jsonscan.Len(fields) != 1 {
		return nil, errFields
	}
	it := jsonscan.ElementsOf(fields)
	name, _ := it.Next()
	if textOf(name) == "" {
		return nil, errFields
	}
	path, err := selector.ParsePath(textOf(name))
	if err != nil {
		return nil, err
	}
	return &FieldDef{Name: textOf(name), Path: path, source: source}, nil
}

// Defined is index.Kind's: those st_indexes of a design document in the language query
// whose index is a definition instead of a function.
func (Fields) Defined(d index.Design) (defs []index.Definition) {
	if language, _ := jsonscan.Member(d.Body, "language"); textOf(language) != "query" {
		return nil
	}
	eachIndex(d.Body, func(name string, definition []byte) {
		source, _ := jsonscan.Member(definition, "index")
		if _, err := ParseFields(source); err == nil {
			defs = append(defs, index.Definition{Name: name, Partitioned: d.Partitioned, Source: bytes.Clone(source)})
		}
	})
	return defs
}

// Applier is index.Transactional's.
func (Fields) Applier(db uint64, indexes []*index.Index) index.Applier {
	a := &applier{}
	for _, x := range indexes {
		a.indexes = append(a.indexes, fieldIndex{layoutOf(db, x), FieldOf(x), x.State == index.Building})
	}
	return a
}

// Rows is index.Transactional's.
func (Fields) Rows(db uint64, x *index.Index) index.RowsOf {
	f := fieldIndex{layout: layoutOf(db, x), def: FieldOf(x)}
	return func(dst []index.Row, rev *store.Revision) ([]index.Row, error) { return f.rowsOf(dst, rev), nil }
}

// Document is index.Transactional's.
func (Fields) Document(key []byte) (document.ID, error) {
	if _, parts, err := keyspace.GeoBack.Decode(key); err == nil {
		return document.ID(parts[1].String()), nil
	}
	_, parts, err := keyspace.GeoRow.Decode(key)
	if err != nil {
		return "", err
	}
	return document.ID(parts[4].String()), nil
}

// fieldIndex is an index by a field.
type fieldIndex struct {
	layout
	def *FieldDef
	// building says that rows may be missing still: the build leaves to the writers what
	// they change beside it.
	building bool
}

// value is the field of a revision, nil for none.
func (f *fieldIndex) value(rev *store.Revision) []byte {
	if rev == nil {
		return nil
	}
	doc := selector.Doc{ID: string(rev.ID), Body: rev.Body}
	return doc.Lookup(f.def.Path)
}

// rowsOf appends the rows of a document.
func (f *fieldIndex) rowsOf(dst []index.Row, rev *store.Revision) []index.Row {
	json := f.value(rev)
	if jsonscan.KindOf(json) != jsonscan.Object {
		return dst
	}
	g, err := place(bytes.Clone(json))
	if err != nil {
		return dst // it is no geometry
	}
	return f.rows(dst, rev.ID, &back{geometries: []placed{g}})
}

// applier keeps the indexes by fields of a database.
type applier struct{ indexes []fieldIndex }

// Slow is index.Applier's: to cover a geometry takes long.
func (*applier) Slow() bool { return true }

// Derive is index.Applier's: it returns the rows in each index.
func (a *applier) Derive(ctx context.Context, rev *store.Revision) (any, error) {
	all := make([][]index.Row, len(a.indexes))
	for i := range a.indexes {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		all[i] = a.indexes[i].rowsOf(nil, rev)
	}
	return all, nil
}

// Apply is index.Applier's.
func (a *applier) Apply(tx kv.Txn, before, after *store.Revision, derived any) error {
	rows, _ := derived.([][]index.Row) // nil if nobody has worked them out
	for i := range a.indexes {
		f := &a.indexes[i]
		now := f.value(after)
		if !f.building && before != nil && after != nil && bytes.Equal(f.value(before), now) {
			continue
		}
		var come []index.Row
		switch {
		case rows != nil:
			come = rows[i]
		case now != nil:
			come = f.rowsOf(nil, after)
		}
		if err := f.apply(tx, before, come); err != nil {
			return err
		}
	}
	return nil
}

// apply replaces the rows of a document. Those that it has are listed in its back-row.
func (f *fieldIndex) apply(tx kv.Txn, before *store.Revision, come []index.Row) error {
	b := &batch{}
	if before != nil {
		key := f.back(before.ID)
		was, err := tx.GetForUpdate(key)
		if errors.Is(err, kv.ErrNotFound) {
			was, err = nil, nil
		}
		if err == nil {
			err = f.change(b, mapped{before.ID, come}, key, was)
		}
		if err != nil {
			return err
		}
		return b.Apply(tx)
	}
	for _, r := range come {
		if err := tx.Put(r.Key, r.Value); err != nil {
			return err
		}
	}
	return nil
}
