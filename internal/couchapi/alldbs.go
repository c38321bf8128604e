package couchapi

import (
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"iter"
	"net/http"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// dbRange is what _all_dbs and _dbs_info take of a query.
type dbRange struct {
	start, end   string
	hasEnd       bool
	descending   bool
	limited      bool
	limit, skip  int
	inclusiveEnd bool
}

var dbRangeParams = params[dbRange]{
	"startkey":  startName,
	"start_key": startName,
	"endkey":    endName,
	"end_key":   endName,
	"limit": func(d *dbRange, v string) (err error) {
		d.limited = true
		d.limit, err = parseCount(v)
		return err
	},
	"skip":          countParam(func(d *dbRange) *int { return &d.skip }),
	"descending":    boolParam(func(d *dbRange) *bool { return &d.descending }),
	"inclusive_end": boolParam(func(d *dbRange) *bool { return &d.inclusiveEnd }),
}

func startName(d *dbRange, v string) (err error) {
	d.start, err = nameParam(v)
	return err
}

func endName(d *dbRange, v string) (err error) {
	d.hasEnd = true
	d.end, err = nameParam(v)
	return err
}

// nameParam reads a name given as JSON.
func nameParam(v string) (string, error) {
	var s string
	if !json.Valid([]byte(v)) {
		return "", errNotJSON
	}
	if json.Unmarshal([]byte(v), &s) != nil {
		return "", queryError("Invalid value for string: %s", v)
	}
	return s, nil
}

var errNotJSON = document.ErrNotJSON

// dbNames reads the parameters and gives the names that they select.
func (r *request) dbNames() (iter.Seq2[string, error], error) {
	if !r.api.settings.Value().allDBsOpen {
		if err := auth.RequireServerAdmin(r.Caller); err != nil {
			return nil, err
		}
	}
	d := dbRange{inclusiveEnd: true}
	if err := dbRangeParams.read(r.Query, &d); err != nil {
		return nil, err
	}
	low, high := d.start, d.end
	if d.descending {
		low, high = d.end, d.start
	}
	return d.cut(r.api.store.Names(r.Ctx(), low, high, d.descending)), nil
}

// cut applies what a range of the store does not know: limit, skip and an end
// that is left out.
func (d *dbRange) cut(names iter.Seq2[string, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		seen := 0
		for name, err := range names {
			if err != nil {
				yield("", err)
				return
			}
			if d.limited && seen >= d.skip+d.limit {
				return
			}
			if d.hasEnd && !d.inclusiveEnd && name == d.end {
				continue
			}
			if seen++; seen <= d.skip {
				continue
			}
			if !yield(name, nil) {
				return
			}
		}
	}
}

// allDBs answers GET /_all_dbs.
func allDBs(r *request) error {
	names, err := r.dbNames()
	if err != nil {
		return err
	}
	list := []string{}
	for name, err := range names {
		if err != nil {
			return err
		}
		list = append(list, name)
	}
	return r.tagged(appendStrings(nil, list))
}

// tagged answers with JSON under an ETag of its bytes.
func (r *request) tagged(body []byte) error {
	h := fnv.New128a()
	h.Write(body)
	r.Etag(hex.EncodeToString(h.Sum(nil)))
	if r.Unmodified() {
		return nil
	}
	return r.json(http.StatusOK, body)
}

// dbsInfoRange answers GET /_dbs_info.
func dbsInfoRange(r *request) error {
	names, err := r.dbNames()
	if err != nil {
		return err
	}
	b := []byte{'['}
	for name, err := range names {
		if err != nil {
			return err
		}
		if b, err = r.appendNamedInfo(b, name, false); err != nil {
			return err
		}
	}
	return r.tagged(append(b, ']'))
}

// dbsInfoKeys answers POST /_dbs_info.
func dbsInfoKeys(r *request) error {
	if !r.api.settings.Value().allDBsOpen {
		if err := auth.RequireServerAdmin(r.Caller); err != nil {
			return err
		}
	}
	names, err := r.namesInBody()
	if err != nil {
		return err
	}
	b := []byte{'['}
	for _, name := range names {
		if b, err = r.appendNamedInfo(b, name, true); err != nil {
			return err
		}
	}
	return r.json(http.StatusOK, append(b, ']'))
}

func (r *request) namesInBody() ([]string, error) {
	members, err := r.object()
	if err != nil {
		return nil, err
	}
	keys := memberOf(members, "keys")
	if keys == nil {
		return nil, dberr.New(dberr.Invalid, "bad_request", "`keys` member must exist.")
	}
	var list []any
	if json.Unmarshal(keys, &list) != nil || list == nil {
		return nil, dberr.New(dberr.Invalid, "bad_request", "`keys` member must be an array.")
	}
	if most := r.api.settings.Value().maxDBsInfo; most > 0 && len(list) > most {
		return nil, dberr.New(dberr.Invalid, "bad_request", "too_many_keys")
	}
	names := make([]string, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, dberr.New(dberr.Invalid, "bad_request", "`keys` member must be an array of strings.")
		}
		names[i] = s
	}
	return names, nil
}

// appendNamedInfo appends {"key":…,"info":…}. A database that is not there is
// told of, or left out: it may have been dropped since it was listed.
func (r *request) appendNamedInfo(b []byte, name string, told bool) ([]byte, error) {
	mark := len(b)
	if b[mark-1] != '[' {
		b = append(b, ',')
	}
	b = appendString(append(b, `{"key":`...), name)
	db, err := r.api.store.Database(r.Ctx(), name)
	if err == nil {
		var with []byte
		with, err = r.appendInfo(append(b, `,"info":`...), db.Whole())
		if err == nil {
			return append(with, '}'), nil
		}
	}
	switch {
	case !dberr.Is(err, dberr.NotFound):
		return nil, err
	case told:
		return append(b, `,"error":"not_found"}`...), nil
	}
	return b[:mark], nil
}

// object reads a body that must be a JSON object, and gives its members.
func (r *request) object() ([]document.Member, error) {
	raw, err := r.jsonBody()
	if err != nil {
		return nil, err
	}
	return membersOf(raw)
}
