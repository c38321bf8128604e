// Package mango owns what Mango's text indexes are: their definitions, the form that
// documents take in them, and the query that a selector becomes. A field of an index is
// a field of documents with its type, "price:number", and the names of all that a
// document has are values of one field more, "$fieldnames".
//
// The query of a selector finds too much rather than too little: documents are held
// against the selector again, which alone says what it means. The package is pure. It
// knows neither how an index is kept (package text) nor how a query is planned.
//
// Begin reading at Def; values.go is about documents, convert.go about selectors.
package mango

import (
	"bytes"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/selector"
)

// Def is a definition of a text index, such as
// {"fields": [{"name": "title", "type": "string"}], "default_field": {"enabled": true}}.
type Def struct {
	All     bool            // every field is indexed
	Fields  []Field         // that are, if not all
	names   map[string]bool // of the fields that are, if not all
	Default bool            // strings are indexed for $text
	Lengths bool            // the lengths of arrays are indexed
	Partial *selector.Selector
	Filter  []byte // Partial as it was written; nil for none
	Old     bool   // and by its old name, selector
	Source  []byte // the definition, as it was written

	noIDs           bool // ids are not those that selectors mean
	exact           bool // strings are terms as they are
	defaultAnalyzer []byte
	textAnalyzer    []byte
}

// Field is a field that is indexed, as the definition names it.
type Field struct{ Name, Type string }

// WithoutIDs returns the definition for whoever has other ids than the index, as a tenant
// has: queries leave out what a selector says of _id.
func (d *Def) WithoutIDs() *Def {
	other := *d
	other.noIDs = true
	return &other
}

// The fields of an index that are of no field of documents.
const (
	textField  = "$default"
	namesField = "$fieldnames"
)

// badFields refuses a list of fields, with the line breaks that CouchDB's text has.
func badFields(v []byte) error {
	return dberr.New(dberr.Invalid, "invalid_index_fields_definition", "Text Index field definitions must be of the form\n"+
		"            {\"name\": \"non-empty fieldname\", \"type\":\n                \"boolean,number, or string\"}. Def: %s", selector.PrettyTerm(v))
}

// Parse reads a definition. Errors are dberr.Invalid with CouchDB's codes.
func Parse(source []byte) (*Def, error) {
	if jsonscan.KindOf(source) != jsonscan.Object {
		return nil, dberr.New(dberr.Invalid, "invalid_index", "Text indexes must be an object, not: %s", selector.Term(source))
	}
	d := &Def{All: true, Default: true, Lengths: true, exact: true, Source: source, defaultAnalyzer: []byte(`"keyword"`), textAnalyzer: []byte(`"standard"`)}
	for m := jsonscan.MembersOf(source); ; {
		name, v, ok := m.Next()
		if !ok {
			return d, nil
		}
		v = jsonscan.Trim(v)
		text := string(jsonscan.Text(nil, name))
		set, known := definitionMembers[text]
		if !known {
			return nil, dberr.New(dberr.Invalid, "invalid_key", "Invalid key %s for this request.", text)
		}
		if err := set(d, v); err != nil {
			return nil, err
		}
	}
}

// definitionMembers are what a definition may have.
var definitionMembers = map[string]func(d *Def, v []byte) error{
	"fields":                  (*Def).setFields,
	"default_field":           (*Def).setDefault,
	"index_array_lengths":     func(d *Def, v []byte) error { return selector.Truth(&d.Lengths, v) },
	"partial_filter_selector": (*Def).setFilter,
	"selector": func(d *Def, v []byte) error {
		_, newer := jsonscan.Member(d.Source, "partial_filter_selector")
		err := d.setFilter(v)
		d.Old = !newer && d.Filter != nil
		return err
	},
	"default_analyzer": func(d *Def, v []byte) error {
		d.defaultAnalyzer, d.exact = v, string(v) == `"keyword"`
		return nil
	},
}

// setFields reads which fields are indexed: none named, or "all_fields", is all.
func (d *Def) setFields(v []byte) error {
	if jsonscan.KindOf(v) == jsonscan.String && jsonscan.NameIs(v, "all_fields") {
		return nil
	}
	if jsonscan.KindOf(v) != jsonscan.Array {
		return badFields(v)
	}
	for it := jsonscan.ElementsOf(v); ; {
		e, ok := it.Next()
		if !ok {
			return nil
		}
		field, ok := fieldOf(e)
		path, err := selector.ParsePath(field.Name)
		if !ok || err != nil || len(path.Segments()) == 0 {
			return badFields(v)
		}
		d.Fields = append(d.Fields, field)
		if d.names == nil {
			d.All, d.names = false, map[string]bool{}
		}
		d.names[nameOf(path.Segments(), field.Type)] = true
	}
}

// fieldOf reads a field: {"name": "a.b", "type": "string"} or, as lists of indexes show
// it, {"a.b": "string"}.
func fieldOf(v []byte) (f Field, ok bool) {
	if jsonscan.KindOf(v) != jsonscan.Object {
		return f, false
	}
	name, named := jsonscan.Member(v, "name")
	kind, typed := jsonscan.Member(v, "type")
	switch count := members(v); {
	case count == 1 && !named && !typed:
		m := jsonscan.MembersOf(v)
		name, kind, _ = m.Next()
	case count != 2:
		return f, false
	}
	if jsonscan.KindOf(name) != jsonscan.String || jsonscan.KindOf(kind) != jsonscan.String {
		return f, false
	}
	f = Field{string(jsonscan.Text(nil, name)), string(jsonscan.Text(nil, kind))}
	return f, f.Type == typeString || f.Type == typeNumber || f.Type == typeBoolean
}

func members(object []byte) (n int) {
	for m := jsonscan.MembersOf(object); ; n++ {
		if _, _, ok := m.Next(); !ok {
			return n
		}
	}
}

// setDefault reads whether there is a field for $text, and how it is analyzed.
func (d *Def) setDefault(v []byte) error {
	if jsonscan.KindOf(v) != jsonscan.Object {
		return selector.Truth(&d.Default, v)
	}
	if enabled, ok := jsonscan.Member(v, "enabled"); ok {
		if err := selector.Truth(&d.Default, enabled); err != nil {
			return err
		}
	}
	if analyzer, ok := jsonscan.Member(v, "analyzer"); ok {
		d.textAnalyzer = analyzer
	}
	return nil
}

func (d *Def) setFilter(v []byte) (err error) {
	if jsonscan.KindOf(v) == jsonscan.Object && members(v) == 0 {
		return nil
	}
	if d.Partial, err = selector.Parse(v); err != nil {
		return err
	}
	d.Filter = bytes.Clone(v)
	if !d.Partial.Linear() || d.Partial.Uses("_attachments") || d.Partial.Uses("_conflicts") || d.Partial.Has(selector.Text) {
		return dberr.New(dberr.Invalid, "invalid_index", "The partial_filter_selector of an index has no patterns that go back and forth, no $text, and can't look at _attachments or _conflicts.")
	}
	return nil
}

// Analyzer returns the definition of the index's analyzers.
func (d *Def) Analyzer() []byte {
	var b bytes.Buffer
	b.WriteString(`{"name":"perfield","default":`)
	b.Write(d.defaultAnalyzer)
	b.WriteString(`,"fields":{"` + namesField + `":"keyword","` + textField + `":`)
	b.Write(d.textAnalyzer)
	b.WriteString("}}")
	return b.Bytes()
}

// NouveauAnalyzer returns the definition of the analyzers of an index of Nouveau's.
func (d *Def) NouveauAnalyzer() []byte {
	var b bytes.Buffer
	b.WriteString(`{"default_analyzer":`)
	b.Write(d.defaultAnalyzer)
	b.WriteString(`,"field_analyzers":{"` + namesField + `":"keyword","` + textField + `":`)
	b.Write(d.textAnalyzer)
	b.WriteString("}}")
	return b.Bytes()
}

// Analyzers returns the analyzers that the definition names.
func (d *Def) Analyzers() [][]byte { return [][]byte{d.defaultAnalyzer, d.textAnalyzer} }

// indexes reports whether a field is indexed.
func (d *Def) indexes(name string) bool { return d.All || d.names[name] }

// The types of values.
const (
	typeString  = "string"
	typeNumber  = "number"
	typeBoolean = "boolean"
	typeNull    = "null"
	typeLength  = "length" // of an array
	typeObject  = "object" // one without members
)

// elements stands for the places of an array.
const elements = "[]"

// nameOf returns the name of a field with a type. All but letters and digits is
// written in hexadecimal digits, so that it can be named in queries.
func nameOf(path []string, typ string) string { return pathOf(path) + escape(":"+typ) }

// pathOf returns the name of a path.
func pathOf(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = escape(p)
	}
	return strings.Join(parts, ".")
}

func escape(text string) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			b.WriteByte(c)
		default:
			b.Write([]byte{'_', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// SortField returns the field of the index for a field of a sort, such as
// "price:number", and whether it holds numbers; ok is false if the type is not said.
func SortField(name string) (field string, numbers, ok bool) {
	plain, typ := name, ""
	if at := strings.LastIndexByte(name, ':'); at >= 0 {
		plain, typ = name[:at], name[at+1:]
	}
	path, err := selector.ParsePath(plain)
	if err != nil || typ != typeNumber && typ != typeString {
		return "", false, false
	}
	return nameOf(path.Segments(), typ), typ == typeNumber, true
}
