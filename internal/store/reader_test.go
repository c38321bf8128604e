package store

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sectional/sectional/internal/document"
)

// TestReadersHaveLocalsOfTheirOwn writes the same local document in the place of
// many readers and of all writers: everybody has his own, whatever his name is, and
// all of them go with the partition.
func TestReadersHaveLocalsOfTheirOwn(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	var scopes []Scope
	for _, p := range []document.Partition{"p", "pp", "p;", "reader"} {
		w.put(d, string(p)+":1", "", `{}`)
		for _, s := range []Scope{d.Within(p).Restrict(), d.Tenant(p).Restrict()} {
			scopes = append(scopes, s)
			for _, name := range []string{"p", "ann", "ann:", "ann:reader:ann", ":reader:ann", "p:reader:ann", "reader:ann", "\x00", "\xff", "ann\x00", "_local/x", "é", ";"} {
				scopes = append(scopes, s.ReadBy(name))
			}
		}
	}
	for i, s := range scopes {
		if s.OwnLocals() != (s.reader != "") {
			t.Errorf("%+v: own locals: %v", s, s.OwnLocals())
		}
		for _, id := range []document.ID{"_local/x", "_local/gone"} {
			if _, err := s.PutLocal(ctx, id, uint64(i), fmt.Appendf(nil, `{"n":%d}`, i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.DeleteLocal(ctx, "_local/gone"); err != nil {
			t.Fatal(err)
		}
	}
	locals := func(s Scope) (found []string) {
		if err := s.View(ctx, func(r *Reader) error {
			for l, err := range r.Locals(Span{}) {
				if err != nil {
					return err
				}
				one, err := r.Local(l.ID)
				if err != nil {
					return err
				}
				found = append(found, fmt.Sprintf("%s 0-%d %s", l.ID, one.Rev, one.Body))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return found
	}
	check := func(left func(Scope) bool) {
		t.Helper()
		for i, s := range scopes {
			var want []string
			if left(s) {
				want = []string{fmt.Sprintf(`_local/x 0-%d {"n":%d}`, i+1, i)}
			}
			if got := locals(s); !slices.Equal(got, want) {
				t.Errorf("partition %q, tenant %v, reader %q: %q, want %q", s.partition, s.tenant, s.reader, got, want)
			}
		}
	}
	check(func(Scope) bool { return true })
	if err := d.DropPartition(ctx, "p", false); err != nil {
		t.Fatal(err)
	}
	w.sweep()
	check(func(s Scope) bool { return s.partition != "p" })
}
