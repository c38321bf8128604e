package lists

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sectional/sectional/internal/analyze"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/index/geo"
	"github.com/sectional/sectional/internal/index/text"
	words "github.com/sectional/sectional/internal/index/text/mango"
	"github.com/sectional/sectional/internal/jsonscan"
	mango "github.com/sectional/sectional/internal/query"
	"github.com/sectional/sectional/internal/selector"
)

// indexDefinition is an index that POST _index asks for.
type indexDefinition struct {
	design      string // id of its design document
	former      string // id that it would have had before the name counted; "" for none
	name        string
	source      []byte // the view's map
	plain       []byte // the map without the option sparse: what CouchDB makes of the definition
	several     bool   // there are several fields
	said        bool   // and the request says whether the index is sparse
	asked       []byte // the definition as it came, compact
	partitioned string // "true", "false", or "" for the database's default
	text        []byte // the member of indexes, if it is a text index; nil for others
	all         bool   // and it has all fields
	geo         []byte // the member of st_indexes, if it is a geo index; nil for others
	nouveau     bool   // and it is one of Nouveau's, in the member of that name
}

// indexMembers are the members of the request, checked in this order.
var indexMembers = []string{"index", "type", "name", "ddoc", "w", "partitioned"}

// parseIndexDefinition parses the body of POST _index; nouveau says that there may be
// indexes of Nouveau's. Errors are CouchDB's.
func parseIndexDefinition(body []byte, nouveau bool) (*indexDefinition, error) {
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
				err = dberr.New(dberr.Invalid, "invalid_partitioned_value", "Invalid value for partitioned: %s", selector.Shown(v))
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
		return d, d.parse(def)
	case "text":
		return d, d.parseText(def)
	case "geo":
		return d, d.parseGeo(def)
	case "nouveau":
		if !nouveau {
			return nil, dberr.New(dberr.Unavailable, "required index service unavailable", "%s", kind)
		}
		d.nouveau = true
		return d, d.parseText(def)
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

// parse parses the definition itself and fills in the names.
func (d *indexDefinition) parse(def []byte) error {
	if jsonscan.KindOf(def) != jsonscan.Object {
		return dberr.New(dberr.Invalid, "invalid_index", "JSON indexes must be an object, not: %s", selector.Term(def))
	}
	asked := jsontext.Value(bytes.Clone(def))
	if err := asked.Compact(jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true)); err != nil {
		return couchhttp.ErrNotJSON
	}
	d.asked = asked
	if err := d.makeSource(); err != nil {
		return err
	}
	if err := onlyMembers(def, []string{"fields", "partial_filter_selector", "include", "sparse"}); err != nil {
		return err
	}
	if err := d.setSparse(); err != nil {
		return err
	}
	if _, err := field.Parse(d.source); err != nil {
		return err
	}
	d.setNames()
	return nil
}

// setNames fills in the names that the request leaves open. They follow from the
// definition, and the design document's from the index's name too, so that equal
// definitions with different names lie apart. What was not said does not count, or
// an index that is there would not be found again.
func (d *indexDefinition) setNames() {
	base := d.partitioned + string(d.plain)
	if d.said && bytes.Equal(d.plain, d.source) {
		base += "\x00sparse"
	}
	hash := func(of string) string {
		h := sha1.Sum([]byte(of))
		return hex.EncodeToString(h[:])
	}
	unnamed := hash(base)
	switch {
	case d.design != "":
		d.design = inDesigns(d.design)
	case d.name != "":
		d.design, d.former = inDesigns(hash(base+"\x00name:"+d.name)), inDesigns(unnamed)
	default:
		d.design = inDesigns(unnamed)
	}
	d.name = cmp.Or(d.name, unnamed)
}

// setSparse puts the option sparse into the map, where it means something: in an
// index of several fields. One that is not sparse is the default here, and sparse
// is what a map means that does not say.
func (d *indexDefinition) setSparse() error {
	d.plain = d.source
	sparse := false
	if v, ok := jsonscan.Member(d.asked, "sparse"); ok {
		d.said = d.several
		if selector.Truth(&sparse, v) != nil {
			return dberr.New(dberr.Invalid, "invalid_boolean", "sparse must be true or false, not: %s", selector.Shown(v))
		}
	}
	if d.several && !sparse {
		d.source = jsonscan.With(d.source, "sparse", []byte("false"))
	}
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
		b = couchhttp.AppendMember(b, f.Path.String())
		if f.Desc {
			b = append(b, `"desc"`...)
		} else {
			b = append(b, `"asc"`...)
		}
	}
	d.several = len(seen) > 1
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

// parseText parses the definition of a text index and fills in the names.
func (d *indexDefinition) parseText(def []byte) error {
	of, err := words.Parse(def)
	if err != nil {
		return err
	}
	for _, analyzer := range of.Analyzers() {
		if err := d.checkAnalyzer(analyzer); err != nil {
			return dberr.New(dberr.Invalid, "invalid_index", "There is no analyzer %s", selector.Shown(analyzer))
		}
	}
	asked := jsontext.Value(bytes.Clone(def))
	if err := asked.Compact(jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true)); err != nil {
		return couchhttp.ErrNotJSON
	}
	d.all = of.All
	kind, _ := d.kindOfText()
	d.asked, d.plain, d.source = asked, append([]byte(kind), asked...), asked
	d.text = append([]byte(`{"index":`), asked...)
	if d.nouveau {
		d.text = append(append(d.text, ','), of.NouveauAnalyzer()[1:]...)
	} else {
		d.text = append(append(append(d.text, `,"analyzer":`...), of.Analyzer()...), '}')
	}
	d.setNames()
	d.former = ""
	return nil
}

// kind is the kind of the index, and in is the member of the design document that it
// lies in.
func (d *indexDefinition) kind() (name, in string) {
	switch {
	case d.text != nil:
		return d.kindOfText()
	case d.geo != nil:
		return geo.FieldsName, "st_indexes"
	}
	return field.KindName, "views"
}

func (d *indexDefinition) kindOfText() (name, in string) {
	if d.nouveau {
		return text.NouveauName, "nouveau"
	}
	return text.KindName, "indexes"
}

// checkAnalyzer refuses an analyzer that there is not.
func (d *indexDefinition) checkAnalyzer(definition []byte) (err error) {
	if d.nouveau {
		_, err = analyze.Nouveau(append(append([]byte(`{"default_analyzer":`), definition...), '}'))
	} else {
		_, err = analyze.New(definition)
	}
	return err
}

// view is the index as it is in its design document.
func (d *indexDefinition) view() []byte {
	switch {
	case d.text != nil:
		return d.text
	case d.geo != nil:
		return d.geo
	}
	return d.viewOf(d.source)
}

func (d *indexDefinition) viewOf(source []byte) []byte {
	b := append([]byte(`{"map":`), source...)
	b = append(b, `,"reduce":"_count","options":{"def":`...)
	return append(append(b, d.asked...), "}}"...)
}

// newDesign is a design document with this index alone.
func (d *indexDefinition) newDesign() []byte {
	_, in := d.kind()
	b := append([]byte(`{"language":"query","`+in+`":`), jsonscan.With([]byte("{}"), d.name, d.view())...)
	if d.partitioned != "" {
		b = append(append(append(b, `,"options":{"partitioned":`...), d.partitioned...), '}')
	}
	return append(b, '}')
}

// into returns a design document with this index added; exists is true if it
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
	_, in := d.kind()
	views, ok := jsonscan.Member(body, in)
	if !ok {
		views = []byte("{}")
	}
	if d.isView(views) {
		return nil, true, nil
	}
	return jsonscan.With(body, in, jsonscan.With(views, d.name, d.view())), false, nil
}

// isView reports whether views hold this very index. One that CouchDB made, or
// this server before it knew the option sparse, stays as it is if the request does
// not say how it wants it.
func (d *indexDefinition) isView(views []byte) bool {
	old, ok := jsonscan.Member(views, d.name)
	return ok && (bytes.Equal(old, d.view()) || d.text == nil && d.geo == nil && !d.said && bytes.Equal(old, d.viewOf(d.plain)))
}
