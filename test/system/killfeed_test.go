package system

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
)

// followed are the feeds whose sequences are watched.
func followed() []string { return []string{"/ordinary", "/divided", "/divided/_partition/account1"} }

// feedSequence is one sequence number of one feed.
type feedSequence struct {
	feed   string
	number int64
}

// sequences remembers which change every sequence stood for that a reader ever saw. Once seen, a sequence must never
// stand for another change, whatever a crash took away.
type sequences struct {
	mu      sync.Mutex
	changes map[feedSequence]string
	last    map[string]string // where a reader of each feed has got to
}

func newSequences() *sequences {
	return &sequences{changes: map[feedSequence]string{}, last: map[string]string{}}
}

// note records one row, and fails when its sequence belongs to another change.
func (s *sequences) note(feed string, r changesRow) error {
	n, err := r.number()
	if err != nil {
		return fmt.Errorf("%s: the sequence %q has no number", feed, r.Seq)
	}
	if len(r.Changes) == 0 {
		return fmt.Errorf("%s: a row without changes: %+v", feed, r)
	}
	change := r.ID + " " + r.Changes[0].Rev
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.changes[feedSequence{feed, n}]; ok && old != change {
		return fmt.Errorf("%s: sequence %d was %q and is now %q", feed, n, old, change)
	}
	s.changes[feedSequence{feed, n}] = change
	return nil
}

// follow reads the feeds live, each from where its last reader was. The function it returns waits for the readers
// to end, after the server did.
func (s *sequences) follow(t *testing.T, c *client) func() error {
	failures := make([]error, len(followed()))
	var group sync.WaitGroup
	for i, feed := range followed() {
		since := s.last[feed]
		if since == "" {
			since = "0"
		}
		open := openFeed(t, c, feed+"/_changes?feed=continuous&heartbeat=true&since="+since)
		group.Go(func() {
			for line := range open.lines {
				var r changesRow
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					continue // the line that the kill cut in two
				}
				failures[i] = errors.Join(failures[i], s.note(feed, r))
				s.mu.Lock()
				s.last[feed] = r.Seq
				s.mu.Unlock()
			}
		})
	}
	return func() error {
		group.Wait()
		return errors.Join(failures...)
	}
}

// verify reads each feed from its beginning: its rows ascend, none contradicts what was seen before, and the place
// where the live reader got to is still a place of the feed.
func (s *sequences) verify(c *client) error {
	for _, feed := range followed() {
		answer, err := c.sent("GET", feed+"/_changes", nil, 200)
		if err != nil {
			return err
		}
		var list struct {
			Results []changesRow
			LastSeq string `json:"last_seq"`
			Pending int
		}
		if err := json.Unmarshal(answer, &list); err != nil {
			return fmt.Errorf("%s: %w", feed, err)
		}
		previous := int64(0)
		for _, r := range list.Results {
			if err := s.note(feed, r); err != nil {
				return err
			}
			n, err := r.number()
			if err != nil || n <= previous {
				return fmt.Errorf("%s: sequence %q after %d", feed, r.Seq, previous)
			}
			previous = n
		}
		if list.Pending != 0 {
			return fmt.Errorf("%s: %d pending at the end", feed, list.Pending)
		}
		if since := s.last[feed]; since != "" {
			if _, err := c.sent("GET", feed+"/_changes?limit=1&since="+since, nil, 200); err != nil {
				return err
			}
		}
	}
	return nil
}
