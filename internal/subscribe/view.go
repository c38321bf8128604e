package subscribe

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// shown is a subscription as clients see it.
type shown struct {
	ID       string            `json:"id"`
	URL      string            `json:"url"`
	Headers  map[string]string `json:"headers,omitempty"` // values masked
	Selector json.RawMessage   `json:"selector,omitempty"`
	Docs     bool              `json:"include_docs"`
	Batch    shownBatch        `json:"batch"`
	Attempts int               `json:"attempts"`
	Timeout  int               `json:"timeout"`
	Paused   bool              `json:"paused"`
	State    shownState        `json:"state"`
}

type shownBatch struct {
	Rows  int `json:"rows"`
	Bytes int `json:"bytes"`
}

type shownState struct {
	Status      string  `json:"status"`
	Reason      *string `json:"reason"` // why it is disabled or blocked
	Seq         string  `json:"seq"`
	Pending     uint64  `json:"pending"`
	Delivered   uint64  `json:"delivered"`
	Dead        uint64  `json:"dead"`
	Retrying    int     `json:"retrying"`
	Attempts    int     `json:"attempts"`
	LastError   *string `json:"last_error"`
	LastAttempt *string `json:"last_attempt"`
	LastSuccess *string `json:"last_success"`
	RetryAt     *string `json:"retry_at"`
}

// formatTime returns a time as clients see it, nil for never.
func formatTime(ms int64) *string {
	if ms == 0 {
		return nil
	}
	s := time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
	return &s
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Get returns a subscription of a scope, with its state, as JSON; NotFound.
func (s *Service) Get(ctx context.Context, scope store.Scope, id string) (raw []byte, err error) {
	err = scope.View(ctx, func(r *store.Reader) error {
		raw, err = s.show(r, id)
		return err
	})
	return raw, err
}

// List returns the subscriptions of a scope as a JSON object, in the order of
// their ids.
func (s *Service) List(ctx context.Context, scope store.Scope) ([]byte, error) {
	var ids []string
	out := []byte(`{"subscriptions":[`)
	err := scope.View(ctx, func(r *store.Reader) error {
		for id, err := range names(r) {
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		for i, id := range ids {
			raw, err := s.show(r, id)
			if err != nil {
				return err
			}
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(out, '\n'), raw...)
		}
		return nil
	})
	return append(out, "\n]}"...), err
}

func (s *Service) show(r *store.Reader, id string) ([]byte, error) {
	sub, err := read(r, id)
	if err != nil || sub.definition == nil {
		return nil, orNone(err)
	}
	d, err := decodeDefinition(sub.definition)
	if err != nil {
		return nil, err
	}
	n, err := decodeNote(sub.note)
	if err != nil {
		return nil, err
	}
	v := shown{ID: id, URL: d.URL, Selector: d.Selector, Docs: d.Docs, Batch: shownBatch{d.Rows, d.Bytes},
		Attempts: d.Attempts, Timeout: d.Timeout, Paused: d.Paused}
	for _, h := range d.Headers {
		if v.Headers == nil {
			v.Headers = map[string]string{}
		}
		v.Headers[h.Name] = masked
	}
	v.State = shownState{Seq: r.FormatSeq(sub.at), Delivered: n.Delivered, Dead: sub.dead, Retrying: len(n.Retry), Attempts: n.Attempts,
		LastError: orNil(n.LastError), LastAttempt: formatTime(n.LastAttempt), LastSuccess: formatTime(n.LastSuccess), RetryAt: formatTime(n.RetryAt)}
	v.State.Status, v.State.Reason = s.status(d, &n, sub.dead)
	if v.State.Pending, err = r.Pending(sub.at); err != nil {
		return nil, err
	}
	return json.Marshal(&v)
}

// status says in a word how a subscription is, and why.
func (s *Service) status(d *definition, n *note, dead uint64) (word string, reason *string) {
	switch {
	case d.Paused:
		return "paused", nil
	case n.Disabled != "":
		return "disabled", &n.Disabled
	case s.full(n, dead):
		return "blocked", orNil("There is no room for more dead letters: send them again or delete them.")
	case n.Failures > 0:
		return "failing", nil
	}
	return "active", nil
}

// shownLetter is a dead letter as clients see it.
type shownLetter struct {
	Number   uint64     `json:"entry"`
	Reason   string     `json:"reason"`
	Attempts int        `json:"attempts"`
	First    *string    `json:"dead_lettered_at"`
	Last     *string    `json:"last_attempt"`
	Changes  []shownRow `json:"changes"`
}

type shownRow struct {
	Seq string      `json:"seq"`
	ID  document.ID `json:"id"`
}

// Dead returns a subscription's dead letters above a number, limit at most, as a
// JSON object; NotFound.
func (s *Service) Dead(ctx context.Context, scope store.Scope, id string, after uint64, limit int) (raw []byte, err error) {
	err = scope.View(ctx, func(r *store.Reader) error {
		sub, err := read(r, id)
		if err != nil || sub.definition == nil {
			return orNone(err)
		}
		page := struct {
			Total uint64        `json:"total"`
			Rows  []shownLetter `json:"rows"`
		}{sub.dead, []shownLetter{}}
		for dead, err := range letters(r, id, after) {
			if err != nil {
				return err
			}
			if len(page.Rows) == limit {
				break
			}
			l, err := decodeLetter(dead.value)
			if err != nil {
				return err
			}
			v := shownLetter{Number: dead.number, Reason: l.Reason, Attempts: l.Attempts, First: formatTime(l.First), Last: formatTime(l.Last), Changes: []shownRow{}}
			for _, row := range l.Rows {
				v.Changes = append(v.Changes, shownRow{r.FormatSeq(row.Seq), row.ID})
			}
			page.Rows = append(page.Rows, v)
		}
		raw, err = json.Marshal(&page)
		return err
	})
	return raw, err
}
