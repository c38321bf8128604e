package couchapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/store"
)

// indexList is what GET _index takes of a query.
type indexList struct{ limit, skip int }

var errIndexList = dberr.New(dberr.Invalid, "invalid_list_index_params", "Index parameter ranges: limit > 1, skip > 0")

var indexListParams = params[indexList]{
	"limit": func(l *indexList, v string) (err error) {
		if l.limit, err = parseCount(v); err != nil || l.limit == 0 {
			return errIndexList
		}
		return nil
	},
	"skip": func(l *indexList, v string) (err error) {
		if l.skip, err = parseCount(v); err != nil {
			return errIndexList
		}
		return nil
	},
}

// listIndexes answers GET _index.
func listIndexes(r *request) error {
	if err := r.maySeeDesigns(); err != nil {
		return err
	}
	l := indexList{limit: -1}
	if err := indexListParams.read(r.Query, &l); err != nil {
		return err
	}
	all := []*index.Named{nil}
	err := r.scope.Namespace().View(r.Ctx(), func(rd *store.Reader) error {
		set, err := index.Of(rd)
		if err != nil {
			return err
		}
		for i := range set.Named {
			if set.Named[i].Kind == field.KindName {
				all = append(all, &set.Named[i])
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
	return r.build(http.StatusOK, func(b []byte) []byte {
		b = appendCount(b, `{"total_rows":`, uint64(len(all)))
		b = append(b, `,"indexes":[`...)
		for i, n := range shown {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendIndex(b, n)
		}
		return append(b, "]}"...)
	})
}

// indexRetries is how often a design document is written again that others
// change at the same time.
const indexRetries = 20

// createIndex answers POST _index: it writes the design document that is the
// index.
func createIndex(r *request) error {
	raw, err := r.mangoBody()
	if err != nil {
		return err
	}
	def, err := readIndexDefinition(raw)
	if err != nil {
		return err
	}
	id, err := r.indexDesign(def)
	if err != nil {
		return err
	}
	result := ""
	for try := 0; ; try++ {
		result, err = r.writeIndex(id, def)
		if !dberr.Is(err, dberr.Conflict) || try == indexRetries {
			break
		}
	}
	if err != nil {
		return err
	}
	if err := r.awaitIndex(id, def.name); err != nil {
		return err
	}
	return r.build(http.StatusOK, func(b []byte) []byte {
		b = appendString(append(b, `{"result":`...), result)
		b = appendString(append(b, `,"id":`...), string(id))
		b = appendString(append(b, `,"name":`...), def.name)
		return append(b, '}')
	})
}

// indexDesign returns the id of the design document for an index: the one that has it
// already, if it was made when the name of an index did not count for that.
func (r *request) indexDesign(def *indexDefinition) (document.ID, error) {
	if def.former != "" {
		old, err := r.design(document.ID(def.former))
		if err != nil {
			return "", err
		}
		if old != nil {
			if _, exists, err := def.into(def.former, old.Body); exists && err == nil {
				return document.ID(def.former), nil
			}
		}
	}
	return document.ParseID(def.design, r.api.settings.Value().maxID)
}

// indexPatience is how long the answer to a new index waits for its build. For a
// small database that is all of it, and the query that follows has its index.
const indexPatience = time.Second

// awaitIndex waits a little for an index that is being built.
func (r *request) awaitIndex(id document.ID, name string) error {
	s, err := r.api.indexes.Session(r.Ctx(), r.scope, id, field.KindName, name)
	if s == nil || err != nil || s.Index.State != index.Building {
		return err
	}
	if _, err = s.Built(r.Ctx(), indexPatience); r.Ctx().Err() == nil && errors.Is(err, index.ErrGone) {
		return nil
	}
	return err
}

// writeIndex puts an index into its design document and reports whether it was
// there.
func (r *request) writeIndex(id document.ID, def *indexDefinition) (result string, err error) {
	old, err := r.design(id)
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
		e.Parent, e.Attachments = old.Rev, stubs(old.Attachments)
	}
	return "created", r.writeDesign(&e)
}

// design reads a design document, nil if there is none.
func (r *request) design(id document.ID) (rev *store.Revision, err error) {
	err = r.scope.Namespace().Unredacted().View(r.Ctx(), func(rd *store.Reader) error { // admission says who may write it
		rev, err = rd.Winner(id)
		return err
	})
	if dberr.Is(err, dberr.NotFound) && !r.db.Dropped() {
		return nil, nil
	}
	return rev, err
}

// writeDesign stores an edit of a design document where those lie that apply to the
// scope.
func (r *request) writeDesign(e *document.Edit) error {
	r.api.stats.docWrites.Add(1)
	results, err := r.scope.Namespace().Write(r.Ctx(), []document.Edit{*e}, store.WriteOptions{})
	if err != nil {
		return err
	}
	r.wrote = max(r.wrote, results[0].Seq)
	return results[0].Err
}
