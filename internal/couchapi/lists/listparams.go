package lists

import (
	"math"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/web"
)

// listQuery is what a list of documents was asked for.
type listQuery struct {
	form       couchhttp.DocForm
	start, end listBound
	key        listBound
	keys       [][]byte // JSON; nil if not asked by keys
	exclusive  bool     // the end itself is left out
	descending bool
	limit      int // below 0: none
	skip       int
	updateSeq  bool
	unsorted   bool
	partition  *string
	reduce     bool
	group      bool
}

// listBound is a key or an end of a range. Ids are strings, and every JSON
// value that is not a string sorts before all of them.
type listBound struct {
	set  bool
	text bool // it is a string
	id   string
}

// listValue is a parameter: text from the query string, or JSON from a body.
type listValue struct {
	text string
	raw  []byte
}

// json returns the value of a parameter that is JSON in both places.
func (v listValue) json() ([]byte, error) {
	if v.raw != nil {
		return v.raw, nil
	}
	raw := []byte(v.text)
	return raw, couchhttp.CheckJSON(raw)
}

// word returns the value of a parameter that is a word in the query string, and
// a string or another plain value in a body.
func (v listValue) word() string {
	switch jsonscan.KindOf(v.raw) {
	case jsonscan.Invalid:
		return v.text
	case jsonscan.String:
		return string(jsonscan.Text(nil, v.raw))
	}
	return string(v.raw)
}

// quoted returns the value as CouchDB names it in errors.
func (v listValue) quoted() string {
	switch {
	case v.raw == nil && v.text == "":
		return "[]"
	case v.raw == nil:
		return `"` + v.text + `"`
	case jsonscan.KindOf(v.raw) == jsonscan.String:
		return `<<"` + v.word() + `">>`
	}
	return string(v.raw)
}

func (v listValue) count() (int, error) {
	text := v.text
	if v.raw != nil {
		text = string(v.raw)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, couchhttp.QueryError("Invalid value for integer: %s", v.quoted())
	}
	if n < 0 {
		return 0, couchhttp.QueryError("Invalid value for positive integer: %s", v.quoted())
	}
	return n, nil
}

// listParams are the parameters of lists, in a query string or a body.
var listParams = map[string]func(*listQuery, listValue) error{
	"key":               boundParam(func(q *listQuery) *listBound { return &q.key }),
	"startkey":          boundParam(func(q *listQuery) *listBound { return &q.start }),
	"start_key":         boundParam(func(q *listQuery) *listBound { return &q.start }),
	"endkey":            boundParam(func(q *listQuery) *listBound { return &q.end }),
	"end_key":           boundParam(func(q *listQuery) *listBound { return &q.end }),
	"keys":              (*listQuery).setKeys,
	"include_docs":      flagParam(func(q *listQuery) *bool { return &q.form.Include }),
	"conflicts":         flagParam(func(q *listQuery) *bool { return &q.form.Conflicts }),
	"attachments":       flagParam(func(q *listQuery) *bool { return &q.form.Data }),
	"att_encoding_info": flagParam(func(q *listQuery) *bool { return &q.form.Encoding }),
	"descending":        flagParam(func(q *listQuery) *bool { return &q.descending }),
	"update_seq":        flagParam(func(q *listQuery) *bool { return &q.updateSeq }),
	"reduce":            flagParam(func(q *listQuery) *bool { return &q.reduce }),
	"group":             flagParam(func(q *listQuery) *bool { return &q.group }),
	"inclusive_end":     negatedParam(func(q *listQuery) *bool { return &q.exclusive }),
	"sorted":            negatedParam(func(q *listQuery) *bool { return &q.unsorted }),
	"group_level": func(q *listQuery, v listValue) error {
		n, err := v.count()
		q.group = q.group || n > 0
		return err
	},
	"limit": func(q *listQuery, v listValue) (err error) {
		q.limit, err = v.count()
		return err
	},
	"skip": func(q *listQuery, v listValue) (err error) {
		q.skip, err = v.count()
		return err
	},
	"stale":  wordParam("stale", "ok", "update_after"),
	"update": wordParam("update", "true", "false", "lazy"),
	"stable": wordParam("stable", "true", "false"),
	"partition": func(q *listQuery, v listValue) error {
		p := v.word()
		q.partition = &p
		if v.raw != nil && jsonscan.KindOf(v.raw) != jsonscan.String {
			return couchhttp.QueryError("Invalid value for `partition`.")
		}
		return nil
	},
}

func flagParam(field func(*listQuery) *bool) func(*listQuery, listValue) error {
	return func(q *listQuery, v listValue) error {
		switch word := v.word(); {
		case strings.EqualFold(word, "true"):
			*field(q) = true
		case strings.EqualFold(word, "false"):
			*field(q) = false
		default:
			return couchhttp.QueryError("Invalid boolean parameter: %s", v.quoted())
		}
		return nil
	}
}

func negatedParam(field func(*listQuery) *bool) func(*listQuery, listValue) error {
	set := flagParam(field)
	return func(q *listQuery, v listValue) error {
		err := set(q, v)
		*field(q) = !*field(q)
		return err
	}
}

// wordParam is a parameter of views that has no meaning here, where a list is
// never behind; its values are checked all the same.
func wordParam(name string, words ...string) func(*listQuery, listValue) error {
	return func(_ *listQuery, v listValue) error {
		for _, w := range words {
			if v.word() == w {
				return nil
			}
		}
		return couchhttp.QueryError("Invalid value for `" + name + "`.")
	}
}

func boundParam(field func(*listQuery) *listBound) func(*listQuery, listValue) error {
	return func(q *listQuery, v listValue) error {
		raw, err := v.json()
		if err != nil {
			return err
		}
		*field(q) = boundOf(raw)
		return nil
	}
}

func boundOf(raw []byte) listBound {
	raw = jsonscan.Trim(raw)
	b := listBound{set: true, text: jsonscan.KindOf(raw) == jsonscan.String}
	if b.text {
		b.id = string(jsonscan.Text(nil, raw))
	}
	return b
}

// limited reports whether the query named a limit.
func (q *listQuery) limited() bool { return q.limit != math.MaxInt }

func (q *listQuery) setKeys(v listValue) (err error) {
	q.keys, err = v.keys("`keys` body member must be an array.")
	return err
}

// keys reads an array of keys; inBody is what a body is told that has none.
func (v listValue) keys(inBody string) ([][]byte, error) {
	raw, err := v.json()
	if err != nil {
		return nil, err
	}
	if jsonscan.KindOf(raw) != jsonscan.Array {
		if v.raw != nil {
			return nil, dberr.New(dberr.Invalid, "bad_request", inBody)
		}
		return nil, couchhttp.QueryError("`keys` must be an array of strings.")
	}
	keys := [][]byte{}
	for it := jsonscan.ElementsOf(jsonscan.Trim(raw)); ; {
		e, ok := it.Next()
		if !ok {
			return keys, nil
		}
		keys = append(keys, e)
	}
}

// ParseListQuery parses the parameters of a body, then those of the query
// string, which win.
func ParseListQuery(body []document.Member, pairs web.Query) (listQuery, error) {
	q := listQuery{limit: -1}
	for _, m := range body {
		if set := listParams[m.Name]; set != nil {
			if err := set(&q, listValue{raw: m.Value}); err != nil {
				return q, err
			}
		}
	}
	for _, p := range pairs {
		if set := listParams[p.Name]; set != nil {
			if err := set(&q, listValue{text: p.Value}); err != nil {
				return q, err
			}
		}
	}
	return q, q.check()
}

// check refuses parameters that do not go together.
func (q *listQuery) check() error {
	switch {
	case q.keys != nil && (q.key.set || q.start.set || q.end.set):
		return couchhttp.QueryError("`keys` is incompatible with `key`, `start_key` and `end_key`")
	case q.reduce:
		return couchhttp.QueryError("Reduce is invalid for map-only views.")
	case q.group:
		return couchhttp.QueryError("Invalid use of grouping on a map view.")
	}
	if q.key.set {
		q.start, q.end, q.exclusive = q.key, q.key, false
	}
	q.form.Conflicts = q.form.Conflicts && q.form.Include
	q.form.Data = q.form.Data && q.form.Include
	if q.limit < 0 {
		q.limit = math.MaxInt
	}
	return nil
}
