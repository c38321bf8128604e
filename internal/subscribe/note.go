package subscribe

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// note is what is remembered of deliveries, in the row of the subscription's
// state. Times are Unix milliseconds, 0 for never.
type note struct {
	Disabled    string   `json:"disabled,omitempty"` // why nothing is sent any more
	Blocked     bool     `json:"blocked,omitempty"`  // there was no room for a dead letter
	Attempts    int      `json:"attempts,omitempty"` // at what comes next
	Failures    int      `json:"failures,omitempty"` // in a row, whatever was sent
	RetryAt     int64    `json:"retry_at,omitempty"`
	LastAttempt int64    `json:"last_attempt,omitempty"`
	LastSuccess int64    `json:"last_success,omitempty"`
	LastError   string   `json:"last_error,omitempty"`
	Delivered   uint64   `json:"delivered,omitempty"` // rows
	Retry       []uint64 `json:"retry,omitempty"`     // dead letters to be sent again, before anything else
}

func decodeNote(raw []byte) (n note, err error) {
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &n)
	}
	return n, err
}

func (n *note) encode() ([]byte, error) { return json.Marshal(n) }

// renew forgets failures: somebody has changed the subscription, or asks to go
// on.
func (n *note) renew() {
	n.Disabled, n.Blocked, n.Attempts, n.Failures, n.RetryAt, n.LastError = "", false, 0, 0, 0, ""
}

// Delays between attempts: they double from the first to the longest.
const (
	firstDelay   = time.Second
	longestDelay = time.Hour
	// longestPause is the most that a receiver can ask for by Retry-After.
	longestPause = 24 * time.Hour
)

// letter is a dead letter: which changes it was that were not delivered, and
// why. The changes themselves are read again when it is sent again.
type letter struct {
	Rows     []letterRow `json:"rows"`
	Reason   string      `json:"reason"`
	Attempts int         `json:"attempts"`
	First    int64       `json:"first"` // when it was put here
	Last     int64       `json:"last"`  // the last attempt
}

type letterRow struct {
	Seq store.Seq   `json:"seq"`
	ID  document.ID `json:"id"`
}

func decodeLetter(raw []byte) (l letter, err error) { return l, json.Unmarshal(raw, &l) }

// without returns list without n.
func without(list []uint64, n uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(list), func(m uint64) bool { return m == n })
}
