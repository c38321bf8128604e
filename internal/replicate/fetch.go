package replicate

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/jsonstream"
)

// carry brings one batch over. When it returns nil, all that the batch asked
// for is on the target's disk, or is a failure that was reported.
func (r *run) carry(ctx context.Context, b *batch) error {
	missing, err := r.diff(ctx, b.rows)
	if err != nil || len(missing) == 0 {
		return err
	}
	var alone []*missingRevs
	for _, w := range missing {
		if r.noBulkGet.Load() || strings.HasPrefix(w.id, "_design/") {
			alone = append(alone, w)
		}
	}
	if len(alone) < len(missing) {
		rest, err := r.fetch(ctx, missing)
		if err != nil {
			return err
		}
		alone = append(alone, rest...)
	}
	return r.copyOneByOne(ctx, alone)
}

// fetch carries documents over many at a time, and returns those of which
// something is left to be carried over alone: revisions with attachments that
// the target lacks, and those that the source did not give.
func (r *run) fetch(ctx context.Context, missing []*missingRevs) (alone []*missingRevs, err error) {
	list := make([]*missingRevs, 0, len(missing))
	for _, w := range missing {
		if !strings.HasPrefix(w.id, "_design/") {
			list = append(list, w)
		}
	}
	out := r.newBulk()
	for todo := list; len(todo) > 0 && err == nil && !r.noBulkGet.Load(); {
		part := todo[:min(len(todo), r.perGet.get())]
		err = r.bulkGet(ctx, part, out)
		var e *PeerError
		switch {
		case err == nil:
			r.perGet.grow()
		case errors.As(err, &e) && tooMuch(e) && len(part) > 1:
			r.perGet.shrink()
			err = nil
			continue
		case errors.As(err, &e) && unknownRequest(e):
			r.log.Info("the source does not know _bulk_get", "answer", e)
			r.noBulkGet.Store(true)
			err = nil
		case errors.As(err, &e) && e.Status == http.StatusBadRequest:
			err = nil // it can't be asked for all of these together
		}
		todo = todo[len(part):]
	}
	redo, e := out.end(ctx)
	if err == nil {
		err = e
	}
	for _, u := range redo {
		u.w.left = append(u.w.left, u.rev)
		u.w.ancestors = nil // they did not have what they should have had
	}
	for _, w := range list {
		if len(w.left) > 0 {
			alone = append(alone, w)
		}
	}
	return alone, err
}

// unknownRequest reports whether a peer does not have the endpoint that was
// asked.
func unknownRequest(e *PeerError) bool {
	switch e.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return false
}

// bulkGet asks for the revisions of many documents and hands them on, as the
// bytes they came in, while the answer is still being read.
func (r *run) bulkGet(ctx context.Context, list []*missingRevs, out *bulk) error {
	byID := make(map[string]*missingRevs, len(list))
	asked := 0
	for _, w := range list {
		byID[w.id] = w
		asked += len(w.left)
	}
	r.count(func(s *Stats) { s.BulkGetAttempts += int64(asked) })
	got := 0
	defer func() { r.count(func(s *Stats) { s.BulkGetDocs += int64(got) }) }()
	c := &call{method: http.MethodPost, path: "/_bulk_get?revs=true&latest=true", body: func() []byte { return askFor(list) }}
	return r.source.ask(ctx, c, func(a *answer) error {
		return jsonstream.New(a.body).Object("results", func(result []byte) error {
			n, err := r.entry(ctx, result, byID, out)
			if n > 0 {
				got += n
				a.progress = true
			}
			return err
		}, func(string, []byte) error { return nil })
	})
}

// askFor makes the body of a _bulk_get for what is left of the documents.
func askFor(list []*missingRevs) []byte {
	body := append(make([]byte, 0, 100*len(list)), `{"docs":[`...)
	first := true
	for _, w := range list {
		for _, rev := range w.left {
			if !first {
				body = append(body, ',')
			}
			first = false
			body = append(append(body, `{"id":`...), w.text...)
			body = jsonscan.AppendQuoted(append(body, `,"rev":`...), rev)
			body = append(body, '}')
		}
	}
	return append(body, "]}"...)
}

// entry takes one entry of an answer to _bulk_get: how many documents were in
// it. What can't be used of it is left, and asked for once more alone.
func (r *run) entry(ctx context.Context, raw []byte, byID map[string]*missingRevs, out *bulk) (n int, err error) {
	if jsonscan.KindOf(raw) != jsonscan.Object {
		return 0, jsonstream.ErrForm
	}
	id, ok := jsonscan.Member(raw, "id")
	docs, listed := jsonscan.Member(raw, "docs")
	if !ok || !listed || jsonscan.KindOf(docs) != jsonscan.Array {
		return 0, jsonstream.ErrForm
	}
	var scratch [64]byte
	w := byID[string(jsonscan.Text(scratch[:], id))]
	if w == nil {
		return 0, nil // nobody asked
	}
	for e := jsonscan.ElementsOf(docs); ; {
		answer, ok := e.Next()
		if !ok {
			return n, nil
		}
		doc, ok := jsonscan.Member(answer, "ok")
		if !ok {
			continue // an error: it is asked for alone, which shows more
		}
		v, err := inspect(doc, w)
		if err != nil {
			r.log.Warn("a document is not as it should be", "document", w.id, "cause", err)
			continue
		}
		n++
		if v.attachments != nil && !v.onTarget(w.ancestors) {
			continue // their bytes are fetched with the document, alone
		}
		if err := out.add(ctx, unit{w, v.rev}, doc); err != nil {
			return n, stop{err}
		}
		for _, rev := range w.revs {
			if rev == v.rev || v.has(rev) {
				w.got(rev)
			}
		}
	}
}
