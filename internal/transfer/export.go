package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/couchclient"
	"github.com/sectional/sectional/internal/docfile"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/jsonstream"
	"github.com/sectional/sectional/internal/progress"
)

// Export is a task of writing the documents of a database, a partition or a selector into a file. The zero values of all
// but Source work: winning revisions, in the order of their ids, without what tells of revisions and attachments.
type Export struct {
	Source      *couchclient.Client
	Selector    json.RawMessage // nil: all
	Revs        bool            // with _rev and _revisions, so that they can be stored as the same revisions
	Attachments bool            // with attachments, in base64
	Conflicts   bool            // with conflicting revisions; implies Revs
	Deleted     bool            // with deleted documents; implies Revs
	NoDesign    bool            // without design documents
	Line        *progress.Line
}

// Exported is what an export wrote.
type Exported struct {
	Written int64 `json:"written"`  // documents, or revisions
	Stubs   int64 `json:"stripped"` // documents whose attachments were left out
}

// Rows of one request. With attachments they are fewer, since they come in base64.
const (
	pageRows      = 1000
	pageLeaves    = 300
	pageWithFiles = 20
)

// export is one run of an export.
type export struct {
	*Export
	to    docfile.Writer
	did   Exported
	total int64
}

// Run writes the documents. Errors: those of the client and of the writer. Pages are read one after the other: what is
// written to the source meanwhile may be there or not.
func (x *Export) Run(ctx context.Context, to docfile.Writer) (Exported, error) {
	r := &export{Export: x, to: to}
	var info struct {
		Total int64 `json:"doc_count"`
	}
	err := x.Source.JSON(ctx, http.MethodGet, "", nil, &info)
	r.total = info.Total
	switch {
	case err != nil:
	case x.Selector != nil && (x.Conflicts || x.Deleted || x.Revs):
		err = errors.New("documents of a selector come without their revisions")
	case x.Selector != nil:
		err = r.found(ctx)
	case x.Conflicts || x.Deleted || x.Revs:
		err = r.leaves(ctx)
	default:
		err = r.all(ctx)
	}
	if err == nil {
		err = to.Close()
	}
	return r.did, err
}

// all writes the winning revisions, page by page. A page that breaks off is asked for after its last row.
func (r *export) all(ctx context.Context) error {
	limit := pageRows
	if r.Attachments {
		limit = pageWithFiles
	}
	after := ""
	for failed := 0; ; {
		v := url.Values{"include_docs": {"true"}, "limit": {strconv.Itoa(limit)}}
		if r.Attachments {
			v.Set("attachments", "true")
		}
		if after != "" {
			v.Set("startkey", string(jsonscan.AppendQuoted(nil, after)))
			v.Set("skip", "1")
		}
		rows := 0
		err := r.page(ctx, couchclient.Request{Method: http.MethodGet, Path: "/_all_docs?" + v.Encode()}, "rows", func(row []byte) error {
			id, _ := jsonscan.Member(row, "id")
			doc, ok := jsonscan.Member(row, "doc")
			if !ok {
				return jsonstream.ErrForm
			}
			if err := r.write(doc); err != nil {
				return err
			}
			after, rows = string(jsonscan.Text(nil, id)), rows+1
			return nil
		})
		switch {
		case err != nil && rows == 0:
			if failed++; failed > 5 || !broken(err) {
				return err
			}
		case err != nil && !broken(err):
			return err
		case err == nil && rows < limit:
			return nil
		default:
			failed = 0
		}
	}
}

// errWriting is an error of who writes, for which no page is asked for again.
type errWriting struct{ error }

// Unwrap returns the error.
func (e errWriting) Unwrap() error { return e.error }

// broken reports whether an answer broke off, so that the rest may be asked for.
func broken(err error) bool {
	var w errWriting
	var c *couchclient.Error
	return !errors.As(err, &w) && !errors.As(err, &c) && !errors.Is(err, context.Canceled)
}

// page asks for rows, which each takes one by one.
func (r *export) page(ctx context.Context, q couchclient.Request, list string, each func([]byte) error) error {
	a, err := r.Source.Ask(ctx, q)
	if err != nil {
		return err
	}
	defer func() { _ = a.Body.Close() }()
	err = jsonstream.New(a.Body).Object(list, func(raw []byte) error {
		if !json.Valid(raw) {
			return jsonstream.ErrForm
		}
		return each(raw)
	}, func(string, []byte) error { return nil })
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// found writes the documents that match a selector.
func (r *export) found(ctx context.Context) error {
	for bookmark := ""; ; {
		q := map[string]any{"selector": r.Selector, "limit": pageRows}
		if bookmark != "" {
			q["bookmark"] = bookmark
		}
		var answer struct {
			Docs     []json.RawMessage
			Bookmark string
		}
		if err := r.Source.JSON(ctx, http.MethodPost, "/_find", q, &answer); err != nil {
			return err
		}
		for _, doc := range answer.Docs {
			if err := r.write(doc); err != nil {
				return err
			}
		}
		if len(answer.Docs) < pageRows || answer.Bookmark == "" || answer.Bookmark == bookmark {
			return nil
		}
		bookmark = answer.Bookmark
	}
}

// leaves writes revisions with their histories, in the order of the feed.
func (r *export) leaves(ctx context.Context) error {
	style, limit := "main_only", pageLeaves
	if r.Conflicts {
		style = "all_docs"
	}
	if r.Attachments {
		limit = pageWithFiles
	}
	for since := json.RawMessage(`0`); ; {
		at := strings.Trim(string(since), `"`)
		var feed struct {
			Last    json.RawMessage `json:"last_seq"`
			Results []struct {
				ID      string
				Deleted bool
				Changes []struct{ Rev string }
			}
		}
		v := url.Values{"style": {style}, "since": {at}, "limit": {strconv.Itoa(limit)}}
		if err := r.Source.JSON(ctx, http.MethodGet, "/_changes?"+v.Encode(), nil, &feed); err != nil {
			return err
		}
		type one struct {
			ID  string `json:"id"`
			Rev string `json:"rev"`
		}
		var ask []one
		for _, row := range feed.Results {
			if row.Deleted && !r.Deleted {
				continue
			}
			for _, c := range row.Changes {
				ask = append(ask, one{row.ID, c.Rev})
			}
		}
		if len(ask) > 0 {
			if err := r.get(ctx, map[string]any{"docs": ask}); err != nil {
				return err
			}
		}
		if len(feed.Results) < limit {
			return nil
		}
		since = feed.Last
	}
}

// get writes the revisions that are asked for.
func (r *export) get(ctx context.Context, ask any) error {
	body, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	path := "/_bulk_get?revs=true"
	if r.Attachments {
		path += "&attachments=true"
	}
	var docs [][]byte // a page that breaks off is not written
	for failed := 0; ; failed++ {
		docs = docs[:0]
		err := r.page(ctx, couchclient.Request{Method: http.MethodPost, Path: path, Body: body}, "results", func(result []byte) error {
			list, _ := jsonscan.Member(result, "docs")
			for e := jsonscan.ElementsOf(list); ; {
				entry, ok := e.Next()
				if !ok {
					return nil
				}
				if doc, ok := jsonscan.Member(entry, "ok"); ok {
					docs = append(docs, slices.Clone(doc))
				}
			}
		})
		if err == nil {
			break
		}
		if failed >= 5 || !broken(err) {
			return err
		}
	}
	for _, doc := range docs {
		if d, ok := jsonscan.Member(doc, "_deleted"); ok && jsonscan.KindOf(d) == jsonscan.True && !r.Deleted {
			continue
		}
		if err := r.write(doc); err != nil {
			return err
		}
	}
	return nil
}

// write hands a document on, without what was not asked for.
func (r *export) write(doc []byte) error {
	id, ok := jsonscan.Member(doc, "_id")
	if !ok {
		return jsonstream.ErrForm
	}
	if r.NoDesign && strings.HasPrefix(string(id), `"_design/`) {
		return nil
	}
	out := append(make([]byte, 0, len(doc)), '{')
	for m := jsonscan.MembersOf(doc); ; {
		name, value, ok := m.Next()
		if !ok {
			break
		}
		switch {
		case !r.Attachments && jsonscan.NameIs(name, "_attachments"):
			r.did.Stubs++
			continue
		case !r.Revs && !r.Conflicts && !r.Deleted && jsonscan.NameIs(name, "_rev"):
			continue
		}
		out = jsonscan.AppendMember(out, name, value)
	}
	if err := r.to.Write(append(out, '}')); err != nil {
		return errWriting{err}
	}
	r.did.Written++
	percent := ""
	if r.total > 0 && r.Selector == nil {
		percent = fmt.Sprintf(", %d %%", min(100, 100*r.did.Written/r.total))
	}
	if r.did.Written%100 == 0 {
		r.Line.Show("%d documents%s", r.did.Written, percent)
	}
	return nil
}
