package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/sectional/sectional/internal/jsonscan"
)

// stored is a row of _all_docs.
type stored struct {
	ID    string
	Value struct {
		Rev     string
		Deleted bool
	}
	Doc json.RawMessage
}

// compare looks at what has the ids of documents that were not taken. One with the same content is this one, which a run
// before has stored, or a request whose answer was lost.
func (r *importing) compare(ctx context.Context, docs []entry) error {
	keys := make([]string, len(docs))
	for i, e := range docs {
		keys[i] = e.id
	}
	var answer struct{ Rows []stored }
	if err := r.Target.JSON(ctx, http.MethodPost, "/_all_docs?include_docs=true", map[string][]string{"keys": keys}, &answer); err != nil {
		return err
	}
	now := map[string]stored{}
	for _, row := range answer.Rows {
		now[row.ID] = row
	}
	var replacing []entry
	for _, e := range docs {
		there, ok := now[e.id]
		switch {
		case ok && alike(e.raw, there.Doc):
			r.count(func(d *Imported) { d.Unchanged++ })
		case r.Existing == Keep:
			r.count(func(d *Imported) { d.Kept++ })
		case r.Existing == Replace && ok && there.Value.Rev != "":
			e.raw = jsonscan.With(e.raw, "_rev", jsonscan.AppendQuoted(nil, there.Value.Rev))
			replacing = append(replacing, e)
		default:
			r.refused(e, "conflict", "There is another document of this id.")
		}
	}
	if len(replacing) == 0 {
		return nil
	}
	return r.store(ctx, replacing, false)
}

// alike reports whether two documents have the same members, but for revisions and attachments.
func alike(a, b []byte) bool {
	x, ok := members(a)
	y, also := members(b)
	return ok && also && reflect.DeepEqual(x, y)
}

func members(doc []byte) (map[string]any, bool) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var m map[string]any
	if d.Decode(&m) != nil || m == nil {
		return nil, false
	}
	for _, name := range []string{"_rev", "_revisions", "_attachments", "_conflicts"} {
		delete(m, name)
	}
	return m, true
}
