package view

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// draft makes a draft of a partition of view v of a design document.
func (w *world) draft(id string, p document.Partition) *Draft {
	w.Helper()
	x := w.index(id)
	var docs []index.Change
	must(w, w.db.Whole().View(ctx, func(r *store.Reader) (err error) {
		var all bool
		if docs, all, err = x.PartitionDocs(r, p, 1000, 1<<20); !all {
			w.Error("the partition is too large")
		}
		return err
	}))
	d, err := w.kind.Draft(ctx, w.db, x, p, docs)
	must(w, err)
	return d
}

// answers reads what queries of a partition read, in all directions.
func (w *world) answers(id string, p document.Partition, reader func(*store.Reader) (*Reader, error)) (text string) {
	w.Helper()
	must(w, w.db.Whole().View(ctx, func(r *store.Reader) error {
		text = ""
		v, err := reader(r)
		if err != nil {
			return err
		}
		defer v.Close()
		for _, q := range []Range{{}, {Start: Bound{Key: []byte("2")}}, {End: Bound{Key: []byte(`"b"`)}}, {Start: Bound{Key: []byte("1")}, End: Bound{Key: []byte("[2]")}, Exclusive: true},
			{Start: Bound{Key: []byte("3"), ID: document.ID(p + ":7"), ByID: true}, End: Bound{Key: []byte("3"), ID: document.ID(p + ":9"), ByID: true}}, {Start: Bound{Key: []byte(`"zz"`)}}} {
			for _, q.Descending = range []bool{false, true} {
				if q.Descending {
					q.Start, q.End = q.End, q.Start
				}
				for _, skip := range []uint64{0, 1, 5, 1000} {
					text += w.answer(id, v, q, skip)
				}
			}
		}
		return nil
	}))
	return text
}

func (w *world) answer(id string, v *Reader, q Range, skip uint64) (text string) {
	w.Helper()
	s, err := v.Span(q)
	must(w, err)
	count, err := v.Count(s)
	must(w, err)
	before, err := v.Count(s.Before(v.Whole()))
	must(w, err)
	text = fmt.Sprintf("%d before %d\n", before, count)
	left, err := v.Skip(s, skip)
	must(w, err)
	for row, err := range v.Rows(left) {
		must(w, err)
		text += fmt.Sprintf("%s %s %s\n", row.Key, row.ID, row.Value)
	}
	for _, level := range []int{0, 1, Exact} {
		for rest := s; !rest.Empty(); {
			var groups []Group
			groups, rest, err = v.Groups(rest, level, 3)
			must(w, err)
			must(w, w.kind.Values(ctx, w.db, w.index(id), groups))
			for _, g := range groups {
				text += fmt.Sprintf("%s: %s %v\n", g.Key, g.Value, g.Failed)
			}
		}
	}
	return text
}

// TestDrafts holds that a draft of a partition answers what the index does when it
// is built, whatever is asked, and has its rows and nodes byte for byte.
func TestDrafts(t *testing.T) {
	for _, reduce := range []string{"", "_sum", "_stats", "_count", "_approx_count_distinct", "_top_2", "_last", "list"} {
		t.Run(reduce, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(len(reduce))))
			w := newWorld(t, &Kind{functions: goFunctions{}, spread: 1}, true)
			value := func() string {
				return []string{"1", "2.1", "0.3", "3", "1e15", "-1e15"}[r.IntN(6)]
			}
			key := func() string { return []string{"1", "2", "3", `"a"`, `"b"`, "[1,2]", "null"}[r.IntN(7)] }
			for n := range 120 {
				p := []string{"a", "b", "c"}[n%3]
				w.put(fmt.Sprintf("%s:%d", p, n), fmt.Sprintf(`{"k":%s,"l":%s,"v":%s}`, key(), key(), value()))
			}
			w.put("b:1", "", "b:_design/own", `{"views":{}}`)
			w.define("d", "function(doc){ emit(doc.k, doc.v); if (doc.l !== null) emit(doc.l, doc.v); }", reduce, "")
			drafts := map[document.Partition]*Draft{}
			early := map[document.Partition]string{}
			for _, p := range []document.Partition{"a", "b", "c", "empty"} {
				drafts[p] = w.draft("d", p)
				early[p] = w.answers("d", p, drafts[p].Reader)
			}
			w.follow()
			x := w.index("d")
			if x.State != index.Readable {
				t.Fatal(x.State)
			}
			for p, got := range early {
				want := w.answers("d", p, func(r *store.Reader) (*Reader, error) { return NewReader(r, x, p) })
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-index +draft):\n%s", p, diff)
				}
				w.sameRows(drafts[p].rows)
			}
		})
	}
}

// sameRows holds that the database has the rows of a draft.
func (w *world) sameRows(m *memory) {
	w.Helper()
	must(w, w.db.Whole().View(ctx, func(r *store.Reader) error {
		for _, row := range m.rows {
			value, err := r.Snapshot().Get(row.Key)
			if err != nil || string(value) != string(row.Value) {
				w.Errorf("a row of the draft is not in the index: %x: %x, %x %v", row.Key, row.Value, value, err)
			}
		}
		return nil
	}))
}

// TestMemory holds the draft's table to what snapshots do.
func TestMemory(t *testing.T) {
	m := &memory{}
	b := &batch{}
	for _, k := range []string{"b", "d", "a"} {
		b.put([]byte(k), []byte("v"+k))
	}
	must(t, m.write(ctx, b))
	if _, err := m.Get([]byte("c")); err != kv.ErrNotFound {
		t.Error(err)
	}
	for _, c := range []struct {
		from, to, seek string
		reverse        bool
		want           string
	}{
		{"", "", "", false, "abd"}, {"", "", "", true, "dba"}, {"b", "d", "", false, "b"}, {"b", "", "", true, "db"}, {"a", "z", "c", false, "d"},
		{"a", "z", "c", true, "ba"}, {"a", "z", "b", true, "ba"}, {"c", "b", "", false, ""}, {"a", "b", "x", false, ""}, {"b", "z", "a", true, ""},
	} {
		r := kv.Range{Start: []byte(c.from), End: []byte(c.to)}
		if c.to == "" {
			r.End = nil
		}
		it, err := m.Iterate(r, kv.IterOptions{Reverse: c.reverse})
		must(t, err)
		got, ok := "", false
		if c.seek != "" {
			ok = it.Seek([]byte(c.seek))
		} else {
			ok = it.Next()
		}
		for ; ok; ok = it.Next() {
			v, err := it.Value()
			must(t, err)
			if got += string(it.Key()); string(v) != "v"+string(it.Key()) {
				t.Errorf("%s has %s", it.Key(), v)
			}
		}
		if got != c.want || it.Next() {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestPartitionDocs holds the bounds of what is read of a partition.
func TestPartitionDocs(t *testing.T) {
	w := newWorld(t, &Kind{functions: goFunctions{}}, true)
	for n := range 10 {
		w.put(fmt.Sprintf("p:%d", n), `{"a":"0123456789"}`, fmt.Sprintf("q:%d", n), `{}`)
	}
	w.define("d", "function(doc){ emit(doc.n); }", "", "")
	x := w.index("d")
	for _, c := range []struct {
		p           document.Partition
		most, bytes int
		want        int
		all         bool
	}{{"p", 10, 1000, 10, true}, {"p", 9, 1000, 0, false}, {"p", 10, 100, 0, false}, {"none", 10, 1000, 0, true}, {"q", 100, 20, 10, true}} {
		must(t, w.db.Whole().View(ctx, func(r *store.Reader) error {
			docs, all, err := x.PartitionDocs(r, c.p, c.most, c.bytes)
			if len(docs) != c.want || all != c.all {
				t.Errorf("%+v: %d, %v", c, len(docs), all)
			}
			return err
		}))
	}
}
