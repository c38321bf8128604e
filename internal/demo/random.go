package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"time"
)

// seed is fixed for ever: a changed seed would leave a half-loaded database with two generations of documents.
const seed = 20161212

// random returns the numbers for one thing of the demo. Each thing has a source of its own, so that a larger size adds
// things and changes none.
func random(kind string, number int) *rand.Rand {
	h := fnv.New64a()
	// Writing to a hash cannot fail.
	_, _ = fmt.Fprintf(h, "%s/%d", kind, number)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// pick chooses one of the values.
func pick[T any](r *rand.Rand, values []T) T { return values[r.IntN(len(values))] }

// randomTime returns a time in the days after start, to the second.
func randomTime(r *rand.Rand, start time.Time, days int) time.Time {
	return start.Add(time.Duration(r.IntN(days*24*3600)) * time.Second)
}

// iso writes a time as JavaScript's toISOString does, which is what people keep in documents.
func iso(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// cents keeps an amount in whole cents, so that totals are sums of what the items say, and writes it as a number.
type cents int64

// MarshalJSON writes the amount with two digits after the point.
func (c cents) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%02d", c/100, c%100), nil
}

// digits returns 32 hexadecimal digits that look like a hash.
func digits(kind, of string) string {
	h := fnv.New128a()
	_, _ = h.Write([]byte(kind + " " + of))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// quoted writes text as a JSON string, for the source of a function. A string can always be encoded.
func quoted(text string) string {
	b, _ := encode(text)
	return string(b)
}

// encode writes one document without escaping &, < and >, which would only make the demo harder to read.
func encode(document any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(document); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// each makes the documents of things 1 to count.
func each(count int, documents func(number int) []any) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for n := 1; n <= count; n++ {
			for _, d := range documents(n) {
				if row, err := encode(d); !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}
