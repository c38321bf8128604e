package segment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/testkit/testrun"
)

// TestTooManyTerms leaves a document out whose terms would take too much memory, and keeps
// those beside it.
func TestTooManyTerms(t *testing.T) {
	testrun.Sequential(t)
	same := make([]string, 1000)
	for i := range same {
		same[i] = "same"
	}
	long := textField("t", strings.Join(same, " "))
	many := Document{ID: "b"}
	for range MaxPlaces/1000 + 1 {
		many.Fields = append(many.Fields, long)
	}
	docs := []Document{{ID: "a", Fields: []Field{long}}, many, {ID: "c", Fields: []Field{long}}}
	yield := func(docs ...Document) func(func(*Document) bool) {
		return func(yield func(*Document) bool) {
			for i := range docs {
				if !yield(&docs[i]) {
					return
				}
			}
		}
	}
	b, err := BuildEach(t.Context(), yield(docs...))
	if err != nil || b.Left != 1 || !slices.Equal(b.IDs, []string{"a", "c"}) {
		t.Fatalf("%v, %d left, %v", b.IDs, b.Left, err)
	}
	if s := must[*Segment](t)(Open(b.Bytes)); s.Count() != 2 {
		t.Fatalf("%d documents", s.Count())
	}
	if b, err = BuildEach(t.Context(), yield(many)); err != nil || b.Left != 1 || b.Bytes != nil {
		t.Fatalf("%d left, %v", b.Left, err)
	}
}

// TestContextsEnd: building and merging end when nobody wants them any more, between two
// documents and within the library.
func TestContextsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := Document{ID: "a"}
	for i := range 2000 {
		d.Fields = append(d.Fields, textField(fmt.Sprint(i), "some words"))
	}
	seen := 0
	_, err := BuildEach(ctx, func(yield func(*Document) bool) {
		for seen = 1; yield(&d); seen++ {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || seen != 2 {
		t.Fatalf("%v after %d documents", err, seen)
	}
	_, err = BuildEach(ctx, func(yield func(*Document) bool) {})
	if err != nil {
		t.Fatal(err) // there was nothing to do
	}
	s := Source{Segment: must[*Segment](t)(Open(must[[]byte](t)(Build([]Document{d}))))}
	scratch := t.TempDir()
	if _, _, err := Merge(ctx, []Source{s, s}, scratch); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(scratch); len(left) > 0 || err != nil {
		t.Fatalf("%v, %v", left, err)
	}
}

// TestFilesForMerging merges in files of both kinds.
func TestFilesForMerging(t *testing.T) {
	dir := t.TempDir()
	for name, of := range map[string]func(string) (file, error){"disk": diskFile, "system": scratchFile} {
		f, err := of(dir)
		if err != nil {
			t.Fatal(name, err)
		}
		if err := os.WriteFile(f.path, []byte("bytes"), 0o600); err != nil {
			t.Fatal(name, err)
		}
		if b, err := os.ReadFile(f.path); string(b) != "bytes" {
			t.Fatal(name, string(b), err)
		}
		f.remove()
		if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
			t.Fatalf("%s: %v, %v", name, left, err)
		}
	}
}
