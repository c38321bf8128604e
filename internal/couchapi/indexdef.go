package couchapi

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/jsonscan"
	mango "github.com/sectional/sectional/internal/query"
	"github.com/sectional/sectional/internal/selector"
)

// indexDefinition is an index that POST _index asks for.
type indexDefinition struct {
	design      string // id of its design document
	name        string
	source      []byte // the view's map
	asked       []byte // the definition as it came, compact
	partitioned string // "true", "false", or "" for the database's default
}

// indexMembers are the members of the request, checked in this order.
var indexMembers = []string{"index", "type", "name", "ddoc", "w", "partitioned"}

// readIndexDefinition reads the body of POST _index. Errors are CouchDB's.
func readIndexDefinition(body []byte) (*indexDefinition, error) {
	d := &indexDefinition{}
	var def []byte
	kind := "json"
	for _, name := range indexMembers {
		v, ok := jsonscan.Member(body, name)
		if v = jsonscan.Trim(v); !ok {
			if name == "index" {
				return nil, missingMember(name)
			}
			continue
		}
		var err error
		switch name {
		case "index":
			def = v
		case "type":
			kind, err = indexText(v)
		case "name":
			d.name, err = indexName(v)
		case "ddoc":
			d.design, err = indexName(v)
		case "w":
			if jsonscan.KindOf(v) != jsonscan.Number || bytes.ContainsAny(v, ".eE-") || string(v) == "0" {
				err = mango.BadPositive(v)
			}
		case "partitioned":
			if d.partitioned = string(v); d.partitioned != "true" && d.partitioned != "false" {
				err = dberr.New(dberr.Invalid, "invalid_partitioned_value", "Invalid value for partitioned: %s", selector.Term(v))
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if err := onlyMembers(body, indexMembers); err != nil {
		return nil, err
	}
	switch kind {
	case "json":
		return d, d.read(def)
	case "text", "nouveau":
		return nil, dberr.New(dberr.Unavailable, "required index service unavailable", "%s", kind)
	}
	return nil, dberr.New(dberr.Invalid, "invalid_index", "Invalid type for index: %s", kind)
}

func missingMember(name string) error {
	return dberr.New(dberr.Invalid, "missing_required_key", "Missing required key: %s", name)
}

// onlyMembers refuses an object with other members.
func onlyMembers(object []byte, names []string) error {
	for it := jsonscan.MembersOf(object); ; {
		name, _, ok := it.Next()
		if !ok {
			return nil
		}
		if text := string(jsonscan.Text(nil, name)); !slices.Contains(names, text) {
			return mango.UnknownKey(text)
		}
	}
}

func indexText(v []byte) (string, error) {
	if jsonscan.KindOf(v) != jsonscan.String {
		return "", dberr.New(dberr.Invalid, "invalid_string", "Invalid string: %s", selector.Term(v))
	}
	return string(jsonscan.Text(nil, v)), nil
}

func indexName(v []byte) (string, error) {
	s, err := indexText(v)
	if err == nil && s == "" {
		err = dberr.New(dberr.Invalid, "invalid_empty_string", "Index name or ddoc cannot be empty string")
	}
	return s, err
}

// read reads the definition itself and fills in the names.
func (d *indexDefinition) read(def []byte) error {
	if jsonscan.KindOf(def) != jsonscan.Object {
		return dberr.New(dberr.Invalid, "invalid_index", "JSON indexes must be an object, not: %s", selector.Term(def))
	}
	asked := jsontext.Value(bytes.Clone(def))
	if err := asked.Compact(jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true)); err != nil {
		return errNotJSON
	}
	d.asked = asked
	if err := d.makeSource(); err != nil {
		return err
	}
	if err := onlyMembers(def, []string{"fields", "partial_filter_selector", "include"}); err != nil {
		return err
	}
	if _, err := field.Parse(d.source); err != nil {
		return err
	}
	h := sha1.Sum(append([]byte(d.partitioned), d.source...))
	hash := hex.EncodeToString(h[:])
	if d.name == "" {
		d.name = hash
	}
	d.design = inDesigns(cmp.Or(d.design, hash))
	return nil
}

// makeSource makes the view's map. A field that is named again adds nothing.
func (d *indexDefinition) makeSource() error {
	fields, ok := jsonscan.Member(d.asked, "fields")
	if !ok {
		return missingMember("fields")
	}
	sort, err := mango.ParseSort(fields)
	if err != nil {
		return err
	}
	b := []byte(`{"fields":{`)
	seen := map[string]bool{}
	for _, f := range sort {
		if seen[f.Path.String()] {
			continue
		}
		seen[f.Path.String()] = true
		b = appendMember(b, f.Path.String())
		if f.Desc {
			b = append(b, `"desc"`...)
		} else {
			b = append(b, `"asc"`...)
		}
	}
	b = append(b, `},"partial_filter_selector":`...)
	filter := []byte("{}")
	if raw, ok := jsonscan.Member(d.asked, "partial_filter_selector"); ok {
		s, err := selector.Parse(raw)
		if err != nil {
			return err
		}
		filter = s.JSON()
	}
	b = append(b, filter...)
	if include, ok := jsonscan.Member(d.asked, "include"); ok {
		b = append(append(b, `,"include":`...), include...)
	}
	d.source = append(b, '}')
	return nil
}

// view is the index as a view of its design document.
func (d *indexDefinition) view() []byte {
	b := append([]byte(`{"map":`), d.source...)
	b = append(b, `,"reduce":"_count","options":{"def":`...)
	return append(append(b, d.asked...), "}}"...)
}

// newDesign is a design document with this index alone.
func (d *indexDefinition) newDesign() []byte {
	b := append([]byte(`{"language":"query","views":`), jsonscan.With([]byte("{}"), d.name, d.view())...)
	if d.partitioned != "" {
		b = append(append(append(b, `,"options":{"partitioned":`...), d.partitioned...), '}')
	}
	return append(b, '}')
}

// into gives a design document with this index added; exists is true if it
// holds the very same already.
func (d *indexDefinition) into(id string, body []byte) (_ []byte, exists bool, err error) {
	if language, ok := jsonscan.Member(body, "language"); !ok || !jsonscan.NameIs(language, "query") {
		shown := "false"
		if ok {
			shown = string(jsonscan.Text(nil, language))
		}
		return nil, false, dberr.New(dberr.Invalid, "invalid_ddoc_lang", "Existing design doc has an invalid language: %s", shown)
	}
	options, _ := jsonscan.Member(body, "options")
	partitioned := ""
	if jsonscan.KindOf(options) == jsonscan.Object {
		v, _ := jsonscan.Member(options, "partitioned")
		partitioned = string(v)
	}
	if partitioned != d.partitioned {
		return nil, false, dberr.New(dberr.Invalid, "invalid_partitioned_option",
			"Requested partitioned option does not match existing value on design document %s", id)
	}
	views, ok := jsonscan.Member(body, "views")
	if !ok {
		views = []byte("{}")
	}
	if old, ok := jsonscan.Member(views, d.name); ok && bytes.Equal(old, d.view()) {
		return nil, true, nil
	}
	return jsonscan.With(body, "views", jsonscan.With(views, d.name, d.view())), false, nil
}
