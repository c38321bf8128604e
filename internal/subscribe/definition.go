package subscribe

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/selector"
)

// definition is what a client has set. It is stored as JSON, with its secrets.
type definition struct {
	URL      string          `json:"url"`
	Secrets  []string        `json:"secrets"`
	Headers  []header        `json:"headers,omitempty"`
	Selector json.RawMessage `json:"selector,omitempty"`
	Docs     bool            `json:"docs,omitempty"`
	Rows     int             `json:"rows"`
	Bytes    int             `json:"bytes"`
	Attempts int             `json:"attempts"`
	Timeout  int             `json:"timeout"` // milliseconds
	Paused   bool            `json:"paused,omitempty"`
	// Series is made anew whenever a client says where to begin: what is
	// delivered again on demand is not what was delivered before.
	Series string `json:"series"`
}

// header is one that requests are to carry. Its value may be a credential and
// is not shown.
type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// masked takes the place of a value that is not shown; sent back it means the value that
// is stored.
const masked = "*****"

// What a definition may be; sizes are bounded so that its row is a small one.
const (
	maxDefinition = 32 << 10
	maxHeaders    = 32
	maxSecrets    = 2
	leastSecret   = 16
	maxText       = 2 << 10

	defaultRows, maxRows         = 100, 1000
	defaultBytes, maxBytes       = 1 << 20, 8 << 20
	defaultAttempts, maxAttempts = 15, 100
	defaultTimeout, maxTimeout   = 10_000, 60_000
)

func bad(reason string, args ...any) error {
	return dberr.New(dberr.Invalid, "bad_request", reason, args...)
}

// wanted is a definition as a client sent it.
type wanted struct {
	definition
	since string // "" for what is stored, or now
}

// parse reads what a client sent: an object with the members of the table
// below. Errors are Invalid, with a reason that names the member.
func parse(raw []byte) (*wanted, error) {
	if len(raw) > maxDefinition {
		return nil, dberr.New(dberr.TooLarge, "too_large", "A subscription can't have more than %d bytes.", maxDefinition)
	}
	raw, err := document.Compact(raw)
	if err != nil {
		return nil, err
	}
	if jsonscan.KindOf(raw) != jsonscan.Object {
		return nil, bad("A subscription must be a JSON object.")
	}
	w := &wanted{definition: definition{Rows: defaultRows, Bytes: defaultBytes, Attempts: defaultAttempts, Timeout: defaultTimeout}}
	table := members()
	for ms := jsonscan.MembersOf(raw); ; {
		quoted, value, more := ms.Next()
		if !more {
			break
		}
		name := string(jsonscan.Text(nil, quoted))
		set := table[name]
		if set == nil {
			return nil, bad("A subscription has no member `%s`.", name)
		}
		if err := set(w, value); err != nil {
			return nil, err
		}
	}
	if w.URL == "" {
		return nil, bad("A subscription needs a `url`.")
	}
	return w, nil
}

// members is the table of what a definition is made of.
func members() map[string]func(w *wanted, value []byte) error {
	return map[string]func(w *wanted, value []byte) error{
		"url":          func(w *wanted, v []byte) (err error) { w.URL, err = parseURL(v); return err },
		"secret":       (*wanted).setSecrets,
		"headers":      (*wanted).setHeaders,
		"selector":     (*wanted).setSelector,
		"since":        (*wanted).setSince,
		"batch":        (*wanted).setBatch,
		"include_docs": truth("include_docs", func(w *wanted) *bool { return &w.Docs }),
		"paused":       truth("paused", func(w *wanted) *bool { return &w.Paused }),
		"attempts":     number("attempts", maxAttempts, func(w *wanted) *int { return &w.Attempts }),
		"timeout":      number("timeout", maxTimeout, func(w *wanted) *int { return &w.Timeout }),
	}
}

func truth(name string, field func(*wanted) *bool) func(*wanted, []byte) error {
	return func(w *wanted, v []byte) error {
		*field(w) = string(v) == "true"
		if s := string(v); s != "true" && s != "false" {
			return bad("`%s` must be true or false.", name)
		}
		return nil
	}
}

func number(name string, most int, field func(*wanted) *int) func(*wanted, []byte) error {
	return func(w *wanted, v []byte) error {
		n, err := strconv.Atoi(string(v))
		if err != nil || n < 1 || n > most {
			return bad("`%s` must be a whole number from 1 to %d.", name, most)
		}
		*field(w) = n
		return nil
	}
}

// setSecrets takes one secret, or two of which the receiver may use either
// while it changes them.
func (w *wanted) setSecrets(v []byte) error {
	list := [][]byte{v}
	if jsonscan.KindOf(v) == jsonscan.Array {
		list = list[:0]
		for es := jsonscan.ElementsOf(v); ; {
			e, more := es.Next()
			if !more {
				break
			}
			list = append(list, e)
		}
	}
	if len(list) < 1 || len(list) > maxSecrets {
		return bad("`secret` must be a string, or a list of up to %d.", maxSecrets)
	}
	for _, e := range list {
		s, ok := text(e)
		if key, err := keyOf(s); !ok || err != nil || len(key) < leastSecret || len(s) > maxText {
			return bad("A secret must be a string of at least %d bytes, or `whsec_` and as many in base64.", leastSecret)
		}
		w.Secrets = append(w.Secrets, s)
	}
	return nil
}

func (w *wanted) setHeaders(v []byte) error {
	if jsonscan.KindOf(v) != jsonscan.Object {
		return bad("`headers` must be an object of strings.")
	}
	for ms := jsonscan.MembersOf(v); ; {
		quoted, value, more := ms.Next()
		if !more {
			return nil
		}
		h := header{Name: string(jsonscan.Text(nil, quoted))}
		var ok bool
		if h.Value, ok = text(value); !ok || !h.sendable() {
			return bad("The header `%s` can't be sent.", h.Name)
		}
		if w.Headers = append(w.Headers, h); len(w.Headers) > maxHeaders {
			return bad("There can't be more than %d headers.", maxHeaders)
		}
	}
}

func (w *wanted) setSelector(v []byte) error {
	if jsonscan.KindOf(v) != jsonscan.Object {
		return bad("`selector` must be a JSON object.")
	}
	sel, err := selector.Parse(v)
	if err != nil {
		return err
	}
	if !sel.Linear() { // nobody is there to be told that a match finds no end
		return bad("A $regex of `selector` must be of the linear kind: no look-around, back reference, atomic group or possessive quantifier.")
	}
	w.Selector = slices.Clone(v)
	return nil
}

// setSince takes "now", a sequence, or 0.
func (w *wanted) setSince(v []byte) error {
	s, ok := text(v)
	if !ok && string(v) == "0" {
		s, ok = "0", true
	}
	if w.since = s; !ok || s == "" {
		return bad("`since` must be \"now\" or a sequence.")
	}
	return nil
}

func (w *wanted) setBatch(v []byte) error {
	if jsonscan.KindOf(v) != jsonscan.Object {
		return bad("`batch` must be an object with `rows` and `bytes`.")
	}
	parts := map[string]func(*wanted, []byte) error{
		"rows":  number("rows", maxRows, func(w *wanted) *int { return &w.Rows }),
		"bytes": number("bytes", maxBytes, func(w *wanted) *int { return &w.Bytes }),
	}
	for ms := jsonscan.MembersOf(v); ; {
		quoted, value, more := ms.Next()
		if !more {
			return nil
		}
		set := parts[string(jsonscan.Text(nil, quoted))]
		if set == nil {
			return bad("`batch` must be an object with `rows` and `bytes`.")
		}
		if err := set(w, value); err != nil {
			return err
		}
	}
}

// text returns the value of a JSON string.
func text(v []byte) (string, bool) {
	if jsonscan.KindOf(v) != jsonscan.String {
		return "", false
	}
	return string(jsonscan.Text(nil, v)), true
}

// over completes a definition by what is not shown of the one it replaces, nil
// for none, and gives its row. series is for one that begins anew.
func (w *wanted) over(old *definition, series string) ([]byte, error) {
	d := w.definition
	d.Headers = slices.Clone(d.Headers)
	for i := range d.Headers {
		if d.Headers[i].Value != masked {
			continue
		}
		at := -1
		if old != nil {
			at = slices.IndexFunc(old.Headers, func(h header) bool { return h.Name == d.Headers[i].Name })
		}
		if at < 0 {
			return nil, bad("The header `%s` has no value yet.", d.Headers[i].Name)
		}
		d.Headers[i] = old.Headers[at]
	}
	if d.Secrets == nil && old != nil {
		d.Secrets = old.Secrets
	}
	if d.Secrets == nil {
		return nil, bad("A subscription needs a `secret`.")
	}
	if d.Series = series; old != nil && w.since == "" {
		d.Series = old.Series
	}
	return json.Marshal(&d)
}

// timeout is how long a request may take.
func (d *definition) timeout() time.Duration { return time.Duration(d.Timeout) * time.Millisecond }
