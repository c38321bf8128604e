package lists

import (
	"math"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/web"
)

// viewQuery is what a view was asked for.
type viewQuery struct {
	form       couchhttp.DocForm
	conflicts  bool // the parameter was given, whatever its value
	rows       view.Range
	keys       [][]byte // JSON; nil if not asked by keys
	limit      int
	limited    bool
	skip       int
	reduce     *bool
	group      *bool
	groupLevel *int
	update     viewUpdate
	updateSeq  bool
	partition  *string

	level   int  // of grouping, once checked
	reduced bool // rows are reductions, once checked
}

// viewUpdate says whether an answer waits for the index.
type viewUpdate string

const (
	updateFirst viewUpdate = "true"
	updateLater viewUpdate = "lazy"
	updateNever viewUpdate = "false"
)

// viewParams are the parameters of views, in a query string or a body.
var viewParams = map[string]func(*viewQuery, listValue) error{
	"key": func(q *viewQuery, v listValue) error {
		raw, err := v.json()
		q.rows.Start.Key, q.rows.End.Key = raw, raw
		return err
	},
	"startkey":          viewKey(func(q *viewQuery) *view.Bound { return &q.rows.Start }),
	"start_key":         viewKey(func(q *viewQuery) *view.Bound { return &q.rows.Start }),
	"endkey":            viewKey(func(q *viewQuery) *view.Bound { return &q.rows.End }),
	"end_key":           viewKey(func(q *viewQuery) *view.Bound { return &q.rows.End }),
	"startkey_docid":    viewID(func(q *viewQuery) *view.Bound { return &q.rows.Start }),
	"start_key_doc_id":  viewID(func(q *viewQuery) *view.Bound { return &q.rows.Start }),
	"endkey_docid":      viewID(func(q *viewQuery) *view.Bound { return &q.rows.End }),
	"end_key_doc_id":    viewID(func(q *viewQuery) *view.Bound { return &q.rows.End }),
	"keys":              (*viewQuery).setKeys,
	"include_docs":      viewFlag(func(q *viewQuery, b bool) { q.form.Include = b }),
	"conflicts":         viewFlag(func(q *viewQuery, b bool) { q.form.Conflicts, q.conflicts = b, true }),
	"attachments":       viewFlag(func(q *viewQuery, b bool) { q.form.Data = b }),
	"att_encoding_info": viewFlag(func(q *viewQuery, b bool) { q.form.Encoding = b }),
	"descending":        viewFlag(func(q *viewQuery, b bool) { q.rows.Descending = b }),
	"inclusive_end":     viewFlag(func(q *viewQuery, b bool) { q.rows.Exclusive = !b }),
	"reduce":            viewFlag(func(q *viewQuery, b bool) { q.reduce = &b }),
	"group":             viewFlag(func(q *viewQuery, b bool) { q.group = &b }),
	"update_seq":        viewFlag(func(q *viewQuery, b bool) { q.updateSeq = b }),
	"sorted":            viewFlag(func(*viewQuery, bool) {}), // rows are in order in any case
	"group_level": func(q *viewQuery, v listValue) error {
		n, err := v.count()
		q.groupLevel = &n
		return err
	},
	"limit": func(q *viewQuery, v listValue) (err error) {
		q.limit, err = v.count()
		q.limited = true
		return err
	},
	"skip": func(q *viewQuery, v listValue) (err error) {
		q.skip, err = v.count()
		return err
	},
	"update": func(q *viewQuery, v listValue) error {
		q.update = viewUpdate(v.word())
		switch q.update {
		case updateFirst, updateLater, updateNever:
			return nil
		}
		return couchhttp.QueryError("Invalid value for `update`.")
	},
	"stale": func(q *viewQuery, v listValue) error {
		switch v.word() {
		case "ok":
			q.update = updateNever
		case "update_after":
			q.update = updateLater
		default:
			return couchhttp.QueryError("Invalid value for `stale`.")
		}
		return nil
	},
	"stable": func(_ *viewQuery, v listValue) error {
		if w := v.word(); w != "true" && w != "false" {
			return couchhttp.QueryError("Invalid value for `stable`.")
		}
		return nil
	},
	"partition": func(q *viewQuery, v listValue) error {
		p := v.word()
		q.partition = &p
		if v.raw != nil && jsonscan.KindOf(v.raw) != jsonscan.String {
			return couchhttp.QueryError("Invalid value for `partition`.")
		}
		return nil
	},
}

func viewFlag(set func(*viewQuery, bool)) func(*viewQuery, listValue) error {
	return func(q *viewQuery, v listValue) error {
		switch word := v.word(); {
		case strings.EqualFold(word, "true"):
			set(q, true)
		case strings.EqualFold(word, "false"):
			set(q, false)
		case jsonscan.KindOf(v.raw) == jsonscan.String:
			return couchhttp.QueryError("Invalid boolean parameter: \"%s\"", word)
		default:
			return couchhttp.QueryError("Invalid boolean parameter: %s", v.quoted())
		}
		return nil
	}
}

func viewKey(bound func(*viewQuery) *view.Bound) func(*viewQuery, listValue) error {
	return func(q *viewQuery, v listValue) (err error) {
		bound(q).Key, err = v.json()
		return err
	}
}

func viewID(bound func(*viewQuery) *view.Bound) func(*viewQuery, listValue) error {
	return func(q *viewQuery, v listValue) error {
		b := bound(q)
		b.ID, b.ByID = document.ID(v.word()), true
		return nil
	}
}

func (q *viewQuery) setKeys(v listValue) (err error) {
	q.keys, err = v.keys("`keys` member must be an array.")
	return err
}

// oneKey makes of a single key among keys a range, which other parameters may
// change still, as in CouchDB.
func (q *viewQuery) oneKey() {
	if len(q.keys) == 1 {
		q.rows.Start.Key, q.rows.End.Key, q.keys = q.keys[0], q.keys[0], nil
	}
}

// ParseViewQuery parses the parameters of one query: keys first, then those of a
// body and those of the query string, which win.
func ParseViewQuery(body []document.Member, pairs web.Query) (q viewQuery, err error) {
	q = viewQuery{limit: math.MaxInt, update: updateFirst}
	if keys := couchhttp.MemberOf(body, "keys"); keys != nil {
		err = q.setKeys(listValue{raw: keys})
	} else if keys, ok := pairs.Get("keys"); ok {
		err = q.setKeys(listValue{text: keys})
	}
	if err != nil {
		return q, err
	}
	q.oneKey()
	if err := q.setMembers(body, "keys"); err != nil {
		return q, err
	}
	return q, q.setPairs(pairs)
}

func (q *viewQuery) setMembers(body []document.Member, except string) error {
	for _, m := range body {
		if set := viewParams[m.Name]; set != nil && m.Name != except {
			if err := set(q, listValue{raw: m.Value}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (q *viewQuery) setPairs(pairs web.Query) error {
	for _, p := range pairs {
		if set := viewParams[p.Name]; set != nil && p.Name != "keys" {
			if err := set(q, listValue{text: p.Value}); err != nil {
				return err
			}
		}
	}
	return nil
}

// check refuses parameters that do not go together, or not with the view, in
// CouchDB's order.
func (q *viewQuery) check(d *view.Def) error {
	q.reduced = d.Reduce != "" && (q.reduce == nil || *q.reduce)
	switch {
	case q.groupLevel != nil:
		if q.level = *q.groupLevel; q.group != nil && !*q.group && q.level > 0 {
			return couchhttp.QueryError("Can't specify group=false and group_level>0 at the same time")
		}
	case q.group != nil && *q.group:
		q.level = view.Exact
	}
	switch {
	case !q.reduced && q.reduce != nil && *q.reduce:
		return couchhttp.QueryError("Reduce is invalid for map-only views.")
	case q.reduced && q.level != view.Exact && q.keys != nil:
		return couchhttp.QueryError("Multi-key fetches for reduce views must use `group=true`")
	case len(q.keys) > 0 && (q.rows.Start.Key != nil || q.rows.End.Key != nil):
		return couchhttp.QueryError("`keys` is incompatible with `key`, `start_key` and `end_key`")
	case !q.reduced && q.level != 0:
		return couchhttp.QueryError("Invalid use of grouping on a map view.")
	case q.reduced && q.form.Include:
		return couchhttp.QueryError("`include_docs` is invalid for reduce")
	case q.reduced && q.conflicts:
		return couchhttp.QueryError("`conflicts` is invalid for reduce views.")
	}
	q.form.Conflicts = q.form.Conflicts && q.form.Include
	q.form.Data = q.form.Data && q.form.Include
	return nil
}

// checkRange refuses a range that no row can match.
func (q *viewQuery) checkRange(d *view.Def) error {
	if !q.rows.Inverted(d) {
		return nil
	}
	return couchhttp.QueryError("No rows can match your key range, reverse your start_key and end_key or set descending=%t", !q.rows.Descending)
}
