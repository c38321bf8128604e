package text

import (
	"context"
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/store"
)

// How segments are merged. Small ones are those of a few changes: eight of about the same
// number of documents become one. Larger ones come together until they make a whole one,
// so that a first build merges each document once; whole ones stay, until half of their
// documents are deleted.
const (
	smallBytes = 64 << 10
	smallMany  = 8
	largerMany = 16
	wholeBytes = 16 << 20
	maxAtOnce  = 32
)

// pendingFor is how long a segment may take to be written.
const pendingFor = 10 * time.Minute

// Finish is index.Asynchronous's: it merges what the first build wrote.
func (k *Kind) Finish(ctx context.Context, d *store.Database, x *index.Index) error {
	for {
		more, err := k.Maintain(ctx, &index.Piece{Database: d, Index: x})
		if !more || err != nil {
			return err
		}
	}
}

// Maintain is index.Maintained's: it merges some segments, or removes what others left.
func (k *Kind) Maintain(ctx context.Context, p *index.Piece) (more bool, err error) {
	w := &work{Kind: k, rows: rowsOf(p.Database, p.Index.Number), x: p.Index}
	g := &merging{work: w, piece: p}
	defer func() { segment.Release(g.sources) }()
	left, err := g.begin(ctx)
	switch {
	case err != nil:
		return false, err
	case left != 0:
		return true, g.clear(ctx, left)
	case len(g.from) == 0:
		return false, nil
	}
	return true, g.run(ctx)
}

// merging is a merge of some segments of an index.
type merging struct {
	*work
	piece   *index.Piece
	from    []entry
	sources []segment.Source
}

// begin chooses what to merge and opens it. left is a segment that somebody began to
// write and did not end in time; 0 for none.
func (g *merging) begin(ctx context.Context) (left uint64, err error) {
	err = g.d.Whole().View(ctx, func(r *store.Reader) error {
		segment.Release(g.sources)
		g.from, g.sources, left = nil, nil, 0
		if left, err = g.overdue(r.Snapshot()); err != nil || left != 0 {
			return err
		}
		m, err := g.readManifest(r.Snapshot().Get)
		if err != nil {
			return err
		}
		g.from = g.choose(m.segments)
		g.sources, err = g.Kind.sources(g.rows, r, g.from, true)
		return err
	})
	return left, err
}

// overdue finds a segment whose deadline passed.
func (g *merging) overdue(v kv.Snapshot) (left uint64, err error) {
	now := uint64(g.o.Clock().Unix())
	err = kv.Each(v, kv.Prefix(keyspace.TextPending.Key(g.db, keyspace.U(g.index))), func(key, value []byte) error {
		r := packed.ReadVersion(value, pendingVersion)
		deadline := r.Uint()
		_, parts, err := keyspace.TextPending.Decode(key)
		if err == nil && left == 0 && (deadline < now || r.Failed()) {
			left = parts[1].Num()
		}
		return err
	})
	return left, err
}

// choose returns segments that are to be merged, in their order; none
// if all is well.
func (z sizes) choose(segments []entry) []entry {
	tiers := map[int][]entry{}
	larger := []entry(nil)
	sum := uint64(0)
	for _, e := range segments {
		switch {
		case e.deleted*2 >= e.docs:
			return []entry{e}
		case e.bytes < smallBytes:
			tier := bits.Len32(e.docs) / 3
			tiers[tier] = append(tiers[tier], e)
		case e.bytes < wholeBytes/2:
			larger, sum = append(larger, e), sum+e.bytes
		}
	}
	for tier := range 12 {
		if len(tiers[tier]) >= z.mergeCount {
			return some(tiers[tier])
		}
	}
	if len(larger) >= largerMany || sum >= wholeBytes && len(larger) > 1 {
		return some(larger)
	}
	return nil
}

// some returns the first of some segments, two at least, as many as make a whole one.
func some(segments []entry) []entry {
	n, sum := 0, uint64(0)
	for n < len(segments) && n < maxAtOnce && (n < 2 || sum+segments[n].bytes <= wholeBytes) {
		sum += segments[n].bytes
		n++
	}
	return segments[:n]
}

// run merges, and writes what that gives.
func (g *merging) run(ctx context.Context) error {
	made, numbers, err := g.merge(ctx)
	if err != nil {
		for _, s := range g.sources {
			s.Ref.Suspect()
		}
		return err
	}
	to := g.merged(made)
	written := false
	if len(made) > g.batch {
		if to.number, err = g.writeAhead(ctx, made); err != nil {
			return err
		}
		written = true
	}
	err = g.piece.Commit(ctx, func(tx kv.Txn) error { return g.swap(tx, to, made, numbers, written) })
	if err == nil {
		for i := range g.from {
			g.cache.forget(g.key(&g.from[i]))
		}
	}
	return err
}

// merge merges the segments, within the memory in which segments are made.
func (g *merging) merge(ctx context.Context) (made []byte, numbers [][]uint32, err error) {
	bytes := 0
	for i := range g.from {
		bytes += int(g.from[i].bytes)
	}
	free, err := g.reserve(ctx, bytes*perMerged)
	if err != nil {
		return nil, nil, err
	}
	defer free()
	made, numbers, err = segment.Merge(ctx, g.sources, g.o.Scratch)
	if errors.Is(err, segment.ErrFields) && len(g.from) > 2 {
		segment.Release(g.sources[2:])
		g.from, g.sources = g.from[:2], g.sources[:2] // as many as go together
		made, numbers, err = segment.Merge(ctx, g.sources, g.o.Scratch)
	}
	return made, numbers, err
}

// merged describes the merged segment.
func (g *merging) merged(made []byte) entry {
	if made == nil {
		return entry{}
	}
	to := entry{bytes: uint64(len(made)), checksum: binary.BigEndian.Uint32(made[len(made)-4:]), first: g.from[0].first, last: g.from[0].last}
	for i, e := range g.from {
		to.first, to.last = min(to.first, e.first), max(to.last, e.last)
		if to.docs += e.docs; g.sources[i].Deleted != nil {
			to.docs -= uint32(g.sources[i].Deleted.GetCardinality())
		}
	}
	return to
}

// pendingVersion is the version of text-pending rows.
const pendingVersion = 1

// writeAhead writes the bytes of a segment that is too long for one transaction. A row
// says that it is being written: it is the fence of whoever clears up.
func (g *merging) writeAhead(ctx context.Context, made []byte) (number uint64, err error) {
	err = g.piece.Commit(ctx, func(tx kv.Txn) error {
		m, err := g.readManifest(tx.GetForUpdate)
		if err != nil {
			return err
		}
		number = m.next
		m.next++
		value := packed.Writer{pendingVersion}
		value.Uint(uint64(g.o.Clock().Add(pendingFor).Unix()))
		return errors.Join(tx.Put(g.pending(number), value), tx.Put(g.manifest(), m.pack()))
	})
	if err != nil {
		return 0, err
	}
	to := g.d.Large(&keyspace.TextChunk, keyspace.U(g.rows.index), keyspace.U(number)).Writer(ctx, func(tx kv.Txn) error {
		_, err := tx.GetForUpdate(g.pending(number))
		return errors.Join(err, g.piece.Fence(tx))
	})
	if _, err := to.Write(made); err != nil {
		return 0, err
	}
	return number, to.Flush()
}

// swap puts the merged segment in the place of those that it is made of. What was
// deleted in these meanwhile is deleted in it.
func (g *merging) swap(tx kv.Txn, to entry, made []byte, numbers [][]uint32, written bool) error {
	m, err := g.readManifest(tx.GetForUpdate)
	if err != nil {
		return err
	}
	if written {
		if _, err := tx.GetForUpdate(g.pending(to.number)); err != nil {
			return errTaken(err)
		}
		if err := tx.Delete(g.pending(to.number)); err != nil {
			return err
		}
	}
	gone, moved, err := g.takeOut(tx, &m, numbers)
	if err != nil {
		return err
	}
	if moved { // somebody else merged some of them, or all of their documents went
		if written {
			return g.remove(tx, &to)
		}
		return nil
	}
	if to.deleted = uint32(gone.GetCardinality()); to.deleted == to.docs {
		if written {
			err = g.remove(tx, &to)
		}
		return errors.Join(err, tx.Put(g.manifest(), m.pack()))
	}
	if written {
		m.add(to)
	} else {
		number := m.next
		if err := g.putSegment(tx, &m, built{to, made}); err != nil {
			return err
		}
		to.number = number
	}
	if to.deleted > 0 {
		if err := g.putDeleted(tx, to.number, gone); err != nil {
			return err
		}
	}
	return tx.Put(g.manifest(), m.pack())
}

// errTaken is the error of a pending row that somebody removed.
func errTaken(err error) error {
	if errors.Is(err, kv.ErrNotFound) {
		return errLate
	}
	return err
}

var errLate = errors.New("text: a merge took longer than its deadline")

// takeOut takes the merged segments out of the manifest and removes their rows. gone is
// what was deleted in them since they were read, by the new numbers. With moved nothing is
// taken out: one of them is not there any more.
func (g *merging) takeOut(tx kv.Txn, m *manifest, numbers [][]uint32) (gone *roaring.Bitmap, moved bool, err error) {
	for _, e := range g.from {
		if m.find(e.number) < 0 {
			return nil, true, nil
		}
	}
	gone = roaring.New()
	for i, e := range g.from {
		now, err := g.readDeleted(tx.GetForUpdate, e.number)
		if err != nil {
			return nil, false, err
		}
		for it := now.Iterator(); it.HasNext(); {
			if number := numbers[i][it.Next()]; number != segment.Gone {
				gone.Add(number)
			}
		}
		if err := g.remove(tx, &e); err != nil {
			return nil, false, err
		}
		at := m.find(e.number)
		m.segments = slices.Delete(m.segments, at, at+1)
	}
	return gone, false, nil
}

// clear removes the chunks of a segment that was never finished.
func (g *merging) clear(ctx context.Context, number uint64) error {
	return g.piece.Commit(ctx, func(tx kv.Txn) error {
		if _, err := tx.GetForUpdate(g.pending(number)); err != nil {
			if errors.Is(err, kv.ErrNotFound) {
				return nil
			}
			return err
		}
		err := kv.Each(tx, kv.Prefix(keyspace.TextChunk.Key(g.db, keyspace.U(g.rows.index), keyspace.U(number))), func(key, _ []byte) error {
			return tx.Delete(key)
		})
		return errors.Join(err, tx.Delete(g.pending(number)))
	})
}
