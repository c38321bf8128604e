package admin

import (
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"iter"
	"net/http"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
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

var dbRangeParams = couchhttp.Params[dbRange]{
	"startkey":  startName,
	"start_key": startName,
	"endkey":    endName,
	"end_key":   endName,
	"limit": func(d *dbRange, v string) (err error) {
		d.limited = true
		d.limit, err = couchhttp.ParseCount(v)
		return err
	},
	"skip":          couchhttp.CountParam(func(d *dbRange) *int { return &d.skip }),
	"descending":    couchhttp.BoolParam(func(d *dbRange) *bool { return &d.descending }),
	"inclusive_end": couchhttp.BoolParam(func(d *dbRange) *bool { return &d.inclusiveEnd }),
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
		return "", couchhttp.ErrNotJSON
	}
	if json.Unmarshal([]byte(v), &s) != nil {
		return "", couchhttp.QueryError("Invalid value for string: %s", v)
	}
	return s, nil
}

// dbNames reads the parameters and returns the names that they select.
func dbNames(r *couchhttp.Request) (iter.Seq2[string, error], error) {
	if !r.API.Settings.Value().AllDBsOpen {
		if err := auth.RequireServerAdmin(r.Caller); err != nil {
			return nil, err
		}
	}
	d := dbRange{inclusiveEnd: true}
	if err := dbRangeParams.Read(r.Query, &d); err != nil {
		return nil, err
	}
	low, high := d.start, d.end
	if d.descending {
		low, high = d.end, d.start
	}
	return d.cut(r.API.Store.Names(r.Ctx(), low, high, d.descending)), nil
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

// AllDBs answers GET /_all_dbs.
func AllDBs(r *couchhttp.Request) error {
	names, err := dbNames(r)
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
	return tagged(r, couchhttp.AppendStrings(nil, list))
}

// tagged answers with JSON under an ETag of its bytes.
func tagged(r *couchhttp.Request, body []byte) error {
	h := fnv.New128a()
	h.Write(body)
	r.Etag(hex.EncodeToString(h.Sum(nil)))
	if r.Unmodified() {
		return nil
	}
	return r.JSON(http.StatusOK, body)
}

// DbsInfoRange answers GET /_dbs_info.
func DbsInfoRange(r *couchhttp.Request) error {
	names, err := dbNames(r)
	if err != nil {
		return err
	}
	b := []byte{'['}
	for name, err := range names {
		if err != nil {
			return err
		}
		if b, err = appendNamedInfo(r, b, name, false); err != nil {
			return err
		}
	}
	return tagged(r, append(b, ']'))
}

// DbsInfoKeys answers POST /_dbs_info.
func DbsInfoKeys(r *couchhttp.Request) error {
	if !r.API.Settings.Value().AllDBsOpen {
		if err := auth.RequireServerAdmin(r.Caller); err != nil {
			return err
		}
	}
	names, err := namesInBody(r)
	if err != nil {
		return err
	}
	b := []byte{'['}
	for _, name := range names {
		if b, err = appendNamedInfo(r, b, name, true); err != nil {
			return err
		}
	}
	return r.JSON(http.StatusOK, append(b, ']'))
}

func namesInBody(r *couchhttp.Request) ([]string, error) {
	members, err := r.Object()
	if err != nil {
		return nil, err
	}
	keys := couchhttp.MemberOf(members, "keys")
	if keys == nil {
		return nil, dberr.New(dberr.Invalid, "bad_request", "`keys` member must exist.")
	}
	var list []any
	if json.Unmarshal(keys, &list) != nil || list == nil {
		return nil, dberr.New(dberr.Invalid, "bad_request", "`keys` member must be an array.")
	}
	if most := r.API.Settings.Value().MaxDBsInfo; most > 0 && len(list) > most {
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
func appendNamedInfo(r *couchhttp.Request, b []byte, name string, told bool) ([]byte, error) {
	end := len(b)
	if b[end-1] != '[' {
		b = append(b, ',')
	}
	b = couchhttp.AppendString(append(b, `{"key":`...), name)
	db, err := r.API.Store.Database(r.Ctx(), name)
	if err == nil {
		var with []byte
		with, err = r.AppendInfo(append(b, `,"info":`...), db.Whole())
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
	return b[:end], nil
}
