package geo

import (
	"bytes"
	"context"
	"errors"
	"slices"

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
	Name string // as the definition spells it
	Path *selector.Path
	// Partial is met by the documents of the index, nil for all; Filter is its JSON.
	Partial *selector.Selector
	Filter  []byte
	source  []byte
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

var (
	errFields = dberr.New(dberr.Invalid, "invalid_index", "A geo index has one field: {\"fields\": [name]}.")
	errFilter = dberr.New(dberr.Invalid, "invalid_index", "The partial_filter_selector of a geo index has no patterns that go back and forth, no $text, "+
		"and can't look at _rev, _attachments or _conflicts.")
)

// ParseFields reads a definition: {"fields": [name]}, or {"fields": [{name: "geo"}]}, and
// perhaps a partial_filter_selector.
func ParseFields(source []byte) (*FieldDef, error) {
	if jsonscan.KindOf(source) != jsonscan.Object {
		return nil, errFields
	}
	fields, _ := jsonscan.Member(source, "fields")
	if jsonscan.KindOf(fields) != jsonscan.Array || jsonscan.Len(fields) != 1 {
		return nil, errFields
	}
	name, _ := jsonscan.Element(fields, 0)
	if jsonscan.KindOf(name) == jsonscan.Object {
		m := jsonscan.MembersOf(name)
		of, kind, _ := m.Next()
		if _, _, more := m.Next(); more || textOf(kind) != "geo" {
			return nil, errFields
		}
		name = of
	}
	if textOf(name) == "" {
		return nil, errFields
	}
	path, err := selector.ParsePath(textOf(name))
	if err != nil {
		return nil, err
	}
	d := &FieldDef{Name: textOf(name), Path: path, source: source}
	return d, d.setFilter(source)
}

func (d *FieldDef) setFilter(source []byte) (err error) {
	filter, ok := jsonscan.Member(source, "partial_filter_selector")
	if !ok {
		return nil
	}
	if d.Partial, err = selector.Parse(filter); err != nil {
		return err
	}
	if d.Partial.Root() == nil {
		d.Partial = nil // all documents meet it
		return nil
	}
	d.Filter = bytes.Clone(jsonscan.Trim(filter))
	beside := slices.ContainsFunc([]string{"_rev", "_attachments", "_conflicts"}, d.Partial.Uses)
	if beside || !d.Partial.Linear() || d.Partial.Has(selector.Text) {
		return errFilter
	}
	return nil
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
	return func(dst []index.Row, rev *store.Revision) ([]index.Row, error) {
		return f.rowsOf(context.Background(), dst, rev)
	}
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

// rowsOf appends the rows of a document. One whose field holds something else than a geometry,
// or one that can't be indexed, has a back-row that names none: it counts as skipped.
func (f *fieldIndex) rowsOf(ctx context.Context, dst []index.Row, rev *store.Revision) ([]index.Row, error) {
	json := f.value(rev)
	if json == nil || jsonscan.KindOf(json) == jsonscan.Null {
		return dst, nil
	}
	if f.def.Partial != nil {
		doc := selector.Doc{ID: string(rev.ID), Body: rev.Body}
		if ok, err := f.def.Partial.Match(&doc, selector.NewBudget(ctx, 0)); !ok || err != nil {
			return dst, err
		}
	}
	if ctx.Err() != nil {
		return dst, ctx.Err()
	}
	g, err := place(bytes.Clone(json))
	if err != nil {
		return append(dst, index.Row{Key: f.back(rev.ID), Value: new(back).pack()}), nil
	}
	return f.rows(dst, rev.ID, &back{geometries: []placed{g}}), nil
}

// applier keeps the indexes by fields of a database.
type applier struct{ indexes []fieldIndex }

// Slow is index.Applier's: to cover a geometry takes long.
func (*applier) Slow() bool { return true }

// Derive is index.Applier's: it returns the rows in each index.
func (a *applier) Derive(ctx context.Context, rev *store.Revision) (any, error) {
	all := make([][]index.Row, len(a.indexes))
	for i := range a.indexes {
		var err error
		if all[i], err = a.indexes[i].rowsOf(ctx, nil, rev); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Apply is index.Applier's.
func (a *applier) Apply(tx kv.Txn, before, after *store.Revision, derived any) error {
	rows, _ := derived.([][]index.Row) // nil if nobody has worked them out
	for i := range a.indexes {
		f := &a.indexes[i]
		now := f.value(after)
		if f.def.Partial == nil && !f.building && before != nil && after != nil && bytes.Equal(f.value(before), now) {
			continue
		}
		var come []index.Row
		var err error
		switch {
		case rows != nil:
			come = rows[i]
		case now != nil:
			come, err = f.rowsOf(context.Background(), nil, after)
		}
		if err != nil {
			return err
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
