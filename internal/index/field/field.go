// Package field owns field indexes: Mango's indexes of type json. A row stands
// for a document (or, where a field is indexed by the elements of its array, for
// an element) under the values of the indexed fields, encoded so that byte order
// is the order of the definition. Rows are kept in the transactions of the
// writers, so a query that begins after a write was answered sees it.
//
// A document is in the index if it has the first indexed field (null is a value)
// and the partial filter, if there is one, matches; in a sparse index, which is
// CouchDB's kind, only if it has every indexed field. A field that it lacks comes
// before null in its row. The row's value holds the fields as JSON, because
// collated values can't be read back, so that a query for nothing else need not
// read the document.
//
// Begin reading at Def; rows.go makes rows, scan.go turns bounds into ranges and
// rows back into entries. The package does not know how a query is planned.
package field

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/selector"
)

// Column is an indexed field.
type Column struct {
	Name     string // as the definition spells it
	Path     *selector.Path
	Desc     bool // from large to small
	Elements bool // a row for each element of the array that the field holds: "tags.[]"
	id       bool // _id, which compares by bytes
}

// Def is a definition of a field index.
type Def struct {
	Columns []Column
	Partial *selector.Selector // only documents that match are in the index; nil for all
	Include []*selector.Path   // further fields that rows carry
	Filter  []byte             // Partial as it was written, compact JSON; nil for none
	Sparse  bool               // only documents that have every column are in the index

	names map[string]bool // of the columns while they are read, and elementsSuffix if one has it
}

// Optional reports whether documents of the index may lack a column. They never
// lack the first one: without it no range of the index could be meant.
func (d *Def) Optional(column int) bool {
	return !d.Sparse && column > 0 && !alwaysThere(d.Columns[column].Name)
}

// alwaysThere reports whether every document has a field.
func alwaysThere(name string) bool { return name == "_id" || name == "_rev" }

// Uses reports whether the rows of the index depend on a member at the top of
// documents, or on whole documents.
func (d *Def) Uses(name string) bool {
	at := func(p *selector.Path) bool { return len(p.Segments()) == 0 || p.Segments()[0] == name }
	return slices.ContainsFunc(d.Columns, func(c Column) bool { return at(c.Path) }) || slices.ContainsFunc(d.Include, at) ||
		d.Partial != nil && d.Partial.Uses(name)
}

// elementsSuffix marks a field that is indexed by the elements of its array.
const elementsSuffix = ".[]"

// Kind is the index kind. It has no state.
type Kind struct{}

// KindName is the kind's word in stored rows.
const KindName = "field"

// Name is index.Kind's.
func (Kind) Name() string { return KindName }

// Prefixes is index.Kind's.
func (Kind) Prefixes(db, number uint64) [][]byte {
	return [][]byte{keyspace.FieldRow.Key(db, keyspace.U(number))}
}

// Open is index.Kind's: it returns a *Def, also with an error that refuses it.
func (Kind) Open(source []byte) (any, error) { return Parse(source) }

// Of returns the definition of a field index, whatever its state.
func Of(x *index.Index) *Def { return x.Opened.(*Def) }

// Defined is index.Kind's: the views of a design document in the language query,
// whose map is {"fields": {name: direction}, "partial_filter_selector": …}.
func (Kind) Defined(d index.Design) (defs []index.Definition) {
	if language, _ := jsonscan.Member(d.Body, "language"); !isText(language, "query") {
		return nil
	}
	views, _ := jsonscan.Member(d.Body, "views")
	if jsonscan.KindOf(views) != jsonscan.Object {
		return nil
	}
	for m := jsonscan.MembersOf(views); ; {
		name, view, ok := m.Next()
		if !ok {
			return defs
		}
		if jsonscan.KindOf(view) != jsonscan.Object {
			continue
		}
		source, _ := jsonscan.Member(view, "map")
		// What CouchDB takes and this package refuses is an index that fails, and says why.
		if _, err := Parse(source); err != nil && !refused(err) {
			continue
		}
		defs = append(defs, index.Definition{Name: string(jsonscan.Text(nil, name)), Partitioned: d.Partitioned, Source: bytes.Clone(source)})
	}
}

func isText(v []byte, text string) bool {
	return jsonscan.KindOf(v) == jsonscan.String && jsonscan.NameIs(v, text)
}

// Parse reads a definition in the form that design documents keep it in: the
// object {"fields": …, "partial_filter_selector": {…}, "include": [names],
// "sparse": false}. fields is an object {name: "asc" or "desc"} or an array of
// names and of objects with one member. Without sparse an index is sparse, since
// CouchDB's are. Errors: Invalid invalid_index and the selector's. With one that
// refuses what CouchDB takes comes the definition, which is to be shown and not to
// be used.
func Parse(source []byte) (*Def, error) {
	if jsonscan.KindOf(source) != jsonscan.Object {
		return nil, errDefinition
	}
	d := &Def{names: map[string]bool{}}
	fields, _ := jsonscan.Member(source, "fields")
	var err error
	switch jsonscan.KindOf(fields) {
	case jsonscan.Object:
		err = d.addMembers(fields)
	case jsonscan.Array:
		err = d.addElements(fields)
	default:
		err = errDefinition
	}
	if err == nil && len(d.Columns) == 0 {
		err = errDefinition
	}
	if err == nil {
		err = d.parsePartial(source)
	}
	if err == nil {
		err = d.parseInclude(source)
	}
	if err == nil {
		err = d.parseSparse(source)
	}
	if err != nil {
		return nil, err
	}
	d.names = nil
	return d, d.refuse()
}

// refuse says why a definition can't be used that CouchDB would take.
func (d *Def) refuse() error {
	switch {
	case d.Partial != nil && !d.Partial.Linear():
		return errPattern
	case d.readsCompanions():
		return errReserved
	}
	return nil
}

// refused reports whether an error is one of refuse.
func refused(err error) bool { return errors.Is(err, errPattern) || errors.Is(err, errReserved) }

var errDefinition = dberr.New(dberr.Invalid, "invalid_index", "Index is missing its definition.")

func (d *Def) addMembers(object []byte) error {
	for m := jsonscan.MembersOf(object); ; {
		name, direction, ok := m.Next()
		if !ok {
			return nil
		}
		if err := d.add(string(jsonscan.Text(nil, name)), direction); err != nil {
			return err
		}
	}
}

func (d *Def) addElements(array []byte) error {
	for it := jsonscan.ElementsOf(array); ; {
		v, ok := it.Next()
		if !ok {
			return nil
		}
		var err error
		switch jsonscan.KindOf(v) {
		case jsonscan.String:
			err = d.add(string(jsonscan.Text(nil, v)), []byte(`"asc"`))
		case jsonscan.Object:
			err = d.addMembers(v)
		default:
			err = errDefinition
		}
		if err != nil {
			return err
		}
	}
}

// add adds a column.
func (d *Def) add(name string, direction []byte) error {
	c := Column{Name: name, Desc: isText(direction, "desc"), id: name == "_id"}
	if !c.Desc && !isText(direction, "asc") {
		return errDefinition
	}
	plain, elements := strings.CutSuffix(name, elementsSuffix)
	c.Elements = elements
	if d.names[name] || elements && d.names[elementsSuffix] {
		return dberr.New(dberr.Invalid, "invalid_index", "An index has a field once, and one field by its elements.")
	}
	var err error
	if c.Path, err = selector.ParsePath(plain); err == nil {
		d.Columns = append(d.Columns, c)
	}
	if d.names[name] = true; elements {
		d.names[elementsSuffix] = true
	}
	return err
}

func (d *Def) parsePartial(source []byte) (err error) {
	filter, ok := jsonscan.Member(source, "partial_filter_selector")
	if !ok || jsonscan.KindOf(filter) == jsonscan.Object && len(jsonscan.Trim(filter)) == 2 {
		return nil
	}
	d.Filter = bytes.Clone(filter)
	d.Partial, err = selector.Parse(filter)
	return err
}

// errPattern refuses a filter that could take for ever: whether a document is in
// an index can't be left open, and nobody may wait for it.
var errPattern = dberr.New(dberr.Invalid, "invalid_index", "A $regex of partial_filter_selector must be of the linear kind: "+
	"no look-around, back reference, atomic group, possessive quantifier, \\R or \\X, and no repetition beyond 20000 characters.")

func (d *Def) parseInclude(source []byte) error {
	include, ok := jsonscan.Member(source, "include")
	if !ok {
		return nil
	}
	f, err := selector.ParseList("include", include)
	d.Include = f.Paths()
	return err
}

// errReserved refuses what a row can't follow: conflicts come and go without a
// change of the winner, and attachments are not in the body.
var errReserved = dberr.New(dberr.Invalid, "invalid_index", "Of the members that begin with an underscore an index knows _id and _rev alone; "+
	"its partial_filter_selector can't look at _attachments or _conflicts.")

// readsCompanions reports whether the definition looks at members that are not in the
// body.
func (d *Def) readsCompanions() bool {
	beside := func(p *selector.Path) bool {
		name := p.Segments()[0]
		return strings.HasPrefix(name, "_") && !alwaysThere(name)
	}
	return slices.ContainsFunc(d.Columns, func(c Column) bool { return beside(c.Path) }) || slices.ContainsFunc(d.Include, beside) ||
		d.Partial != nil && (d.Partial.Uses("_attachments") || d.Partial.Uses("_conflicts"))
}

var errSparse = dberr.New(dberr.Invalid, "invalid_index", "sparse must be true or false.")

func (d *Def) parseSparse(source []byte) error {
	switch v, ok := jsonscan.Member(source, "sparse"); {
	case !ok || jsonscan.KindOf(v) == jsonscan.True:
		d.Sparse = true
	case jsonscan.KindOf(v) != jsonscan.False:
		return errSparse
	}
	return nil
}

// Elements returns which column is indexed by the elements of its array, -1 if
// none is.
func (d *Def) Elements() int {
	for i := range d.Columns {
		if d.Columns[i].Elements {
			return i
		}
	}
	return -1
}
