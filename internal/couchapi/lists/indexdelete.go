package lists

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

var errNoIndex = dberr.New(dberr.NotFound, "not_found", "missing")

// noIndexPage answers the paths below _index that name no index.
func noIndexPage(*couchhttp.Request) error { return errNoIndex }

// deleteIndex answers DELETE of an index: it leaves the design document, which goes with
// its last one.
func deleteIndex(r *couchhttp.Request) error {
	id, err := document.ParseID(inDesigns(r.Arg("ddoc")), r.API.Settings.Value().MaxID)
	if err != nil {
		return err
	}
	if err := r.Drain(); err != nil {
		return err
	}
	in, ok := map[string]string{"json": "views", "text": "indexes", "nouveau": "nouveau", "geo": "st_indexes"}[r.Arg("type")]
	if !ok {
		return errNoIndex
	}
	for try := 0; ; try++ {
		err = removeIndex(r, id, in, r.Arg("name"))
		if !dberr.Is(err, dberr.Conflict) || try == indexRetries {
			break
		}
	}
	if err != nil {
		return err
	}
	return r.OK(http.StatusOK)
}

// inDesigns returns the id of a design document that is named with or without
// the prefix.
func inDesigns(name string) string {
	if strings.HasPrefix(name, "_design/") {
		return name
	}
	return "_design/" + name
}

func removeIndex(r *couchhttp.Request, id document.ID, in, name string) error {
	old, err := queryDesign(r, id)
	if err != nil {
		return err
	}
	all, _ := jsonscan.Member(old.Body, in)
	if _, ok := jsonscan.Member(all, name); jsonscan.KindOf(all) != jsonscan.Object || !ok {
		return errNoIndex
	}
	if all = jsonscan.With(all, name, nil); string(all) == "{}" {
		all = nil
	}
	body := jsonscan.With(old.Body, in, all)
	if !holds(body, "views") && !holds(body, "indexes") && !holds(body, "nouveau") && !holds(body, "st_indexes") {
		return writeDesign(r, deletion(old))
	}
	return writeDesign(r, &document.Edit{ID: id, Parent: old.Rev, Body: body, Attachments: couchhttp.Stubs(old.Attachments)})
}

// holds reports whether a design document has indexes in a member.
func holds(body []byte, in string) bool {
	all, ok := jsonscan.Member(body, in)
	return ok && string(all) != "{}"
}

func deletion(rev *store.Revision) *document.Edit {
	return &document.Edit{ID: rev.ID, Parent: rev.Rev, Deleted: true, Body: []byte("{}")}
}

// queryDesign reads a design document that holds indexes.
func queryDesign(r *couchhttp.Request, id document.ID) (*store.Revision, error) {
	old, err := design(r, id)
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
func bulkDeleteIndexes(r *couchhttp.Request) error {
	raw, err := mangoBody(r)
	if err != nil {
		return err
	}
	ids, err := parseDesignIDs(raw)
	if err != nil {
		return err
	}
	var success, fail [][]byte
	for _, name := range ids {
		id, err := document.ParseID(name, r.API.Settings.Value().MaxID)
		if err == nil {
			err = deleteDesign(r, id)
		}
		b := couchhttp.AppendString([]byte(`{"id":`), name)
		if err == nil {
			success = append(success, append(b, `,"ok":true}`...))
			continue
		}
		status, word, _ := couchhttp.Words(err)
		if status >= http.StatusInternalServerError {
			return err
		}
		b = couchhttp.AppendString(append(b, `,"error":`...), word)
		fail = append(fail, append(b, '}'))
	}
	// The last comes first: so CouchDB answers.
	slices.Reverse(success)
	slices.Reverse(fail)
	return r.Build(http.StatusOK, func(b []byte) []byte {
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

func deleteDesign(r *couchhttp.Request, id document.ID) (err error) {
	for range indexRetries {
		var old *store.Revision
		if old, err = queryDesign(r, id); err != nil {
			return err
		}
		if err = writeDesign(r, deletion(old)); !dberr.Is(err, dberr.Conflict) {
			return err
		}
	}
	return err
}

// parseDesignIDs parses the member docids.
func parseDesignIDs(body []byte) (ids []string, err error) {
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
