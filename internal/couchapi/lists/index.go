package lists

import (
	"errors"
	"net/http"
	"time"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/store"
)

// indexList is what GET _index takes of a query.
type indexList struct{ limit, skip int }

var errIndexList = dberr.New(dberr.Invalid, "invalid_list_index_params", "Index parameter ranges: limit > 1, skip > 0")

var indexListParams = couchhttp.Params[indexList]{
	"limit": func(l *indexList, v string) (err error) {
		if l.limit, err = couchhttp.ParseCount(v); err != nil || l.limit == 0 {
			return errIndexList
		}
		return nil
	},
	"skip": func(l *indexList, v string) (err error) {
		if l.skip, err = couchhttp.ParseCount(v); err != nil {
			return errIndexList
		}
		return nil
	},
}

// listIndexes answers GET _index.
func listIndexes(r *couchhttp.Request) error {
	if err := r.MaySeeDesigns(); err != nil {
		return err
	}
	l := indexList{limit: -1}
	if err := indexListParams.Read(r.Query, &l); err != nil {
		return err
	}
	all := []*index.Named{nil}
	err := r.Scope.Namespace().View(r.Ctx(), func(rd *store.Reader) error {
		set, err := index.Of(rd)
		if err != nil {
			return err
		}
		for i := range set.Named {
			if n := &set.Named[i]; n.Kind == field.KindName || mangoText(n) != nil || mangoGeo(n) != nil {
				all = append(all, n)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	shown := all[min(l.skip, len(all)):]
	if l.limit >= 0 {
		shown = shown[:min(l.limit, len(shown))]
	}
	return r.Build(http.StatusOK, func(b []byte) []byte {
		b = couchhttp.AppendCount(b, `{"total_rows":`, uint64(len(all)))
		b = append(b, `,"indexes":[`...)
		for i, n := range shown {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendIndex(b, n, r.Scope)
		}
		return append(b, "]}"...)
	})
}

// indexRetries is how often a design document is written again that others
// change at the same time.
const indexRetries = 20

// createIndex answers POST _index: it writes the design document that is the
// index.
func createIndex(r *couchhttp.Request) error {
	raw, err := mangoBody(r)
	if err != nil {
		return err
	}
	def, err := parseIndexDefinition(raw, r.API.Settings.Value().Nouveau)
	if err == nil && def.all {
		err = mayIndexAll(r)
	}
	if err != nil {
		return err
	}
	id, err := indexDesign(r, def)
	if err != nil {
		return err
	}
	result := ""
	for try := 0; ; try++ {
		result, err = writeIndex(r, id, def)
		if !dberr.Is(err, dberr.Conflict) || try == indexRetries {
			break
		}
	}
	if err != nil {
		return err
	}
	kind, _ := def.kind()
	if err := awaitIndex(r, id, kind, def.name); err != nil {
		return err
	}
	return r.Build(http.StatusOK, func(b []byte) []byte {
		b = couchhttp.AppendString(append(b, `{"result":`...), result)
		b = couchhttp.AppendString(append(b, `,"id":`...), string(id))
		b = couchhttp.AppendString(append(b, `,"name":`...), def.name)
		return append(b, '}')
	})
}

// mayIndexAll refuses a text index of all fields if [mango] index_all_disabled says so.
func mayIndexAll(r *couchhttp.Request) error {
	switch r.API.Settings.Value().IndexAll {
	case "true":
		return dberr.New(dberr.Forbidden, "index_all_disabled", "New text indexes are forbidden to index all fields.")
	case "warn":
		r.API.Log.WarnContext(r.Ctx(), "a text index of all fields is made", "database", r.Scope.Name(), "user", r.Caller.Name)
	}
	return nil
}

// indexDesign returns the id of the design document for an index: the one that has it
// already, if it was made when the name of an index did not count for that.
func indexDesign(r *couchhttp.Request, def *indexDefinition) (document.ID, error) {
	if def.former != "" {
		old, err := design(r, document.ID(def.former))
		if err != nil {
			return "", err
		}
		if old != nil {
			if _, exists, err := def.into(def.former, old.Body); exists && err == nil {
				return document.ID(def.former), nil
			}
		}
	}
	return document.ParseID(def.design, r.API.Settings.Value().MaxID)
}

// indexWait is how long the answer to a new index waits for its build. For a
// small database that is all of it, and the query that follows has its index.
const indexWait = time.Second

// awaitIndex waits a little for an index that is being built.
func awaitIndex(r *couchhttp.Request, id document.ID, kind, name string) error {
	s, err := r.API.Indexes.Session(r.Ctx(), r.Scope, id, kind, name)
	if s == nil || err != nil || s.Index.State != index.Building {
		return err
	}
	if _, err = s.Built(r.Ctx(), indexWait); r.Ctx().Err() == nil && errors.Is(err, index.ErrGone) {
		return nil
	}
	return err
}

// writeIndex puts an index into its design document and reports whether it was
// there.
func writeIndex(r *couchhttp.Request, id document.ID, def *indexDefinition) (result string, err error) {
	old, err := design(r, id)
	if err != nil {
		return "", err
	}
	e := document.Edit{ID: id}
	if old == nil {
		e.Body = def.newDesign()
	} else {
		var exists bool
		if e.Body, exists, err = def.into(string(id), old.Body); exists || err != nil {
			return "exists", err
		}
		e.Parent, e.Attachments = old.Rev, couchhttp.Stubs(old.Attachments)
	}
	return "created", writeDesign(r, &e)
}

// design reads a design document, nil if there is none.
func design(r *couchhttp.Request, id document.ID) (rev *store.Revision, err error) {
	err = r.Scope.Namespace().Unredacted().View(r.Ctx(), func(rd *store.Reader) error { // admission says who may write it
		rev, err = rd.Winner(id)
		return err
	})
	if dberr.Is(err, dberr.NotFound) && !r.DB.Dropped() {
		return nil, nil
	}
	return rev, err
}

// writeDesign stores an edit of a design document where those lie that apply to the
// scope.
func writeDesign(r *couchhttp.Request, e *document.Edit) error {
	r.API.Stats.DocWrites.Add(1)
	results, err := r.Scope.Namespace().Write(r.Ctx(), []document.Edit{*e}, store.WriteOptions{})
	if err != nil {
		return err
	}
	r.Wrote = max(r.Wrote, results[0].Seq)
	return results[0].Err
}
