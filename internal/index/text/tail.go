package text

import (
	"context"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/store"
)

// tailText is about how many bytes of values the documents of a piece of a tail may give.
const tailText = 1 << 20

// piece is what is made of a piece of a tail.
type piece struct {
	ids     []string         // of the documents that changed
	segment *segment.Segment // of those that give something; nil for none
}

// Amend makes a reader of index x, or of partition p of it, one of the index as it will be
// when it has taken in what changed since: a segment of these documents is made in memory,
// and their old versions count as deleted. So a query that comes right after a write need
// not wait for the index's commit. The reader was made at the snapshot at which the tail was
// read.
//
// It is not ok, and over must not be used, if that is better left to the index: the
// documents give too much, their function had to be stopped, which is to be counted, or
// anything failed. The error is ctx's.
func (k *Kind) Amend(ctx context.Context, over *segment.Reader, d *store.Database, x *index.Index, p document.Partition, tail *index.Tail) (ok bool, err error) {
	w := k.work(d, x)
	if w.Def == nil || w.Analyzers == nil || k.o.Functions == nil && w.Mango == nil {
		return false, nil
	}
	var made []*piece // the last one first
	for ; tail != nil && len(tail.Changes) > 0; tail = tail.Before {
		if tail.Derived == nil {
			made, ok := w.piece(ctx, tail.Changes)
			if !ok {
				return false, ctx.Err()
			}
			tail.Derived = made
		}
		made = append(made, tail.Derived.(*piece))
	}
	for i := len(made) - 1; i >= 0; i-- {
		if over.Replace(made[i].ids, made[i].segment, string(p)) != nil {
			return false, nil
		}
	}
	return true, nil
}

// piece makes a segment of what documents give, a few of them at a time; not ok as for
// Amend.
func (w *work) piece(ctx context.Context, docs []index.Change) (made *piece, ok bool) {
	var lost failures
	held := pending{w: w, failed: &lost}
	ids, left := inputs(docs)
	given := 0
	for most := firstDocs; len(left) > 0; most *= 2 {
		some := left[:min(most, len(left))]
		left = left[len(some):]
		bytes, err := w.some(ctx, some, &held, &lost)
		if given += bytes; err != nil || lost.stopped > 0 || given > tailText || len(held.segments) > 0 {
			return nil, false
		}
	}
	if err := held.build(ctx); err != nil || len(held.segments) > 1 {
		return nil, false
	}
	if len(held.segments) == 0 {
		return &piece{ids, nil}, true
	}
	s, err := segment.Open(held.segments[0].made)
	return &piece{ids, s}, err == nil
}
