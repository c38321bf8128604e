package find

import (
	"encoding/base64"
	"math"

	"github.com/sectional/sectional/internal/packed"
)

// A bookmark is a document in the order of an answer: its keys and its id, so that
// it means the same when the index has been merged or built anew.

const bookmarkVersion = 1

// mark is a bookmark taken apart.
type mark struct {
	keys []key
	id   string
}

// bookmark writes a mark.
func (s *sorting) bookmark(m mark) string {
	w := packed.Writer([]byte{bookmarkVersion})
	w.Uint(uint64(len(m.keys)))
	for i, k := range m.keys {
		w.Byte(s.form(i, k))
		w.Uint(math.Float64bits(k.number))
		w.Text(k.text)
	}
	w.Raw([]byte(m.id))
	return base64.RawURLEncoding.EncodeToString(w)
}

// form is what comes before a key: what it is, so that a bookmark of another sort is
// known.
func (s *sorting) form(i int, k key) byte {
	form := byte(s.orders[i].By) << 2
	if s.orders[i].Descending {
		form |= 2
	}
	if k.null {
		form |= 1
	}
	return form
}

// restore reads a bookmark; nil if there is none.
func (s *sorting) restore(text string) (*mark, error) {
	if text == "" {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, bad("Invalid bookmark parameter supplied")
	}
	r := packed.ReadVersion(b, bookmarkVersion)
	n := r.UpTo(maxOrders)
	m := &mark{}
	for i := range int(n) {
		form, number, text := r.Byte(), math.Float64frombits(r.Uint()), r.Text()
		k := key{number: number, text: text, null: form&1 != 0}
		if !r.Failed() && (i >= len(s.orders) || s.form(i, k) != form || math.IsNaN(number)) {
			return nil, bad("sort order not compatible with given bookmark")
		}
		m.keys = append(m.keys, k)
	}
	m.id = string(r.Rest())
	switch {
	case r.Failed():
		return nil, bad("Invalid bookmark parameter supplied")
	case len(m.keys) != len(s.orders):
		return nil, bad("sort order not compatible with given bookmark")
	}
	return m, nil
}
