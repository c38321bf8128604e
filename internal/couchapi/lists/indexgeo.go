package lists

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/geo"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/selector"
)

// parseGeo parses the definition of a geo index and fills in the names.
func (d *indexDefinition) parseGeo(def []byte) error {
	if jsonscan.KindOf(def) != jsonscan.Object {
		return dberr.New(dberr.Invalid, "invalid_index", "Geo indexes must be an object, not: %s", selector.Term(def))
	}
	if _, ok := jsonscan.Member(def, "fields"); !ok {
		return missingMember("fields")
	}
	if err := onlyMembers(def, []string{"fields", "partial_filter_selector"}); err != nil {
		return err
	}
	asked := jsontext.Value(bytes.Clone(def))
	if err := asked.Compact(jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true)); err != nil {
		return couchhttp.ErrNotJSON
	}
	if _, err := geo.ParseFields(asked); err != nil {
		return err
	}
	d.asked, d.plain, d.source = asked, append([]byte("geo"), asked...), asked
	d.geo = append(append([]byte(`{"index":`), asked...), '}')
	d.setNames()
	d.former = ""
	return nil
}

// mangoGeo returns the definition of a geo index by a field; nil for any other index.
func mangoGeo(n *index.Named) *geo.FieldDef {
	if n == nil || n.Kind != geo.FieldsName {
		return nil
	}
	return geo.FieldOf(n.Index)
}

// appendGeoIndex appends a geo index as _index lists it.
func appendGeoIndex(dst []byte, n *index.Named, d *geo.FieldDef, partitioned bool) []byte {
	dst = jsonscan.AppendQuoted(append(dst, `{"ddoc":`...), string(n.Design))
	dst = jsonscan.AppendQuoted(append(dst, `,"name":`...), n.Name)
	dst = strconv.AppendBool(append(dst, `,"type":"geo","partitioned":`...), partitioned)
	dst = jsonscan.AppendQuoted(append(dst, `,"def":{"fields":[{`...), d.Name)
	dst = append(dst, `:"geo"}]`...)
	if d.Filter != nil {
		dst = append(append(dst, `,"partial_filter_selector":`...), d.Partial.JSON()...)
	}
	return append(dst, "}}"...)
}
