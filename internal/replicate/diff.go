package replicate

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/jsonstream"
)

// missingRevs is a document of which the target lacks revisions.
type missingRevs struct {
	id        string
	text      []byte   // the id as JSON
	revs      []string // what it lacks
	left      []string // of these, what was not carried over yet
	ancestors []string // what it has, that may lie below them
}

// got reports that a revision of the document is accounted for.
func (w *missingRevs) got(rev string) {
	w.left = slices.DeleteFunc(w.left, func(r string) bool { return r == rev })
}

// diff asks the target which revisions of the rows it lacks.
func (r *run) diff(ctx context.Context, rows []row) ([]*missingRevs, error) {
	var missing []*missingRevs
	for len(rows) > 0 {
		part := rows[:min(len(rows), r.perDiff.get())]
		list, err := r.diffPart(ctx, part)
		var e *PeerError
		if errors.As(err, &e) && tooMuch(e) && len(part) > 1 {
			r.perDiff.shrink()
			continue
		}
		if err != nil {
			return nil, err
		}
		r.perDiff.grow()
		missing = append(missing, list...)
		rows = rows[len(part):]
	}
	return missing, nil
}

// tooMuch reports whether a request may succeed with less in it.
func tooMuch(e *PeerError) bool {
	return e.Status == http.StatusRequestEntityTooLarge || errors.Is(e.Cause, errSilence)
}

// diffPart compares the rows in one request. A document that makes the target
// refuse all of them (it may have an id that the target can't have) is found by
// halving, and is a failure.
func (r *run) diffPart(ctx context.Context, rows []row) ([]*missingRevs, error) {
	asked, fit := 0, make([]row, 0, len(rows))
	for i := range rows {
		asked += len(rows[i].revs)
		if reason := r.unfit(rows[i].id); reason != "" {
			r.refuse(rows[i].id, rows[i].revs, "illegal_docid", reason)
			continue
		}
		fit = append(fit, rows[i])
	}
	list, err := r.askDiff(ctx, fit)
	if err != nil {
		return nil, err
	}
	found := 0
	for _, w := range list {
		found += len(w.revs)
	}
	r.count(func(s *Stats) {
		s.RevisionsChecked += int64(asked)
		s.MissingFound += int64(found)
	})
	return list, nil
}

// unfit says why the target can't have a document of this id; "" when it may.
func (r *run) unfit(id string) string {
	if !r.partitioned || strings.HasPrefix(id, "_design/") {
		return ""
	}
	if partition, _, ok := strings.Cut(id, ":"); !ok || partition == "" {
		return "Doc id must be of form partition:id"
	}
	return ""
}

func (r *run) askDiff(ctx context.Context, rows []row) (list []*missingRevs, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	body := append(make([]byte, 0, 80*len(rows)), '{')
	for i := range rows {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(append(body, rows[i].text...), ':', '[')
		for j, rev := range rows[i].revs {
			if j > 0 {
				body = append(body, ',')
			}
			body = jsonscan.AppendQuoted(body, rev)
		}
		body = append(body, ']')
	}
	body = append(body, '}')
	c := &call{method: http.MethodPost, path: "/_revs_diff", body: func() []byte { return body }}
	err = r.target.ask(ctx, c, func(a *answer) error {
		raw, err := io.ReadAll(io.LimitReader(a.body, jsonstream.Longest))
		if err == nil {
			list, err = parseDiff(raw, rows)
		}
		return err
	})
	var e *PeerError
	if err == nil || !errors.As(err, &e) || e.Status != http.StatusBadRequest {
		return list, err
	}
	if len(rows) == 1 {
		r.refuse(rows[0].id, rows[0].revs, e.Code, e.Reason)
		return nil, nil
	}
	half := len(rows) / 2
	first, err := r.askDiff(ctx, rows[:half])
	if err != nil {
		return nil, err
	}
	second, err := r.askDiff(ctx, rows[half:])
	return append(first, second...), err
}

// parseDiff reads what the target lacks of the rows. What was not asked is
// overlooked: nothing is fetched because a peer says so.
func parseDiff(raw []byte, rows []row) ([]*missingRevs, error) {
	if !json.Valid(raw) || jsonscan.KindOf(raw) != jsonscan.Object {
		return nil, jsonstream.ErrForm
	}
	asked := make(map[string]*row, len(rows))
	for i := range rows {
		asked[rows[i].id] = &rows[i]
	}
	list := make([]*missingRevs, 0, len(rows))
	var scratch [64]byte
	for m := jsonscan.MembersOf(raw); ; {
		name, value, ok := m.Next()
		if !ok {
			return list, nil
		}
		of := asked[string(jsonscan.Text(scratch[:], name))]
		if of == nil {
			continue
		}
		delete(asked, of.id) // it counts once
		lacks, ok := jsonscan.Member(value, "missing")
		if !ok {
			return nil, jsonstream.ErrForm
		}
		w := &missingRevs{id: of.id, text: of.text}
		for _, rev := range stringsOf(lacks) {
			if slices.Contains(of.revs, rev) {
				w.revs = append(w.revs, rev)
			}
		}
		if ancestors, ok := jsonscan.Member(value, "possible_ancestors"); ok {
			w.ancestors = stringsOf(ancestors)
		}
		if w.left = slices.Clone(w.revs); len(w.revs) > 0 {
			list = append(list, w)
		}
	}
}

// stringsOf returns the strings in an array of JSON that has been checked.
func stringsOf(array []byte) (list []string) {
	for e := jsonscan.ElementsOf(array); ; {
		v, ok := e.Next()
		if !ok {
			return list
		}
		if jsonscan.KindOf(v) == jsonscan.String {
			list = append(list, string(jsonscan.Text(nil, v)))
		}
	}
}
