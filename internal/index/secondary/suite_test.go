package secondary

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/indextest"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

var ctx = context.Background()

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func pebble(t *testing.T) kv.Engine {
	e, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: vfs.NewMem()})
	must(t, err)
	return e
}

const definition = `{"table":{"attributes":{"h":"S","r":"S","n":"N","b":"B","_s":"S"},"keys":["h","r"],"indexes":{` +
	`"by_n":{"keys":["n","_s"],"projection":"include","include":["x","$y"]},"by_b":{"keys":["_s","b"],"projection":"keys"},` +
	`"local":{"keys":["h","n"],"local":true,"projection":"all"},"one":{"keys":["b"],"projection":"all"}}}}`

// someKey makes a value, mostly one that a key of the type may have.
func someKey(r *rand.Rand, of string) string {
	switch {
	case r.IntN(6) == 0:
		return []string{`null`, `""`, `[1]`, `{"$b":"!"}`, `{"$b":""}`, `1e200`, `{"$b":"AQ==","x":1}`}[r.IntN(7)]
	case of == "n":
		return []string{"0", "-1", "1", "10", "9", "1.5", "-1.5e-3", "123456789012345678901234567890", "1.0"}[r.IntN(9)]
	case of == "b":
		b := make([]byte, 1+r.IntN(4))
		for i := range b {
			b[i] = []byte{0, 1, 0x7f, 0xff}[r.IntN(4)]
		}
		return `{"$b":"` + base64.StdEncoding.EncodeToString(b) + `"}`
	}
	return `"` + []string{"a", "ab", "a!", "a:b", "ä", "b", `\u0000`, `a\"`}[r.IntN(8)] + `"`
}

func body(r *rand.Rand) string {
	return fmt.Sprintf(`{"h":%s,"n":%s,"b":%s,"$_s":%s,"x":%d,"$$y":%d}`, someKey(r, "s"), someKey(r, "n"), someKey(r, "b"), someKey(r, "s"), r.IntN(3), r.IntN(2))
}

func TestSuite(t *testing.T) {
	indextest.Run(t, indextest.Subject{
		Kind: Kind{}, Engine: pebble, Body: body, Histories: 12,
		Designs: []string{
			definition,
			strings.Replace(definition, `"include":["x","$y"]`, `"include":["x"]`, 1),
			strings.Replace(definition, `"local":true,`, ``, 1),
			`{"table":{"attributes":{"h":"S"},"keys":["h"]}}`,
			`{"table":{"keys":["h"]}}`,
		},
	})
}

// item is a document as the test looks at it.
type item struct {
	id  document.ID
	key [2]string // texts of the index's keys
}

// TestWalk holds what spans give against all documents, looked at one by one.
func TestWalk(t *testing.T) {
	indexes := index.New(index.Options{Kinds: []index.Kind{Kind{}}, Logger: slog.New(slog.DiscardHandler)})
	defer indexes.Close()
	s, err := store.Open(ctx, kvtest.NewModel(kvtest.ModelOptions{}), store.Options{Indexer: indexes})
	must(t, err)
	defer s.Close()
	must(t, indexes.Start(ctx, s))
	db, err := s.Create(ctx, "items", store.Creation{Partitioned: true})
	must(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	write(t, db, []document.Edit{{ID: "_design/table", Body: []byte(definition)}}) // writers keep the indexes from here on
	var edits []document.Edit
	for i := range 400 {
		edits = append(edits, document.Edit{ID: document.ID(fmt.Sprintf("p%d:%d", i%3, i)), Body: []byte(body(r))})
	}
	write(t, db, edits)
	for name, keys := range map[string][2]string{"by_n": {"n", "$_s"}, "by_b": {"$_s", "b"}, "local": {"h", "n"}, "one": {"b", ""}} {
		all := itemsOf(t, edits, keys)
		if len(all) < 100 {
			t.Fatalf("%s: %d documents of 400", name, len(all))
		}
		must(t, db.Whole().View(ctx, func(rd *store.Reader) error {
			x := indexNamed(t, rd, name)
			for range 300 {
				walkOnce(t, r, rd, x, all, keys)
			}
			return nil
		}))
	}
}

// TestLongValues: documents from before an index whose values are longer than a key's may be are not in it, in whichever
// place of the key, and neither its build nor later writes fail by them.
func TestLongValues(t *testing.T) {
	indexes := index.New(index.Options{Kinds: []index.Kind{Kind{}}, Logger: slog.New(slog.DiscardHandler), Idle: true})
	defer indexes.Close()
	s, err := store.Open(ctx, pebble(t), store.Options{Indexer: indexes})
	must(t, err)
	defer s.Close()
	must(t, indexes.Start(ctx, s))
	db, err := s.Create(ctx, "items", store.Creation{Partitioned: true})
	must(t, err)
	sized := func(id string, hash, sort int) document.Edit {
		return document.Edit{ID: document.ID("p:" + id), Body: fmt.Appendf(nil, `{"h":"p","$_s":%q,"b":{"$b":%q},"n":1}`,
			strings.Repeat("x", hash), base64.StdEncoding.EncodeToString(make([]byte, sort)))}
	}
	both := func(prefix string) []document.Edit {
		return []document.Edit{sized(prefix+"fits", 2048, 1024), sized(prefix+"hash", 2049, 1), sized(prefix+"sort", 1, 1025), sized(prefix+"huge", 40000, 40000)}
	}
	write(t, db, both("a"))
	write(t, db, []document.Edit{{ID: "_design/table", Body: []byte(definition)}})
	must(t, indexes.Run(ctx, db))
	write(t, db, both("b"))
	for name, want := range map[string][]document.ID{"by_b": {"p:afits", "p:bfits"}, "by_n": {"p:asort", "p:bsort"}, "one": {"p:ahash", "p:bhash", "p:afits", "p:bfits", "p:asort", "p:bsort"}} {
		var got []document.ID
		must(t, db.Whole().View(ctx, func(rd *store.Reader) error {
			for e, err := range Walk(rd, indexNamed(t, rd, name), Span{}, nil, false) {
				must(t, err)
				got = append(got, e.ID)
			}
			return nil
		}))
		if !slices.Equal(got, want) {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
}

func write(t *testing.T, db *store.Database, edits []document.Edit) {
	results, err := db.Whole().Write(ctx, edits, store.WriteOptions{})
	must(t, err)
	for _, result := range results {
		must(t, result.Err)
	}
}

func indexNamed(t *testing.T, r *store.Reader, name string) *index.Index {
	var found *index.Index
	must(t, index.EachSet(r, func(_ store.Scope, s *index.Set) error {
		for _, n := range s.Named {
			if n.Name == name {
				found = n.Index
			}
		}
		return nil
	}))
	if found == nil {
		t.Fatal("no index", name)
	}
	return found
}

// textOf returns the text of a value in a key of a type, "" if it is none.
func textOf(v any, member string) string {
	switch v := v.(type) {
	case string:
		if member != "n" && member != "b" {
			return v
		}
	case json.Number:
		if member == "n" && v != "1e200" {
			return v.String()
		}
	case map[string]any:
		text, _ := v["$b"].(string)
		if b, err := base64.StdEncoding.DecodeString(text); err == nil && member == "b" && len(v) == 1 {
			return string(b)
		}
	}
	return ""
}

// itemsOf returns the documents that have the keys.
func itemsOf(t *testing.T, edits []document.Edit, keys [2]string) (all []item) {
	for _, e := range edits {
		var v map[string]any
		d := json.NewDecoder(strings.NewReader(string(e.Body)))
		d.UseNumber()
		must(t, d.Decode(&v))
		it := item{id: e.ID, key: [2]string{textOf(v[keys[0]], keys[0])}}
		if keys[1] != "" {
			it.key[1] = textOf(v[keys[1]], keys[1])
		}
		if it.key[0] != "" && (keys[1] == "" || it.key[1] != "") {
			all = append(all, it)
		}
	}
	return all
}

// compareTexts compares two values of a key.
func compareTexts(member, a, b string) int {
	if member != "n" {
		return cmp.Compare(a, b)
	}
	x, err := strconv.ParseFloat(a, 64)
	if err == nil {
		var y float64
		if y, err = strconv.ParseFloat(b, 64); err == nil {
			return cmp.Compare(x, y)
		}
	}
	panic(err)
}

// walkOnce compares one span, read from a position on, either way round.
func walkOnce(t *testing.T, r *rand.Rand, rd *store.Reader, x *index.Index, all []item, keys [2]string) {
	some := all[r.IntN(len(all))]
	s := Span{}
	if r.IntN(5) > 0 {
		s.Hash = some.key[0]
	}
	if x.Partitioned {
		s.Partition = some.id.Partition()
	}
	if s.Hash != "" && keys[1] != "" {
		switch r.IntN(3) {
		case 0:
			s.Low = Bound{all[r.IntN(len(all))].key[1], r.IntN(2) == 0, true}
			s.High = Bound{all[r.IntN(len(all))].key[1], r.IntN(2) == 0, r.IntN(2) == 0}
		case 1:
			if begin := all[r.IntN(len(all))].key[1]; keys[1] == "b" {
				s.Begins = begin[:1+r.IntN(len(begin))]
			} else if keys[1] != "n" {
				s.Begins = begin
			}
		}
	}
	var want []item
	for _, it := range all {
		if matches(&s, it, keys) {
			want = append(want, it)
		}
	}
	order := func(a, b item) int {
		return cmp.Or(compareTexts(keys[0], a.key[0], b.key[0]), compareTexts(keys[1], a.key[1], b.key[1]), cmp.Compare(a.id, b.id))
	}
	slices.SortFunc(want, order)
	descending := r.IntN(2) == 0
	if descending {
		slices.Reverse(want)
	}
	var after *Position
	if len(want) > 0 && r.IntN(2) == 0 {
		at := r.IntN(len(want))
		after = &Position{Keys: want[at].key[:1], ID: want[at].id}
		if keys[1] != "" {
			after.Keys = want[at].key[:]
		}
		want = want[at+1:]
	}
	var got, ids []document.ID
	for e, err := range Walk(rd, x, s, after, descending) {
		must(t, err)
		got = append(got, e.ID)
	}
	for _, it := range want {
		ids = append(ids, it.id)
	}
	if !slices.Equal(got, ids) {
		t.Fatalf("%#v after %#v, descending=%v:\n%q\n%q", s, after, descending, got, ids)
	}
}

func matches(s *Span, it item, keys [2]string) bool {
	switch {
	case s.Partition != "" && it.id.Partition() != s.Partition:
		return false
	case s.Hash != "" && compareTexts(keys[0], s.Hash, it.key[0]) != 0:
		return false
	case s.Begins != "":
		return strings.HasPrefix(it.key[1], s.Begins)
	}
	if s.Low.Set {
		if c := compareTexts(keys[1], it.key[1], s.Low.Text); c < 0 || c == 0 && s.Low.Exclusive {
			return false
		}
	}
	if s.High.Set {
		if c := compareTexts(keys[1], it.key[1], s.High.Text); c > 0 || c == 0 && s.High.Exclusive {
			return false
		}
	}
	return true
}

// TestRows shows what rows hold.
func TestRows(t *testing.T) {
	d, err := Kind{}.Open([]byte(`{"keys":[{"name":"o","type":"S"}],"projected":["$p","_q","o"]}`))
	must(t, err)
	rows := Kind{}.Rows(1, &index.Index{Number: 2, Kind: Kind{}, Opened: d})
	got, err := rows(nil, &store.Revision{ID: "p:k", Body: []byte(`{"o":"jane","$$p":[1,2],"other":1,"$_q":{"$b":"AQ=="}}`)})
	must(t, err)
	if want := "\x01" + `{"$$p":[1,2],"$_q":{"$b":"AQ=="},"o":"jane"}`; len(got) != 1 || string(got[0].Value) != want {
		t.Errorf("%q", got)
	}
	if id, err := (Kind{}).Document(got[0].Key); err != nil || id != "p:k" {
		t.Errorf("%s, %v", id, err)
	}
}
