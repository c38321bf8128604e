package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// modelRow is a row of the naive model: a sorted slice.
type modelRow struct {
	key, id string
	value   int
}

// model answers by looking at every row.
type model struct {
	rows []modelRow
	raw  bool
}

func (m *model) compare(a, b string) int {
	if m.raw {
		return keyspace.CompareRawJSON([]byte(a), []byte(b))
	}
	return keyspace.CompareJSON([]byte(a), []byte(b))
}

func (m *model) sort() {
	slices.SortStableFunc(m.rows, func(a, b modelRow) int {
		if c := m.compare(a.key, b.key); c != 0 {
			return c
		}
		if c := strings.Compare(a.id, b.id); c != 0 {
			return c
		}
		return a.value - b.value
	})
}

// within reports whether a row lies in a range.
func (m *model) within(r modelRow, q Range) bool {
	side := func(b Bound) int { // of the row to the bound, in the order of rows
		if c := m.compare(r.key, string(b.Key)); c != 0 || !b.ByID {
			return c
		}
		return strings.Compare(r.id, string(b.ID))
	}
	sign := 1
	if q.Descending {
		sign = -1
	}
	if q.Start.Key != nil && side(q.Start)*sign < 0 {
		return false
	}
	if q.End.Key == nil {
		return true
	}
	c := side(q.End) * sign
	return c < 0 || c == 0 && !q.Exclusive
}

// in returns the rows of a range as they are read: backward, but for the equal keys
// of one document.
func (m *model) in(q Range) (rows []modelRow) {
	for _, r := range m.rows {
		if m.within(r, q) {
			rows = append(rows, r)
		}
	}
	if q.Descending {
		slices.Reverse(rows)
		for i := 0; i < len(rows); {
			j := i
			for j < len(rows) && rows[j].id == rows[i].id && m.compare(rows[j].key, rows[i].key) == 0 {
				j++
			}
			slices.Reverse(rows[i:j])
			i = j
		}
	}
	return rows
}

func (m *model) text(rows []modelRow) (text string) {
	for _, r := range rows {
		text += fmt.Sprintf("%s %s %d\n", r.key, r.id, r.value)
	}
	return text
}

// groups returns sum groups as text.
func (m *model) groups(rows []modelRow, level int) (text string) {
	cut := func(key string) string {
		var list []json.RawMessage
		if level == Exact || json.Unmarshal([]byte(key), &list) != nil || len(list) <= level {
			return key
		}
		b, _ := json.Marshal(list[:level])
		return string(b)
	}
	for i := 0; i < len(rows); {
		key, sum := "null", 0
		if level != 0 {
			key = cut(rows[i].key)
		}
		for ; i < len(rows) && (level == 0 || m.compare(cut(rows[i].key), key) == 0); i++ {
			sum += rows[i].value
		}
		text += fmt.Sprintf("%s %d\n", key, sum)
	}
	return text
}

// keys are few, so that there are many equal ones and ranges meet them.
func randomKey(r *rand.Rand) string {
	atoms := []string{"null", "false", "true", "-1", "0", "7", `""`, `"a"`, `"A"`, `"b"`, `"zz"`, "[]", `{"a":1}`}
	if r.IntN(2) == 0 {
		return atoms[r.IntN(len(atoms))]
	}
	var parts []string
	for range 1 + r.IntN(3) {
		parts = append(parts, atoms[r.IntN(5)+3])
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func randomRange(r *rand.Rand, m *model) (q Range) {
	bound := func() (b Bound) {
		switch r.IntN(4) {
		case 0:
			return b
		case 1:
			b.ByID, b.ID = true, document.ID(fmt.Sprintf("p:%d", r.IntN(60)))
		}
		if b.Key = []byte(randomKey(r)); len(m.rows) > 0 && r.IntN(2) == 0 {
			b.Key = []byte(m.rows[r.IntN(len(m.rows))].key)
		}
		return b
	}
	return Range{Start: bound(), End: bound(), Exclusive: r.IntN(2) == 0, Descending: r.IntN(2) == 0}
}

// TestAnswers compares answers with the model's, while documents change.
func TestAnswers(t *testing.T) {
	for seed := range uint64(6) {
		raw, partitioned := seed%2 == 1, seed%3 == 1
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 3))
			e := openEngine(t)
			if seed >= 3 { // which nodes are asked first goes by that
				e = kvtest.NewRemote(e, nil)
			}
			w := newWorldOver(t, e, &Kind{functions: goFunctions{}, spread: 1 + uint(seed%3)}, partitioned)
			v := `{"views":{"v":{"map":"function(doc){ for (var i = 0; i < doc.keys.length; i++) emit(doc.keys[i], i); }","reduce":"_sum"`
			if raw {
				v += `,"options":{"collation":"raw"}`
			}
			w.put("_design/d", v+`}}}`)
			docs := map[string][]string{}
			p := document.Partition("")
			if partitioned {
				p = "p"
				w.put("o:1", `{"keys":["a",["a",1],null]}`, "q:1", `{"keys":[0,"b"]}`)
			}
			for range 12 {
				for range 15 {
					id := fmt.Sprintf("p:%d", r.IntN(60))
					if docs[id] != nil && r.IntN(4) == 0 {
						delete(docs, id)
						w.put(id, "")
						continue
					}
					keys := []string{}
					for range r.IntN(6) {
						keys = append(keys, randomKey(r))
					}
					docs[id] = keys
					w.put(id, `{"keys":[`+strings.Join(keys, ",")+`]}`)
				}
				w.follow()
				m := &model{raw: raw}
				for id, keys := range docs {
					for i, key := range keys {
						m.rows = append(m.rows, modelRow{key, id, i})
					}
				}
				m.sort()
				for range 40 {
					ask(t, w, m, r, p)
				}
			}
		})
	}
}

// ask compares the answers to one random query.
func ask(t *testing.T, w *world, m *model, r *rand.Rand, p document.Partition) {
	t.Helper()
	q := randomRange(r, m)
	all := m.in(q)
	skip := r.IntN(len(all) + 3)
	if r.IntN(2) == 0 {
		skip = 0
	}
	if got, want := w.rows("d", p, q, uint64(skip)), m.text(all[min(skip, len(all)):]); got != want {
		t.Fatalf("rows of %+v skip %d\ngot\n%swant\n%s", q, skip, got, want)
	}
	level := r.IntN(5) - 1
	if got, want := w.groups("d", p, q, level, 1+r.IntN(20)), m.groups(all, level); got != want {
		t.Fatalf("groups of %+v level %d\ngot\n%swant\n%s", q, level, got, want)
	}
	w.read("d", p, func(v *Reader) error {
		s, err := v.Span(q)
		if err != nil {
			return err
		}
		n, err := v.Count(s)
		if err != nil || int(n) != len(all) {
			t.Fatalf("count of %+v: %d, %v; want %d", q, n, err, len(all))
		}
		before, err := v.Count(s.Before(v.Whole()))
		behind := len(m.rows) - len(all) - int(before)
		if err != nil || behind < 0 {
			t.Fatalf("before %+v: %d, %v", q, before, err)
		}
		return page(t, v, s, m.text(all), 1+r.IntN(7))
	})
}

// page reads a span page by page.
func page(t *testing.T, v *Reader, s Span, want string, size int) error {
	var got strings.Builder
	for more := true; more; {
		more = false
		n := 0
		for r, err := range v.Rows(s) {
			if err != nil {
				return err
			}
			fmt.Fprintf(&got, "%s %s %s\n", r.Key, r.ID, r.Value)
			if n++; n >= size && r.At != nil {
				s, more = s.Behind(r.At), true
				break
			}
		}
	}
	if got.String() != want {
		t.Fatalf("in pages of %d\ngot\n%swant\n%s", size, got.String(), want)
	}
	return nil
}

// TestLongKeys shows what happens to keys that are too long for a position: equal
// ones stay together and are found.
func TestLongKeys(t *testing.T) {
	w := newWorld(t, &Kind{functions: goFunctions{}}, false)
	w.define("d", `function(doc){ emit(doc.k, doc.n); }`, "_count", "")
	long := strings.Repeat("x", 7000)
	w.put("a", `{"k":"`+long+`1"}`, "b", `{"k":"`+long+`2"}`, "c", `{"k":"`+long+`1"}`, "d", `{"k":"xx"}`, "e", `{"k":"y"}`)
	w.follow()
	key := []byte(`"` + long + `1"`)
	got := w.rows("d", "", Range{Start: Bound{Key: key}, End: Bound{Key: key}}, 0)
	if strings.Count(got, "\n") != 2 || !strings.Contains(got, " a ") || !strings.Contains(got, " c ") {
		t.Errorf("rows with the key: %.200s", got)
	}
	if got := w.groups("d", "", Range{}, Exact, 10); strings.Count(got, "\n") != 4 {
		t.Errorf("groups: %d", strings.Count(got, "\n"))
	}
	if got := w.rows("d", "", Range{Start: Bound{Key: []byte(`"xx"`)}, End: Bound{Key: []byte(`"xxz"`)}}, 0); strings.Count(got, "\n") != 4 {
		t.Errorf("rows of the range: %d", strings.Count(got, "\n"))
	}
	huge := `{"k":"h","n":"` + strings.Repeat("x", 7<<20) + `"}`
	w.put("huge", huge)
	w.follow()
	if got := w.rows("d", "", Range{Start: Bound{Key: []byte(`"h"`)}, End: Bound{Key: []byte(`"h"`)}}, 0); got != "" {
		t.Errorf("a row that is too large: %.100s", got)
	}
	if !bytes.Contains([]byte(w.rows("d", "", Range{}, 0)), []byte(`"y" e null`)) {
		t.Error("the other rows are gone")
	}
}

// TestSmallKeys: an engine that takes shorter keys has them cut earlier. Their order holds
// up to there, equal ones stay together, and no document is left out but those whose ids
// leave no room.
func TestSmallKeys(t *testing.T) {
	for _, longest := range []int{1 << 10, 2600} {
		limits := kv.Limits{Key: longest, Value: 1 << 20, Txn: 64 << 20}
		e := kvtest.NewChecked(t, kvtest.NewModel(kvtest.ModelOptions{Limits: limits}))
		w := newWorldOver(t, e, &Kind{functions: goFunctions{}}, true)
		w.define("d", `function(doc){ emit(doc.k, doc.n); }`, "_count", "")
		most := longestOf(limits)
		var want []string
		for n := most.key - 300; n < most.key+300; n += 50 { // longer ones come after shorter ones until they are cut
			id := fmt.Sprintf("p:%04d", n)
			w.put(id, fmt.Sprintf(`{"k":%q}`, strings.Repeat("x", n/2)))
			want = append(want, id)
		}
		long := strings.Repeat("y", longest)
		w.put("p:1", `{"k":"`+long+`1"}`, "p:2", `{"k":"`+long+`2"}`, "p:3", `{"k":"`+long+`1"}`, "p:z", `{"k":"z"}`)
		w.put("p:"+strings.Repeat("i", most.position-most.key-200), `{"k":"`+long+`"}`)
		w.follow()
		got := w.rows("d", "p", Range{}, 0)
		if n := strings.Count(got, "\n"); n != len(want)+5 {
			t.Errorf("keys of %d: %d rows, want %d", longest, n, len(want)+5)
		}
		at := 0
		for _, id := range want[:len(want)/2] {
			if next := strings.Index(got, " "+id+" "); next <= at {
				t.Errorf("keys of %d: the row of %s comes too early", longest, id)
			} else {
				at = next
			}
		}
		key := []byte(`"` + long + `1"`)
		if got := w.rows("d", "p", Range{Start: Bound{Key: key}, End: Bound{Key: key}}, 0); strings.Count(got, "\n") != 2 {
			t.Errorf("keys of %d: rows with the key: %.200s", longest, got)
		}
		if got := w.groups("d", "p", Range{}, Exact, 10); strings.Count(got, "\n") != len(want)+4 {
			t.Errorf("keys of %d: %d groups", longest, strings.Count(got, "\n"))
		}
	}
}
