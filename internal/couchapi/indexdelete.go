package couchapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

var errNoIndex = dberr.New(dberr.NotFound, "not_found", "missing")

// noIndexPage answers the paths below _index that name no index.
func noIndexPage(*request) error { return errNoIndex }

// deleteIndex answers DELETE of an index: its view leaves the design document,
// which goes with its last one.
func deleteIndex(r *request) error {
	id, err := document.ParseID(inDesigns(r.arg("ddoc")), r.api.settings.Value().maxID)
	if err != nil {
		return err
	}
	if err := r.Drain(); err != nil {
		return err
	}
	if r.arg("type") != "json" {
		return errNoIndex
	}
	for try := 0; ; try++ {
		err = r.removeIndex(id, r.arg("name"))
		if !dberr.Is(err, dberr.Conflict) || try == indexRetries {
			break
		}
	}
	if err != nil {
		return err
	}
	return r.ok(http.StatusOK)
}

// inDesigns returns the id of a design document that is named with or without
// the prefix.
func inDesigns(name string) string {
	if strings.HasPrefix(name, "_design/") {
		return name
	}
	return "_design/" + name
}

func (r *request) removeIndex(id document.ID, name string) error {
	old, err := r.queryDesign(id)
	if err != nil {
		return err
	}
	views, _ := jsonscan.Member(old.Body, "views")
	if _, ok := jsonscan.Member(views, name); jsonscan.KindOf(views) != jsonscan.Object || !ok {
		return errNoIndex
	}
	if views = jsonscan.With(views, name, nil); string(views) == "{}" {
		return r.writeDesign(deletion(old))
	}
	return r.writeDesign(&document.Edit{ID: id, Parent: old.Rev, Body: jsonscan.With(old.Body, "views", views), Attachments: stubs(old.Attachments)})
}

func deletion(rev *store.Revision) *document.Edit {
	return &document.Edit{ID: rev.ID, Parent: rev.Rev, Deleted: true, Body: []byte("{}")}
}

// queryDesign reads a design document that holds indexes.
func (r *request) queryDesign(id document.ID) (*store.Revision, error) {
	old, err := r.design(id)
	if err != nil {
		return nil, err
	}
	if old == nil {
		return nil, errNoIndex
	}
	if language, _ := jsonscan.Member(old.Body, "language"); !jsonscan.NameIs(language, "query") {
		return nil, errNoIndex
	}
	return old, nil
}

// bulkDeleteIndexes answers POST _index/_bulk_delete: design documents go, one
// by one, and those that do not are told apart.
func bulkDeleteIndexes(r *request) error {
	raw, err := r.mangoBody()
	if err != nil {
		return err
	}
	ids, err := readDesignIDs(raw)
	if err != nil {
		return err
	}
	var success, fail [][]byte
	for _, name := range ids {
		id, err := document.ParseID(name, r.api.settings.Value().maxID)
		if err == nil {
			err = r.deleteDesign(id)
		}
		b := appendString([]byte(`{"id":`), name)
		if err == nil {
			success = append(success, append(b, `,"ok":true}`...))
			continue
		}
		status, word, _ := words(err)
		if status >= http.StatusInternalServerError {
			return err
		}
		b = appendString(append(b, `,"error":`...), word)
		fail = append(fail, append(b, '}'))
	}
	// The last comes first: so CouchDB answers.
	slices.Reverse(success)
	slices.Reverse(fail)
	return r.build(http.StatusOK, func(b []byte) []byte {
		b = appendJoined(append(b, `{"success":[`...), success)
		b = appendJoined(append(b, `],"fail":[`...), fail)
		return append(b, "]}"...)
	})
}

func appendJoined(b []byte, parts [][]byte) []byte {
	for i, p := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, p...)
	}
	return b
}

func (r *request) deleteDesign(id document.ID) (err error) {
	for range indexRetries {
		var old *store.Revision
		if old, err = r.queryDesign(id); err != nil {
			return err
		}
		if err = r.writeDesign(deletion(old)); !dberr.Is(err, dberr.Conflict) {
			return err
		}
	}
	return err
}

// readDesignIDs reads the member docids.
func readDesignIDs(body []byte) (ids []string, err error) {
	if err := onlyMembers(body, []string{"docids", "w"}); err != nil {
		return nil, err
	}
	v, ok := jsonscan.Member(body, "docids")
	if !ok {
		return nil, missingMember("docids")
	}
	if jsonscan.KindOf(v) != jsonscan.Array {
		return nil, dberr.New(dberr.Invalid, "invalid_bulk_docs", "Bulk Delete requires an array of non-null docids. Docids: %s", selector.Term(v))
	}
	for it := jsonscan.ElementsOf(v); ; {
		e, ok := it.Next()
		if !ok {
			return ids, nil
		}
		if jsonscan.KindOf(e) != jsonscan.String {
			return nil, dberr.New(dberr.Invalid, "invalid_index_name", "Invalid index name: %s", selector.Term(e))
		}
		ids = append(ids, inDesigns(string(jsonscan.Text(nil, e))))
	}
}
