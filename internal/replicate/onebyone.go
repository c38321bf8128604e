package replicate

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/jsonstream"
)

// atOnce is how many documents of a batch are carried over alone at a time.
const atOnce = 5

// copyOneByOne carries over what is left of the documents, revision by revision:
// design documents, documents with attachments, and what a _bulk_get did not
// give.
func (r *run) copyOneByOne(ctx context.Context, list []*missingRevs) error {
	var units []unit
	for _, w := range list {
		for _, rev := range w.left {
			units = append(units, unit{w, rev})
		}
	}
	if len(units) == 0 {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	todo := make(chan unit)
	for range min(len(units), atOnce) {
		g.Go(func() error {
			for u := range todo {
				if err := r.guard("replicate.alone", func() error { return r.copyUnit(ctx, u) }); err != nil {
					return err
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		defer close(todo)
		for _, u := range units {
			select {
			case todo <- u:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	return g.Wait()
}

// The ends of an attempt to carry a revision over that call for another.
var (
	errStub = errors.New("the target lacks an attachment that it was thought to have")
	errGet  = errors.New("the source sends attachments in JSON only")
)

// targetError is an error of the target within an answer of the source.
type targetError struct{ *PeerError }

func (e targetError) Unwrap() error { return e.PeerError }

// copyUnit carries one revision over, or all that have grown from it.
func (r *run) copyUnit(ctx context.Context, u unit) error {
	since := u.w.ancestors
	inline := false
	for n := (retries{}); ; {
		err := r.copyUnitOnce(ctx, u, since, inline)
		var of targetError
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errGet) && !inline:
			inline = true
		case errors.Is(err, errStub) && since != nil:
			since = nil
		case errors.Is(err, errStub):
			r.fail(Failure{ID: u.w.id, Rev: u.rev, Status: http.StatusPreconditionFailed, Code: "missing_stub", Reason: err.Error()})
			return nil
		case !errors.As(err, &of) || !of.retryable:
			return err
		case of.Code == unknownError && n.attempts > 0:
			r.count(func(s *Stats) { s.DocsRead++ })
			r.fail(failureOf(u, of.PeerError))
			return nil
		default:
			if err := n.next(ctx, r.target, of.PeerError); err != nil {
				return err
			}
		}
	}
}

// copyUnitOnce asks the source for a revision and writes what comes.
func (r *run) copyUnitOnce(ctx context.Context, u unit, since []string, inline bool) error {
	v := url.Values{"revs": {"true"}, "latest": {"true"}, "open_revs": {listOf([]string{u.rev})}}
	accept := "multipart/mixed"
	if len(since) > 0 {
		v.Set("atts_since", listOf(since))
	}
	if inline {
		v.Set("attachments", "true")
		accept = "application/json"
	}
	c := &call{method: http.MethodGet, path: query("/"+escape(u.w.id), v), accept: accept}
	one := &missingRevs{id: u.w.id, text: u.w.text, revs: []string{u.rev}, ancestors: since}
	err := r.source.ask(ctx, c, func(a *answer) error {
		kind, params, err := mime.ParseMediaType(a.header.Get("Content-Type"))
		if err == nil && kind == "multipart/mixed" && params["boundary"] != "" {
			return r.mixed(ctx, couchwire.PartsOf(a.body, params["boundary"]), one)
		}
		return jsonstream.New(a.body).Array(func(entry []byte) error {
			if doc, ok := jsonscan.Member(entry, "ok"); ok && json.Valid(entry) {
				return r.document(ctx, slices.Clone(doc), one, inline)
			}
			return r.absent(entry, one)
		})
	})
	var e *PeerError
	var of targetError
	if err == nil || !errors.As(err, &e) || errors.As(err, &of) || e.Status < 400 || e.retryable {
		return err
	}
	// The source refuses this one: if it answers at all.
	if gone := r.source.json(ctx, &call{method: http.MethodGet}, &struct{}{}); gone != nil {
		return gone
	}
	r.fail(Failure{ID: u.w.id, Rev: u.rev, Reading: true, Status: e.Status, Code: e.Code, Reason: e.Reason})
	return nil
}

// listOf makes an array of JSON.
func listOf(revs []string) string {
	b := []byte{'['}
	for i, rev := range revs {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonscan.AppendQuoted(b, rev)
	}
	return string(append(b, ']'))
}

// absent takes an entry that is no document: a revision that the source no
// longer has is a failure of reading.
func (r *run) absent(entry []byte, w *missingRevs) error {
	if !json.Valid(entry) || jsonscan.KindOf(entry) != jsonscan.Object {
		return jsonstream.ErrForm
	}
	f := Failure{ID: w.id, Rev: w.revs[0], Reading: true, Code: "not_found", Reason: "missing"}
	if raw, ok := jsonscan.Member(entry, "error"); ok {
		var e refusal
		if json.Unmarshal(entry, &e) == nil {
			f.Code, f.Reason = e.Error, textOf(e.Reason)
		} else {
			f.Code = string(raw)
		}
	}
	r.fail(f)
	return nil
}

// mixed takes an answer to open_revs: a part for each revision.
func (r *run) mixed(ctx context.Context, parts *multipart.Reader, w *missingRevs) error {
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		kind, params, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		if err == nil && kind == "multipart/related" && params["boundary"] != "" {
			err = r.related(ctx, couchwire.PartsOf(part, params["boundary"]), w)
		} else {
			err = r.plain(ctx, part, params["error"] == "true", w)
		}
		if err != nil {
			return err
		}
	}
}

// plain takes a part that is JSON.
func (r *run) plain(ctx context.Context, part io.Reader, failed bool, w *missingRevs) error {
	raw, err := io.ReadAll(io.LimitReader(part, jsonstream.Longest))
	if err != nil {
		return err
	}
	if raw = jsonscan.Trim(raw); !json.Valid(raw) {
		return jsonstream.ErrForm
	}
	if _, id := jsonscan.Member(raw, "_id"); failed || !id {
		return r.absent(raw, w)
	}
	return r.document(ctx, raw, w, true)
}

// document writes a document whose attachments are stubs or in it. whole says
// that there is no more to be had of them.
func (r *run) document(ctx context.Context, raw []byte, w *missingRevs, whole bool) error {
	v, err := inspect(raw, w)
	if err != nil {
		r.invalid(w, err)
		return nil
	}
	if !whole && v.attachments != nil && !v.onTarget(w.ancestors) {
		return stop{errGet}
	}
	c := &call{method: http.MethodPut, path: "/" + escape(w.id) + "?new_edits=false", body: func() []byte { return raw }}
	return r.wrote(ctx, w, v.rev, r.target.once(ctx, c, &answer{}, taken))
}

// taken reads the answer to a write, which says nothing new.
func taken(*answer) error { return nil }

// related takes a document whose attachments follow it.
func (r *run) related(ctx context.Context, parts *multipart.Reader, w *missingRevs) error {
	first, err := parts.NextRawPart()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(io.LimitReader(first, jsonstream.Longest))
	if err != nil {
		return err
	}
	d, err := couchwire.ParseDocument(raw, &couchwire.Rules{})
	if err != nil {
		r.invalid(w, err)
		return nil
	}
	v, err := inspect(raw, w)
	if err != nil {
		r.invalid(w, err)
		return nil
	}
	body, err := newRelated(raw, &d, parts)
	if err != nil {
		return stop{err}
	}
	c := &call{method: http.MethodPut, path: "/" + escape(w.id) + "?new_edits=false", stream: body, length: body.length,
		contentType: body.contentType()}
	err = r.target.once(ctx, c, &answer{}, taken)
	switch {
	case body.broken != nil:
		return body.broken // the source is asked again
	case body.wrong != nil:
		r.invalid(w, body.wrong)
		return nil
	}
	return r.wrote(ctx, w, v.rev, err)
}

// wrote reports what became of a revision that was written alone.
func (r *run) wrote(ctx context.Context, w *missingRevs, rev string, err error) error {
	var e *PeerError
	switch {
	case err == nil:
		r.count(func(s *Stats) {
			s.DocsRead++
			s.DocsWritten++
		})
		return nil
	case !errors.As(err, &e):
		return stop{err}
	case e.Code == "missing_stub":
		return stop{errStub}
	case e.retryable || e.Status < 400 || e.Status > 499:
		return stop{targetError{e}}
	}
	if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden || e.Status == http.StatusNotFound {
		// It refuses this one: if it answers at all.
		if gone := r.target.json(ctx, &call{method: http.MethodGet}, &struct{}{}); gone != nil {
			return stop{gone}
		}
	}
	r.count(func(s *Stats) { s.DocsRead++ })
	r.fail(failureOf(unit{w, rev}, e))
	return nil
}

// invalid reports a document that is not what was asked for, or not what it says
// it is. It is not written.
func (r *run) invalid(w *missingRevs, err error) {
	r.fail(Failure{ID: w.id, Rev: w.revs[0], Reading: true, Code: "bad_document", Reason: err.Error()})
}
