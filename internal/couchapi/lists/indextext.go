package lists

import (
	"strconv"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/index/text/mango"
	"github.com/sectional/sectional/internal/jsonscan"
)

// mangoText returns the definition of a text index of Mango's; nil for any other index.
func mangoText(n *index.Named) *mango.Def {
	if n == nil || n.Kind != text.KindName && n.Kind != text.NouveauName || text.Of(n.Index) == nil {
		return nil
	}
	return text.Of(n.Index).Mango
}

// appendTextIndex appends a text index as _index lists it.
func appendTextIndex(dst []byte, n *index.Named, d *mango.Def, partitioned bool) []byte {
	dst = jsonscan.AppendQuoted(append(dst, `{"ddoc":`...), string(n.Design))
	dst = jsonscan.AppendQuoted(append(dst, `,"name":`...), n.Name)
	dst = append(append(append(dst, `,"type":"`...), n.Kind...), '"') // kinds have the names of types
	dst = strconv.AppendBool(append(dst, `,"partitioned":`...), partitioned)
	dst = append(dst, `,"def":{"default_analyzer":`...)
	dst = append(dst, member(d.Source, "default_analyzer", `"keyword"`)...)
	dst = append(append(dst, `,"default_field":`...), member(d.Source, "default_field", "{}")...)
	if d.Filter != nil && !d.Old {
		dst = append(append(dst, `,"partial_filter_selector":`...), d.Filter...)
	}
	dst = append(dst, `,"selector":`...)
	if d.Old {
		dst = append(dst, d.Filter...)
	} else {
		dst = append(dst, "{}"...)
	}
	dst = append(dst, `,"fields":[`...)
	for i, f := range d.Fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendQuoted(append(dst, '{'), f.Name)
		dst = append(jsonscan.AppendQuoted(append(dst, ':'), f.Type), '}')
	}
	dst = strconv.AppendBool(append(dst, `],"index_array_lengths":`...), d.Lengths)
	return append(dst, "}}"...)
}

// member returns a member of an object, or what stands for it.
func member(object []byte, name, without string) []byte {
	if v, ok := jsonscan.Member(object, name); ok {
		return jsonscan.Trim(v)
	}
	return []byte(without)
}
