package kvtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// reports collects what a checking wrapper complains of.
type reports struct {
	testing.TB
	lines []string
}

func (r *reports) Error(args ...any) { r.lines = append(r.lines, fmt.Sprint(args...)) }
func (r *reports) Errorf(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// TestCheckedReports commits each breach of the contract once.
func TestCheckedReports(t *testing.T) {
	iterate := func(s kv.Snapshot) kv.Iterator {
		it, err := s.Iterate(kv.Range{}, kv.IterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return it
	}
	for _, c := range []struct {
		want   string
		breach func(kv.Snapshot)
	}{
		{"", func(s kv.Snapshot) { it := iterate(s); it.Next(); it.Key(); _, _ = it.Value(); it.Close() }},
		{"left open", func(s kv.Snapshot) { iterate(s) }},
		{"closed twice", func(s kv.Snapshot) { it := iterate(s); it.Close(); it.Close() }},
		{"closed iterator", func(s kv.Snapshot) { it := iterate(s); it.Close(); it.Next() }},
		{"Key of an iterator that is at no row", func(s kv.Snapshot) { it := iterate(s); it.Key(); it.Close() }},
		{"Value of an iterator that is at no row", func(s kv.Snapshot) { it := iterate(s); _, _ = it.Value(); it.Close() }},
		{"Borrow of an iterator that is at no row", func(s kv.Snapshot) { it := iterate(s); _, _ = it.Borrow(); it.Close() }},
		{"borrowed at \"a\" was changed", func(s kv.Snapshot) {
			it := iterate(s)
			it.Next()
			v, _ := it.Borrow()
			v[0] = 'X'
			it.Next()
			it.Close()
		}},
		{"was changed", func(s kv.Snapshot) { it := iterate(s); it.Next(); it.Key()[0] = 'X'; it.Next(); it.Close() }},
		{"", func(s kv.Snapshot) { _, _ = s.Get([]byte("a")) }},
		{"", func(s kv.Snapshot) { _, _ = s.GetMany([][]byte{[]byte("a"), []byte("c")}) }},
	} {
		r := &reports{TB: t}
		model := NewModel(ModelOptions{})
		env{T: t, e: model}.load("a=1 b=2")
		e := NewChecked(r, model)
		_ = e.View(context.Background(), func(s kv.Snapshot) error { c.breach(s); return nil })
		got := strings.Join(r.lines, "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("reported %q, want %q", got, c.want)
		}
	}
}

func TestCheckedReportsUseAfterEnd(t *testing.T) {
	r := &reports{TB: t}
	e := NewChecked(r, NewModel(ModelOptions{}))
	var kept kv.Txn
	_ = e.Update(context.Background(), func(tx kv.Txn) error { kept = tx; return nil })
	_, _ = kept.Get([]byte("a"))
	_ = kept.Put([]byte("a"), nil)
	if len(r.lines) != 2 || !strings.Contains(r.lines[0], "Get after the closure returned") {
		t.Errorf("reported %q, want Get and Put after the closure returned", r.lines)
	}
}

// TestCheckedKeysAreRecalled shows that a key kept beyond the next move is lost.
func TestCheckedKeysAreRecalled(t *testing.T) {
	v := env{T: t, e: NewChecked(t, NewModel(ModelOptions{}))}
	v.load("aa=1 bb=2")
	v.view(func(s kv.Snapshot) {
		it, err := s.Iterate(kv.Range{}, forward)
		v.wantKind(err, none)
		defer it.Close()
		it.Next()
		key := it.Key()
		v.want(string(key), "aa")
		it.Next()
		if string(key) == "aa" {
			t.Error("the key is still there after the next move")
		}
	})
}

// badEngine breaks the contract in ways that a wrapper must notice.
type badEngine struct{ kv.Engine }

func (b badEngine) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	if err := b.Engine.Update(ctx, fn, locked...); err != nil {
		return errors.New("another error")
	}
	return dberr.New(dberr.Conflict, "", "a kind that Update does not have")
}

func TestCheckedReportsEngines(t *testing.T) {
	r := &reports{TB: t}
	e := NewChecked(r, badEngine{NewModel(ModelOptions{})})
	_ = e.Update(context.Background(), func(kv.Txn) error { return errRefused })
	_ = e.Update(context.Background(), func(kv.Txn) error { return nil })
	if len(r.lines) != 2 {
		t.Errorf("reported %q, want two errors of a wrong kind", r.lines)
	}
}

// TestModelRefusesMisuse has the model tell of what other engines leave
// undefined.
func TestModelRefusesMisuse(t *testing.T) {
	v := env{T: t, e: NewModel(ModelOptions{})}
	v.load("twice=1")
	v.load("twice=2 once=1")
	for key, want := range map[string]dberr.Kind{"twice": dberr.Internal, "absent": dberr.Internal, "once": none} {
		v.wantKind(v.e.Update(context.Background(), func(t kv.Txn) error { return t.DeleteOnce([]byte(key)) }), want)
	}
}
