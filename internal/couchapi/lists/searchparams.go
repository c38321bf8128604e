package lists

import (
	"encoding/json"
	"strconv"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	textfind "github.com/sectional/sectional/internal/index/text/find"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/web"
)

// searchQuery is what a full-text index was asked for.
type searchQuery struct {
	textfind.Request // but for the query itself, which is parsed when the analyzers are known
	query            *string
	limit            listValue // as it was given
	limited          bool
	partition        *string
	stale            bool // the answer does not wait for the index
	include          bool // documents come along
	oldGroups        bool // asked for by group_by, which has an answer of its own
	grouping         textfind.Grouping
	grouped          bool // a parameter of groups was given
	highlight        textfind.Highlighting
	nearFilter       *string // of the nearest, not parsed yet
	fused            bool    // how scores of words and of vectors are joined was said
}

// Limits of Clouseau. Databases that have partitions have one of their own.
const (
	searchRows          = 25
	searchMost          = 200
	searchMostPartition = 2000
	searchGroups        = 10
	searchMostGroups    = 200
)

// searchParams are the parameters of searches, in a query string or a body.
var searchParams = map[string]func(*searchQuery, listValue) error{
	"q":           (*searchQuery).setQuery,
	"query":       (*searchQuery).setQuery,
	"partition":   searchWord("partition", func(q *searchQuery, s string) { q.partition = &s }),
	"bookmark":    searchWord("bookmark", func(q *searchQuery, s string) { q.Bookmark = s }),
	"group_by":    searchWord("group_by", func(q *searchQuery, s string) { q.grouping.Field, q.oldGroups = s, true }),
	"group_field": searchWord("group_field", func(q *searchQuery, s string) { q.grouping.Field, q.oldGroups = s, false }),
	"limit": func(q *searchQuery, v listValue) error {
		q.limit, q.limited = v, true
		return nil
	},
	"stale": func(q *searchQuery, v listValue) error {
		if q.stale = v.word() == "ok"; !q.stale {
			return couchhttp.QueryError("stale only available as stale=ok")
		}
		return nil
	},
	"stable":       searchFlag("stable", func(*searchQuery, bool) {}),
	"include_docs": searchFlag("include_docs", func(q *searchQuery, b bool) { q.include = b }),
	"sort": func(q *searchQuery, v listValue) (err error) {
		q.Sort, err = searchOrders(v)
		return err
	},
	"group_sort": func(q *searchQuery, v listValue) (err error) {
		q.grouping.Sort, err = searchOrders(v)
		q.grouped = true
		return err
	},
	"group_limit": func(q *searchQuery, v listValue) (err error) {
		q.grouping.Limit, err = searchCount("group_limit", v, 1, searchMostGroups)
		q.grouped = true
		return err
	},
	"include_fields": func(q *searchQuery, v listValue) error {
		return searchJSON(v, &q.Fields, dberr.New(dberr.Invalid, "bad_request", "%s is not a valid include_fields query", v.word()))
	},
	"counts": func(q *searchQuery, v listValue) error {
		return searchJSON(v, &q.Counts, dberr.New(dberr.Invalid, "bad_request", "%s is not a valid counts query", v.word()))
	},
	"knn":       (*searchQuery).setNearest,
	"ranges":    (*searchQuery).setRanges,
	"drilldown": (*searchQuery).setDrilldown,
	"highlight_fields": func(q *searchQuery, v listValue) error {
		return searchJSON(v, &q.highlight.Fields, dberr.New(dberr.Invalid, "bad_request", "%s is not a valid highlight_fields query", v.word()))
	},
	"highlight_pre_tag":  searchWord("highlight_pre_tag", func(q *searchQuery, s string) { q.highlight.Pre = s }),
	"highlight_post_tag": searchWord("highlight_post_tag", func(q *searchQuery, s string) { q.highlight.Post = s }),
	"highlight_number": func(q *searchQuery, v listValue) (err error) {
		q.highlight.Number, err = searchCount("highlight_number", v, 1, maxHighlights)
		return err
	},
	"highlight_size": func(q *searchQuery, v listValue) (err error) {
		q.highlight.Size, err = searchCount("highlight_size", v, 1, maxHighlightSize)
		return err
	},
}

// Bounds of highlights that Clouseau leaves out: a row must not become longer than
// what is in it.
const (
	maxHighlights    = 1000
	maxHighlightSize = 1 << 20
)

// searchWord is a parameter that is a text.
func searchWord(name string, set func(*searchQuery, string)) func(*searchQuery, listValue) error {
	return func(q *searchQuery, v listValue) error {
		if v.raw != nil && jsonscan.KindOf(v.raw) != jsonscan.String {
			return couchhttp.QueryError("Invalid value for %s: %s", name, v.quoted())
		}
		set(q, v.word())
		return nil
	}
}

func searchFlag(name string, set func(*searchQuery, bool)) func(*searchQuery, listValue) error {
	return func(q *searchQuery, v listValue) error {
		b, err := strconv.ParseBool(v.word())
		if w := v.word(); err != nil || w != "true" && w != "false" {
			return couchhttp.QueryError("Invalid value for %s: %s", name, v.quoted())
		}
		set(q, b)
		return nil
	}
}

// searchCount reads a number between two.
func searchCount(name string, v listValue, least, most int) (int, error) {
	text := v.text
	if v.raw != nil {
		text = string(v.raw)
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, couchhttp.QueryError("Invalid value for %s: %s", name, v.quoted())
	case n > most:
		return 0, couchhttp.QueryError("Value for %s is too large, must not exceed %d", name, most)
	case n < least && least == 0:
		return 0, couchhttp.QueryError("%s must be greater than or equal to zero", name)
	case n < least:
		return 0, couchhttp.QueryError("%s must be greater than zero", name)
	}
	return n, nil
}

// searchJSON reads a value that is JSON in both places; wrong is the error of another.
func searchJSON(v listValue, into any, wrong error) error {
	raw, err := v.json()
	if err != nil {
		return err
	}
	if json.Unmarshal(raw, into) != nil {
		return wrong
	}
	return nil
}

func searchOrders(v listValue) (orders []textfind.Order, err error) {
	raw, err := v.json()
	if err != nil {
		return nil, err
	}
	var texts []string
	if one := ""; json.Unmarshal(raw, &one) == nil {
		texts = []string{one}
	} else if json.Unmarshal(raw, &texts) != nil {
		return nil, dberr.New(dberr.Invalid, "bad_request", "Unrecognized sort parameter: %s", raw)
	}
	for _, text := range texts {
		o, err := textfind.ParseOrder(text)
		if err != nil {
			return nil, err
		}
		orders = append(orders, o)
	}
	return orders, nil
}

func (q *searchQuery) setQuery(v listValue) error {
	return searchWord("q", func(q *searchQuery, s string) { q.query = &s })(q, v)
}

// setRanges reads {field: {label: range}}, and keeps their order.
func (q *searchQuery) setRanges(v listValue) error {
	wrong := dberr.New(dberr.Invalid, "bad_request", "%s is not a valid ranges query", v.word())
	raw, err := v.json()
	if err != nil {
		return err
	}
	if jsonscan.KindOf(raw) != jsonscan.Object {
		return wrong
	}
	q.Ranges = []textfind.Ranges{}
	fields, err := couchhttp.MembersOf(raw)
	if err != nil {
		return err
	}
	for _, f := range fields {
		if jsonscan.KindOf(f.Value) != jsonscan.Object {
			return wrong
		}
		labels, err := couchhttp.MembersOf(f.Value)
		if err != nil {
			return err
		}
		r := textfind.Ranges{Field: f.Name}
		for _, l := range labels {
			if jsonscan.KindOf(l.Value) != jsonscan.String {
				return wrong
			}
			r.Buckets = append(r.Buckets, textfind.Bucket{Label: l.Name, Range: string(jsonscan.Text(nil, l.Value))})
		}
		q.Ranges = append(q.Ranges, r)
	}
	return nil
}

// setDrilldown reads [field, value, …], which may be given several times in a query
// string, or in a body an array of such arrays.
func (q *searchQuery) setDrilldown(v listValue) error {
	raw, err := v.json()
	if err != nil {
		return err
	}
	var one []string
	var several [][]string
	if json.Unmarshal(raw, &one) == nil {
		several = [][]string{one}
	} else if json.Unmarshal(raw, &several) != nil {
		return dberr.New(dberr.Invalid, "bad_request", "invalid drilldown query")
	}
	for _, d := range several {
		if len(d) == 0 {
			continue
		}
		if len(d) == 1 {
			return dberr.New(dberr.Invalid, "bad_request", "invalid drilldown query")
		}
		q.Drilldown = append(q.Drilldown, textfind.Values{Field: d[0], Values: d[1:]})
	}
	return nil
}

// ParseSearch parses the parameters of a search: those of a body if there is one, else
// of the query string.
func ParseSearch(body []document.Member, pairs web.Query, post bool) (*searchQuery, error) {
	q := &searchQuery{grouping: textfind.Grouping{Limit: searchGroups}, highlight: textfind.Highlighting{Pre: "<em>", Post: "</em>", Number: 1}}
	if !post {
		for _, p := range pairs {
			if set := searchParams[p.Name]; set != nil {
				if err := set(q, listValue{text: p.Value}); err != nil {
					return nil, err
				}
			}
		}
		return q, nil
	}
	for _, m := range body {
		if set := searchParams[m.Name]; set != nil && jsonscan.KindOf(m.Value) != jsonscan.Null {
			if err := set(q, listValue{raw: m.Value}); err != nil {
				return nil, err
			}
		}
	}
	if p, ok := pairs.Get("partition"); ok {
		if q.partition != nil && *q.partition != p {
			return nil, errManyPartitions
		}
		q.partition = &p
	}
	return q, nil
}

var errManyPartitions = dberr.New(dberr.Invalid, "bad_request", "Multiple conflicting values for `partition` provided")
