package replicate

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/sectional/sectional/internal/jsonscan"
)

// Seq is a sequence of a feed as JSON: a string of CouchDB 2 and later, a number
// of CouchDB 1 and PouchDB, an array of old Cloudant clusters. It is carried and
// not interpreted. nil: the beginning.
type Seq json.RawMessage

// MarshalJSON returns the sequence as it came, 0 for the beginning.
func (s Seq) MarshalJSON() ([]byte, error) {
	if len(s) == 0 {
		return []byte("0"), nil
	}
	return s, nil
}

// UnmarshalJSON takes a sequence.
func (s *Seq) UnmarshalJSON(raw []byte) error {
	switch jsonscan.KindOf(raw) {
	case jsonscan.String, jsonscan.Number, jsonscan.Array:
		*s = bytes.Clone(raw)
	default:
		*s = nil
	}
	if s.beginning() {
		*s = nil
	}
	return nil
}

// beginning reports whether nothing lies before the sequence.
func (s Seq) beginning() bool {
	return len(s) == 0 || string(s) == "0" || string(s) == `""` || string(s) == `"0"`
}

// param is the sequence as the parameter since of _changes.
func (s Seq) param() string {
	switch {
	case s.beginning():
		return "0"
	case s[0] == '"':
		return string(jsonscan.Text(nil, s))
	}
	return string(s)
}

// number is the number that a sequence begins with, by which sequences of one
// database are compared; the largest number where it has none.
func (s Seq) number() uint64 {
	if s.beginning() {
		return 0
	}
	digits := bytes.TrimLeft(s, `"[ `)
	n := 0
	for n < len(digits) && '0' <= digits[n] && digits[n] <= '9' {
		n++
	}
	if v, err := strconv.ParseUint(string(digits[:n]), 10, 64); err == nil {
		return v
	}
	return math.MaxUint64
}

// seqOf makes a sequence of the text of one, as users write it.
func seqOf(text string) Seq {
	if raw := []byte(text); json.Valid(raw) {
		var s Seq
		if s.UnmarshalJSON(bytes.TrimSpace(raw)) == nil && s != nil {
			return s
		}
	}
	if text == "" || text == "0" {
		return nil
	}
	return Seq(jsonscan.AppendQuoted(nil, text))
}

// moved reports whether a feed has gone on from one sequence to another. Different
// texts with an equal number may be different places: a Sectional gives restricted readers
// sequences whose numbers tell nothing. Where they are one place, which nodes of
// a cluster write differently, a checkpoint is written that need not have been.
func moved(from, to Seq) bool {
	return !bytes.Equal(from, to) && (from.number() > 0 || to.number() > 0)
}
