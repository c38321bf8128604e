package lists

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/document"
	textfind "github.com/sectional/sectional/internal/index/text/find"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/web"
)

// nouveauQuery is what an index of Nouveau's was asked for.
type nouveauQuery struct {
	textfind.Request // but for the query itself, which is parsed when the analyzers are known
	query            string
	partition        *string
	topN             int // of the values of a field that are counted, and of its ranges
	update           bool
	include          bool // documents come along
	latency          time.Duration
}

const (
	nouveauRows    = 25
	nouveauTop     = 10
	nouveauMostTop = 1000
)

// nouveauParams are the parameters, in the order in which CouchDB looks at them.
var nouveauParams = []struct {
	name string
	set  func(*nouveauQuery, listValue) error
}{
	{"bookmark", func(q *nouveauQuery, v listValue) (err error) {
		q.Bookmark, err = nouveauText("bookmark", v)
		return err
	}},
	{"counts", func(q *nouveauQuery, v listValue) (err error) {
		q.Counts, err = nouveauTexts("counts", v)
		return err
	}},
	{"include_docs", nouveauFlag("include_docs", func(q *nouveauQuery, b bool) { q.include = b })},
	{"limit", func(q *nouveauQuery, v listValue) (err error) {
		q.Limit, err = nouveauCount("limit", v)
		return err
	}},
	{"locale", func(q *nouveauQuery, v listValue) (err error) {
		q.Locale, err = nouveauText("locale", v)
		return err
	}},
	{"partition", func(q *nouveauQuery, v listValue) error {
		p, err := nouveauText("partition", v)
		q.partition = &p
		return err
	}},
	{"q", func(q *nouveauQuery, v listValue) (err error) {
		q.query, err = nouveauText("query", v)
		return err
	}},
	{"ranges", (*nouveauQuery).setRanges},
	{"sort", (*nouveauQuery).setSort},
	{"top_n", func(q *nouveauQuery, v listValue) (err error) {
		if q.topN, err = nouveauCount("top_n", v); q.topN > nouveauMostTop {
			return couchhttp.QueryError("top_n parameter must not be greater than %d", nouveauMostTop)
		}
		return err
	}},
	{"update", nouveauFlag("update", func(q *nouveauQuery, b bool) { q.update = b })},
}

// parseNouveau parses the parameters of a query: those of a body if there is one, else of
// the query string, where the partition always is.
func parseNouveau(body []document.Member, pairs web.Query, post bool) (*nouveauQuery, error) {
	q := &nouveauQuery{Request: textfind.Request{Limit: nouveauRows}, topN: nouveauTop, update: true}
	for _, p := range nouveauParams {
		v := listValue{}
		if given, ok := pairs.Get(p.name); ok && (!post || p.name == "partition") {
			v.text = given
		} else if v.raw = couchhttp.MemberOf(body, p.name); v.raw == nil || !post || p.name == "partition" {
			if p.name == "q" {
				return nil, couchhttp.QueryError("q parameter is mandatory")
			}
			continue
		}
		if err := p.set(q, v); err != nil {
			return nil, err
		}
	}
	return q, nil
}

func nouveauInvalid(name string, v listValue) error {
	return couchhttp.QueryError("Invalid value for %s: %s", name, v.quoted())
}

func nouveauText(name string, v listValue) (string, error) {
	if v.raw != nil && jsonscan.KindOf(v.raw) != jsonscan.String {
		return "", nouveauInvalid(name, v)
	}
	return v.word(), nil
}

func nouveauFlag(name string, set func(*nouveauQuery, bool)) func(*nouveauQuery, listValue) error {
	return func(q *nouveauQuery, v listValue) error {
		given := v.text
		if v.raw != nil {
			given = string(v.raw)
		}
		if given != "true" && given != "false" {
			return nouveauInvalid(name, v)
		}
		set(q, given == "true")
		return nil
	}
}

// nouveauCount reads a number from 1 on.
func nouveauCount(name string, v listValue) (int, error) {
	given := v.text
	if v.raw != nil {
		if given = string(v.raw); jsonscan.KindOf(v.raw) != jsonscan.Number {
			return 0, nouveauInvalid(name, v)
		}
	}
	n, err := strconv.Atoi(given)
	switch {
	case err != nil && v.raw != nil:
		return 0, nouveauInvalid(name, v)
	case err != nil:
		return 0, couchhttp.QueryError("%s parameter must be an integer", name)
	case n < 1:
		return 0, couchhttp.QueryError("%s parameter must be greater than zero", name)
	}
	return n, nil
}

// nouveauTexts reads a list of strings; null is none.
func nouveauTexts(name string, v listValue) (texts []string, err error) {
	raw, err := v.json()
	if err != nil {
		return nil, err
	}
	if jsonscan.KindOf(raw) != jsonscan.Array {
		return nil, couchhttp.QueryError("%s parameter must be a list of strings", name)
	}
	texts = []string{}
	for it := jsonscan.ElementsOf(raw); ; {
		e, ok := it.Next()
		if !ok {
			return texts, nil
		}
		if jsonscan.KindOf(e) != jsonscan.String {
			return nil, couchhttp.QueryError("all items in %s parameter must be strings", name)
		}
		texts = append(texts, string(jsonscan.Text(nil, e)))
	}
}

func (q *nouveauQuery) setSort(v listValue) error {
	raw, err := v.json()
	if err != nil {
		return err
	}
	texts := []string{string(jsonscan.Text(nil, raw))}
	if jsonscan.KindOf(raw) != jsonscan.String {
		if texts, err = nouveauTexts("sort", v); err != nil {
			return err
		}
	}
	for _, text := range texts {
		o, err := textfind.ParseNouveauOrder(text)
		if err != nil {
			return err
		}
		q.Sort = append(q.Sort, o)
	}
	return nil
}

// setRanges reads {field: [{label, min, max, min_inclusive, max_inclusive}]}.
func (q *nouveauQuery) setRanges(v listValue) error {
	raw, err := v.json()
	if err != nil {
		return err
	}
	if jsonscan.KindOf(raw) != jsonscan.Object {
		return nouveauInvalid("ranges", v)
	}
	fields, err := couchhttp.MembersOf(raw)
	if err != nil {
		return err
	}
	q.Ranges = []textfind.Ranges{}
	for _, f := range fields {
		if jsonscan.KindOf(f.Value) != jsonscan.Array {
			return couchhttp.QueryError("range values must be lists of objects")
		}
		r := textfind.Ranges{Field: f.Name}
		for it := jsonscan.ElementsOf(f.Value); ; {
			e, ok := it.Next()
			if !ok {
				break
			}
			if jsonscan.KindOf(e) != jsonscan.Object {
				return couchhttp.QueryError("all values in ranges parameter must be objects")
			}
			b, err := nouveauBucket(e)
			if err != nil {
				return err
			}
			r.Buckets = append(r.Buckets, b)
		}
		q.Ranges = append(q.Ranges, r)
	}
	return nil
}

// nouveauBucket reads one range. Its ends are included unless it says otherwise, and
// open where there is none.
func nouveauBucket(raw []byte) (b textfind.Bucket, err error) {
	of := struct {
		Label        string   `json:"label"`
		Min          *float64 `json:"min"`
		Max          *float64 `json:"max"`
		MinInclusive *bool    `json:"min_inclusive"`
		MaxInclusive *bool    `json:"max_inclusive"`
	}{}
	if err := json.Unmarshal(raw, &of); err != nil || of.Label == "" {
		return b, couchhttp.QueryError("a range must have a label, and numbers as min and max: %s", raw)
	}
	left, right := "[", "]"
	if of.MinInclusive != nil && !*of.MinInclusive {
		left = "{"
	}
	if of.MaxInclusive != nil && !*of.MaxInclusive {
		right = "}"
	}
	return textfind.Bucket{Label: of.Label, Range: left + nouveauEnd(of.Min, "-Infinity") + " TO " + nouveauEnd(of.Max, "Infinity") + right}, nil
}

func nouveauEnd(f *float64, open string) string {
	if f == nil {
		return open
	}
	return strconv.FormatFloat(*f, 'g', -1, 64)
}
