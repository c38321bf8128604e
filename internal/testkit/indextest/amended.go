package indextest

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/store"
)

// amend holds what indexes answer together with what they have not taken in against what
// they answer when they have: some changes later, and sometimes beside a partition that is
// being dropped.
func (w *world) amend(seed uint64) {
	w.Helper()
	if w.r.IntN(2) == 0 {
		if err := w.indexes.Run(ctx, w.db); err != nil {
			w.Fatal(err)
		}
		for range 1 + w.r.IntN(6) {
			w.write(w.id(), w.r.IntN(4) == 0)
		}
	}
	if p := w.id().Partition(); w.db.Partitioned() && w.r.IntN(2) == 0 {
		w.say("drop %s for later", p)
		if err := w.db.DropPartition(ctx, p, false); err != nil && !dberr.Is(err, dberr.NotFound) {
			w.Fatal(err)
		}
	}
	w.deal()
	before := w.answers(w.tail)
	for range w.r.IntN(12) {
		w.write(w.id(), w.r.IntN(4) == 0)
		w.deal()
		before = w.answers(w.tail)
	}
	w.deal()
	if err := w.indexes.Run(ctx, w.db); err != nil {
		w.Fatal(err)
	}
	w.deal()
	after := w.answers(func(r *store.Reader, x *index.Index) (*string, error) {
		answer, err := w.Answers(r, x)
		return &answer, err
	})
	for name, answer := range before {
		if _, left := after[name]; !left {
			continue // another was built in its place
		}
		if diff := cmp.Diff(strings.Split(after[name], "\n"), strings.Split(answer, "\n")); diff != "" {
			w.Fatalf("seed %d: %s answers otherwise when it has taken everything in\n%s\n%s", seed, name, diff, strings.Join(w.log, "\n"))
		}
	}
}

// tail answers together with what an index has not taken in, and keeps that for the next.
func (w *world) tail(r *store.Reader, x *index.Index) (*string, error) {
	tail, err := w.indexes.Tail(r, x)
	if tail == nil || err != nil {
		return nil, err
	}
	if tail.Before != nil {
		w.amended++
	}
	for t := tail; t != nil; t = t.Before {
		for _, c := range t.Changes {
			if c.Rev != nil && !r.Sees(c.ID) {
				w.Fatalf("%s of a partition that is being dropped is in the tail", c.ID)
			}
		}
	}
	answer, err := w.Amended(r, x, tail)
	if answer != nil {
		w.indexes.Keep(w.db, tail)
	}
	return answer, err
}

// answers returns what the readable indexes answer, those that do.
func (w *world) answers(of func(r *store.Reader, x *index.Index) (*string, error)) map[string]string {
	all := map[string]string{}
	err := w.db.Whole().View(ctx, func(r *store.Reader) error {
		return index.EachSet(r, func(ns store.Scope, s *index.Set) error {
			for _, x := range s.Indexes {
				if x.State != index.Readable {
					continue
				}
				answer, err := of(r.As(ns), x)
				if err != nil {
					return err
				}
				if answer != nil {
					all[fmt.Sprint(ns.Tenant(), " ", x.Number)] = *answer
				}
			}
			return nil
		})
	})
	if err != nil {
		w.Fatal(err)
	}
	return all
}
