package index_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/store"
)

// TestRevisionThatComesTwice writes one revision twice in one commit, the second
// time with another body and a longer history: the first body is the document's,
// and the indexes'.
func TestRevisionThatComesTwice(t *testing.T) {
	x := index.New(index.Options{Kinds: []index.Kind{field.Kind{}}, Idle: true})
	s := openStore(t, openEngine(t), x)
	defer s.Close()
	d, err := s.Create(ctx, "db", store.Creation{})
	if err != nil {
		t.Fatal(err)
	}
	define(t, d, design)
	if err := x.Run(ctx, d); err != nil {
		t.Fatal(err)
	}
	root, leaf := document.Rev{Gen: 1, Hash: "aa"}, document.Rev{Gen: 2, Hash: "bb"}
	body := func(n int) []byte { return fmt.Appendf(nil, `{"n":%d}`, n) }
	rs, err := d.Whole().Write(ctx, []document.Edit{
		{ID: "filled", Path: []document.Rev{leaf}, Body: body(1)},
		{ID: "filled", Path: []document.Rev{leaf, root}, Body: body(2)},
		{ID: "known", Path: []document.Rev{leaf, root}, Body: body(1)},
		{ID: "known", Path: []document.Rev{leaf, root}, Body: body(2)},
		{ID: "edited", Path: []document.Rev{document.NewRev(root, false, body(2), nil)}, Body: body(1)},
		{ID: "edited", Path: []document.Rev{root}, Body: body(3)},
		{ID: "edited", Parent: root, Body: body(2)},
		{ID: "buried", Path: []document.Rev{{Gen: 3, Hash: "cc"}, leaf, root}, Body: body(1)},
		{ID: "buried", Path: []document.Rev{{Gen: 3, Hash: "cc"}, leaf, root}, Tombstones: []document.Rev{leaf}, Body: body(2)},
	}, store.WriteOptions{})
	for _, r := range rs {
		err = errors.Join(err, r.Err)
	}
	if err = errors.Join(err, s.Check(ctx)); err != nil {
		t.Error(err)
	}
}
