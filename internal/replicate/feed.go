package replicate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/jsonstream"
	"github.com/sectional/sectional/internal/outgoing"
)

// row is a row of the feed: a document and the revisions that it has there.
type row struct {
	seq  Seq    // nil: the feed leaves some out
	id   string // decoded
	text []byte // the id as JSON
	revs []string
}

// feed reads the source's _changes and gives its rows to give, in the pieces in
// which they come.
type feed struct {
	task  *Task
	peer  *peer
	since Seq
	give  func(rows []row) error
	ended func(Seq) // called with the end of the feed, where it names one
	piece []row
}

// largestPiece is how many rows are given at once.
const largestPiece = 500

// feedParams are the parameters that choose documents.
func (t *Task) feedParams() url.Values {
	v := maps.Clone(t.FilterParams)
	if v == nil {
		v = url.Values{}
	}
	v.Set("style", "all_docs")
	if t.WinnersOnly {
		v.Set("style", "main_only")
	}
	switch {
	case t.DocIDs != nil:
		v.Set("filter", "_doc_ids")
	case t.Selector != nil:
		v.Set("filter", "_selector")
	case t.Filter != "":
		v.Set("filter", t.Filter)
	}
	return v
}

// feedCall makes the request for changes after since.
func (t *Task) feedCall(v url.Values, since Seq) *call {
	v.Set("since", since.param())
	c := &call{method: http.MethodGet, path: query("/_changes", v)}
	var choice any
	switch {
	case t.DocIDs != nil:
		choice = map[string][]string{"doc_ids": t.DocIDs}
	case t.Selector != nil:
		choice = map[string]json.RawMessage{"selector": t.Selector}
	default:
		return c
	}
	c.method = http.MethodPost
	body, err := json.Marshal(choice)
	c.body = func() []byte { return body }
	if err != nil { // a selector that is no JSON: the source will say so
		c.body = func() []byte { return t.Selector }
	}
	return c
}

// run reads the feed to its end; a continuous one until ctx ends.
func (f *feed) run(ctx context.Context) error {
	for {
		if err := f.once(ctx); err != nil || !f.task.Continuous {
			return err
		}
		// A continuous feed has ended in good order: the source stopped, or has a
		// limit to such feeds. The next begins where it ended, not too soon.
		if err := outgoing.Wait(ctx, backoff(1)); err != nil {
			return err
		}
	}
}

// once reads one answer, in as many requests as it takes.
func (f *feed) once(ctx context.Context) error {
	v := f.task.feedParams()
	v.Set("feed", "normal")
	if f.task.Continuous {
		v.Set("feed", "continuous")
		v.Set("heartbeat", strconv.FormatInt(max(1, f.peer.timeout.Milliseconds()/3), 10))
	} else {
		v.Set("timeout", strconv.FormatInt(max(1, f.peer.timeout.Milliseconds()/3), 10))
	}
	c := f.task.feedCall(v, f.since)
	c.endless = true
	return f.peer.ask(ctx, c, func(a *answer) error {
		f.piece = nil
		in := jsonstream.New(a.body)
		err := f.decode(in, a)
		if err == nil {
			err = f.flush(a)
		}
		// The next request goes on after what was given out.
		next := f.task.feedCall(v, f.since)
		c.path, c.body = next.path, next.body
		return err
	})
}

func (f *feed) decode(in *jsonstream.Values, a *answer) error {
	if !f.task.Continuous {
		return in.Object("results", func(raw []byte) error { return f.row(raw, in, a) }, f.end)
	}
	for {
		if in.Waiting() {
			if err := f.flush(a); err != nil {
				return err
			}
			if err := in.Fill(); err != nil {
				return err
			}
			a.progress = true // be it a heartbeat: the feed is alive
			continue
		}
		raw, err := in.Value()
		if err != nil {
			return err
		}
		if !json.Valid(raw) {
			return jsonstream.ErrForm
		}
		if last, ok := jsonscan.Member(raw, "last_seq"); ok {
			return f.end("last_seq", last)
		}
		if err := f.row(raw, in, a); err != nil {
			return err
		}
	}
}

// end takes what a feed says besides its rows.
func (f *feed) end(name string, value []byte) error {
	if name != "last_seq" {
		return nil
	}
	var s Seq
	if err := s.UnmarshalJSON(value); err != nil {
		return err
	}
	f.ended(s)
	return nil
}

// row takes a row, and returns what has gathered when there is enough or more is
// not there yet.
func (f *feed) row(raw []byte, in *jsonstream.Values, a *answer) error {
	r, err := parseRow(raw)
	if err != nil {
		return err
	}
	f.piece = append(f.piece, r)
	if len(f.piece) >= largestPiece || in.Waiting() {
		return f.flush(a)
	}
	return nil
}

func (f *feed) flush(a *answer) error {
	if len(f.piece) == 0 {
		return nil
	}
	piece := f.piece
	f.piece = make([]row, 0, len(piece))
	if err := f.give(piece); err != nil {
		return stop{err}
	}
	a.progress = true
	for i := range piece {
		if piece[i].seq != nil {
			f.since = piece[i].seq
		}
	}
	return nil
}

// parseRow takes a row of the feed apart.
func parseRow(raw []byte) (r row, err error) {
	if !json.Valid(raw) || jsonscan.KindOf(raw) != jsonscan.Object {
		return r, jsonstream.ErrForm
	}
	var failure string
	for m := jsonscan.MembersOf(raw); ; {
		name, value, ok := m.Next()
		if !ok {
			break
		}
		switch {
		case jsonscan.NameIs(name, "seq"):
			err = r.seq.UnmarshalJSON(value)
		case jsonscan.NameIs(name, "id"):
			if jsonscan.KindOf(value) != jsonscan.String {
				return r, jsonstream.ErrForm
			}
			r.text = append([]byte(nil), value...)
			r.id = string(jsonscan.Text(nil, value))
		case jsonscan.NameIs(name, "changes"):
			r.revs, err = parseChanges(value)
		case jsonscan.NameIs(name, "error"):
			failure = string(value)
		}
		if err != nil {
			return r, err
		}
	}
	if r.id == "" && failure != "" {
		return r, fmt.Errorf("the feed ended with the error %s", strings.Trim(failure, `"`))
	}
	if r.id == "" || len(r.revs) == 0 {
		return r, errors.New("a row of the feed without a document or its revisions")
	}
	return r, nil
}

func parseChanges(list []byte) (revs []string, err error) {
	if jsonscan.KindOf(list) != jsonscan.Array {
		return nil, jsonstream.ErrForm
	}
	for e := jsonscan.ElementsOf(list); ; {
		change, ok := e.Next()
		if !ok {
			return revs, nil
		}
		rev, ok := jsonscan.Member(change, "rev")
		if !ok || jsonscan.KindOf(rev) != jsonscan.String {
			return nil, jsonstream.ErrForm
		}
		revs = append(revs, string(jsonscan.Text(nil, rev)))
	}
}

// pending asks the source how many changes come after since; nil if it does not
// say.
func (t *Task) pending(ctx context.Context, p *peer, since Seq) (*int64, error) {
	v := t.feedParams()
	v.Set("limit", "0")
	var answer struct {
		Pending *int64 `json:"pending"`
	}
	err := p.json(ctx, t.feedCall(v, since), &answer)
	return answer.Pending, err
}
