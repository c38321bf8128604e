package migrate

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/jsonscan"
)

// changedDocument returns a document as the target gets it. known are new ids of documents that it refers to.
func (r *run) changedDocument(doc []byte, id string, known map[string]string) []byte {
	if !strings.HasPrefix(id, designPrefix) {
		return r.rewrite(doc, id, func(old string) (string, bool) {
			to := known[old]
			if to == "" {
				r.unresolved.Add(1)
			}
			return to, to != ""
		})
	}
	doc, other := global(doc)
	if other {
		r.say("%s asks the whole database from now on: options.partitioned is false in it", id)
	}
	return doc
}

// lookUp returns the new ids of documents that others refer to: by where they are, or, if they have not come yet, by what
// the source says of them.
func (r *run) lookUp(ctx context.Context, docs [][]byte) (map[string]string, error) {
	if len(r.References) == 0 {
		return nil, nil
	}
	known := map[string]string{}
	var ask []string
	for _, doc := range docs {
		for _, leaf := range leavesOf(doc) {
			r.references(leaf, func(id string) {
				if _, seen := known[id]; seen {
					return
				}
				p, _, there := r.places.get(id)
				if known[id] = ""; there {
					known[id] = r.newID(id, p)
				} else {
					ask = append(ask, id)
				}
			})
		}
	}
	if len(ask) == 0 {
		return known, nil
	}
	slices.Sort(ask)
	var answer struct {
		Rows []struct {
			ID  string
			Doc json.RawMessage
		}
	}
	if err := r.Source.JSON(ctx, http.MethodPost, "/_all_docs?include_docs=true", map[string][]string{"keys": ask}, &answer); err != nil {
		return nil, err
	}
	for _, row := range answer.Rows {
		if jsonscan.KindOf(row.Doc) != jsonscan.Object {
			continue
		}
		if p, why := r.partition(row.ID, row.Doc); why == "" {
			known[row.ID] = r.newID(row.ID, p)
		}
	}
	return known, nil
}

// leavesOf returns the documents in a result of a _bulk_get, or the document itself.
func leavesOf(raw []byte) (docs [][]byte) {
	list, ok := jsonscan.Member(raw, "docs")
	if _, document := jsonscan.Member(raw, "_id"); document || !ok {
		return [][]byte{raw}
	}
	for e := jsonscan.ElementsOf(list); ; {
		one, ok := e.Next()
		if !ok {
			return docs
		}
		if doc, ok := jsonscan.Member(one, "ok"); ok {
			docs = append(docs, doc)
		}
	}
}
