package field_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/store"
)

// TestFilterDoesNotDependOnTheClock holds an index whose filter has patterns that would go back and
// forth for hours: every document that matches is in it, whether it was there before or came after.
func TestFilterDoesNotDependOnTheClock(t *testing.T) {
	ctx := context.Background()
	e := pebble(t)
	defer e.Close()
	x := index.New(index.Options{Kinds: []index.Kind{field.Kind{}}})
	s, err := store.Open(ctx, e, store.Options{Indexer: x, Idle: true})
	must(t, err)
	defer s.Close()
	defer x.Close()
	must(t, x.Start(ctx, s))
	d, err := s.Create(ctx, "db", store.Creation{})
	must(t, err)
	write := func(from, to int) {
		var edits []document.Edit
		for i := from; i < to; i++ {
			// All end as the pattern says, after many ways to get there.
			edits = append(edits, document.Edit{ID: document.ID(fmt.Sprintf("d%03d", i)), Body: fmt.Appendf(nil, `{"n":%d,"s":"%s%s"}`, i, strings.Repeat("ab", 500), []string{"!", "?"}[i%2])})
		}
		_, err := d.Whole().Write(ctx, edits, store.WriteOptions{})
		must(t, err)
	}
	write(0, 30)
	_, err = d.Whole().Write(ctx, []document.Edit{{ID: "_design/d", Body: []byte(
		`{"language":"query","views":{"v":{"map":{"fields":{"n":"asc"},"partial_filter_selector":{"s":{"$regex":"^((a|b|ab|ba)+)+!$"}}}}}}`)}}, store.WriteOptions{})
	must(t, err)
	write(30, 60)
	var set *index.Set
	must(t, d.Whole().View(ctx, func(r *store.Reader) (err error) {
		set, err = index.Of(r)
		return err
	}))
	must(t, x.Await(ctx, d, set.Indexes[0]))
	must(t, d.Whole().View(ctx, func(r *store.Reader) error {
		n := 0
		for _, err := range field.Walk(r, set.Indexes[0], field.Span{}, nil, false) {
			if n++; err != nil {
				return err
			}
		}
		if n != 30 {
			t.Errorf("the index holds %d of 30 documents", n)
		}
		return nil
	}))
	must(t, s.Check(ctx))
}

// A filter that could take for ever is refused; where a design document brings one along, the index fails and says why.
func TestFilterOfAnotherKind(t *testing.T) {
	for _, pattern := range []string{`(a)\\1`, `(?=a)b`, `a++`, `(?>a)`, `^\\R`} {
		_, err := field.Parse([]byte(`{"fields":{"n":"asc"},"partial_filter_selector":{"$or":[{"a":1},{"s":{"$not":{"$regex":"` + pattern + `"}}}]}}`))
		if !dberr.Is(err, dberr.Invalid) || !strings.Contains(err.Error(), "linear") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	defs := field.Kind{}.Defined(index.Design{Body: []byte(`{"language":"query","views":{"v":{"map":{"fields":{"n":"asc"},"partial_filter_selector":{"s":{"$regex":"(a)\\1"}}}}}}`)})
	if len(defs) != 1 {
		t.Fatal(defs)
	}
	if _, err := (field.Kind{}).Open(defs[0].Source); err == nil {
		t.Error("it was opened")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
