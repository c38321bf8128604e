// Package kvcopy owns the copying of all rows of one storage engine into another, such as
// from the files of one machine into a database server.
//
// It promises that a part of a copy is not taken for the whole, that a copy that was
// interrupted goes on when it is started again, and that when Copy returns no error the
// target was read back and has the same rows as the source. Nobody else may write to either
// engine meanwhile. It must not know what rows mean. Begin reading at Copy.
package kvcopy

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"iter"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// Options say how to copy. Seal and Marker must be given.
type Options struct {
	// Seal is the key of a row without which an engine's rows are not used. It is written
	// last; until then the target has a marker there, with the source's seal in it.
	Seal []byte
	// Marker is the byte that a marker begins with, and a seal does not.
	Marker byte
	// Skip reports whether a row is neither copied nor compared nor, at the target, in the
	// way. It may be nil.
	Skip func(key []byte) bool
	// Finish is called when the target has the rows of the source and before it gets the
	// seal. An error leaves the marker there. It may be nil.
	Finish func(context.Context) error
	// Progress is called after each batch with how much of a step is done. It may be nil.
	Progress func(Step, Sum)
}

// Step is a part of the work.
type Step string

// The steps, in their order.
const (
	Copying   Step = "copying"
	Comparing Step = "comparing"
)

// Sum describes the rows of an engine.
type Sum struct {
	Rows     int64
	Bytes    int64             // of keys and values
	Checksum [sha256.Size]byte // of all rows in their order
}

const (
	pageRows  = 4096
	pageBytes = 1 << 20
	// batchBytes is how much is written at once: enough for an engine to take the rows by
	// its path for loads.
	batchBytes = 6 << 20
)

var (
	errOther      = dberr.New(dberr.Exists, "", "The target has a part of a copy of other data. Empty it, or start that copy again.")
	errWhole      = dberr.New(dberr.Exists, "", "The target has this data already.")
	errTaken      = dberr.New(dberr.Exists, "", "There is data at the target already: a copy needs an empty one.")
	errConcurrent = dberr.New(dberr.Conflict, "", "Another copy to this target was started.")
)

// Copy makes the rows of to those of from and returns what there is then. The target must
// be empty, or have a part that an earlier copy of the same source has left: rows that are
// the same on both sides are not written again, and rows that the source does not have are
// removed. Errors: Exists for other targets; Conflict if another copy to the target was
// started; Internal if the target does not return what was written; and those of the engines, of
// which Full, Unavailable and UnknownOutcome are worth another try.
func Copy(ctx context.Context, from, to kv.Engine, o Options) (Sum, error) {
	c := copier{Options: o, from: from, to: to}
	if c.Skip == nil {
		c.Skip = func([]byte) bool { return false }
	}
	if c.Progress == nil {
		c.Progress = func(Step, Sum) {}
	}
	sum, err := c.copy(ctx)
	return sum, dberr.Wrap("kvcopy.Copy", err)
}

type copier struct {
	Options
	from, to     kv.Engine
	seal, marker []byte // the values

	batch []change
	size  int // of the batch, in bytes
}

func (c *copier) copy(ctx context.Context) (sum Sum, err error) {
	if err := c.readSeal(ctx); err != nil {
		return sum, err
	}
	if err := c.begin(ctx); err != nil {
		return sum, err
	}
	if _, err := c.pass(ctx, Copying, c.write); err != nil {
		return sum, err
	}
	sum, err = c.pass(ctx, Comparing, func(context.Context, change) error {
		return dberr.New(dberr.Internal, "", "The target does not have what was written to it, or the source was changed meanwhile. Start the copy again.")
	})
	if err == nil && c.Finish != nil {
		err = c.Finish(ctx)
	}
	if err == nil {
		err = c.commit(ctx, []change{{key: c.Seal, old: c.marker, now: c.seal}})
	}
	return sum, err
}

func (c *copier) readSeal(ctx context.Context) error {
	return c.from.View(ctx, func(v kv.Snapshot) (err error) {
		c.seal, err = v.Get(c.Seal)
		return err
	})
}

// begin puts the marker at the target, which takes over from a copy that was interrupted.
func (c *copier) begin(ctx context.Context) error {
	c.marker = c.newMarker()
	return c.to.Update(ctx, func(tx kv.Txn) error {
		found, err := tx.GetForUpdate(c.Seal)
		if errors.Is(err, kv.ErrNotFound) {
			err = c.wantEmpty(tx)
		} else if err == nil {
			err = c.wantPart(found)
		}
		if err != nil {
			return err
		}
		return tx.Put(c.Seal, c.marker)
	})
}

// newMarker returns a marker that names the source and this copy.
func (c *copier) newMarker() []byte {
	p := packed.Writer{}
	p.Byte(c.Marker)
	p.Bytes(c.seal)
	p.Text(rand.Text())
	return p
}

func (c *copier) wantEmpty(v kv.Snapshot) error {
	return kv.Each(v, kv.Range{}, func(key, _ []byte) error {
		if c.Skip(key) {
			return nil
		}
		return errTaken
	})
}

// wantPart checks that a target has a part of a copy of this source.
func (c *copier) wantPart(found []byte) error {
	switch {
	case bytes.Equal(found, c.seal):
		return errWhole
	case len(found) == 0 || found[0] != c.Marker:
		return errTaken
	}
	u := packed.Read(found)
	u.Byte()
	seal := u.Bytes()
	u.Text()
	if u.Done() != nil || !bytes.Equal(seal, c.seal) {
		return errOther
	}
	return nil
}

// pass reads both sides, calls differs for each difference, in the order of the keys, and
// returns the sum of the source's rows.
func (c *copier) pass(ctx context.Context, step Step, differs func(context.Context, change) error) (sum Sum, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	source, stopSource := iter.Pull2(c.rows(ctx, c.from))
	defer stopSource()
	target, stopTarget := iter.Pull2(c.rows(ctx, c.to))
	defer stopTarget()
	hash := sha256.New()
	a, errA, moreA := source()
	b, errB, moreB := target()
	for n := 1; moreA || moreB; n++ {
		if err := errors.Join(errA, errB); err != nil {
			return sum, err
		}
		order := compare(a, moreA, b, moreB)
		d := change{}
		if order <= 0 {
			d.key, d.now = a.key, a.value
			sum.add(hash, a)
			a, errA, moreA = source()
		}
		if order >= 0 {
			d.key, d.old = b.key, b.value
			b, errB, moreB = target()
		}
		if order != 0 || !bytes.Equal(d.old, d.now) {
			if err := differs(ctx, d); err != nil {
				return sum, err
			}
		}
		if n%pageRows == 0 {
			c.Progress(step, sum)
		}
	}
	hash.Sum(sum.Checksum[:0])
	c.Progress(step, sum)
	return sum, c.flush(ctx)
}

// compare orders the next rows of two sides, of which at least one has more.
func compare(a row, moreA bool, b row, moreB bool) int {
	switch {
	case !moreA:
		return 1
	case !moreB:
		return -1
	}
	return bytes.Compare(a.key, b.key)
}

type row struct{ key, value []byte }

func (r row) size() int { return len(r.key) + len(r.value) }

// add adds a row. hash is where the checksum comes from.
func (s *Sum) add(hash interface{ Write([]byte) (int, error) }, r row) {
	s.Rows++
	s.Bytes += int64(r.size())
	var n [16]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(r.key)))
	binary.BigEndian.PutUint64(n[8:], uint64(len(r.value)))
	for _, part := range [][]byte{n[:], r.key, r.value} {
		_, _ = hash.Write(part) // a hash does not fail
	}
}

// rows returns all rows of an engine but the seal and those that are skipped. Each page is
// read at a snapshot of its own: a snapshot must not grow old.
func (c *copier) rows(ctx context.Context, e kv.Engine) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for next := []byte{}; next != nil; {
			page, after, err := c.page(ctx, e, next)
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
			}
			if err != nil {
				yield(row{}, err)
				return
			}
			next = after
		}
	}
}

// page reads a page that begins at a key, and returns where the next one does, nil for the
// end.
func (c *copier) page(ctx context.Context, e kv.Engine, start []byte) (page []row, next []byte, err error) {
	err = e.View(ctx, func(v kv.Snapshot) error {
		it, err := v.Iterate(kv.Range{Start: start}, kv.IterOptions{})
		if err != nil {
			return err
		}
		for size, n := 0, 0; it.Next(); n++ {
			if n == pageRows || size >= pageBytes {
				next = bytes.Clone(it.Key())
				break
			}
			if bytes.Equal(it.Key(), c.Seal) || c.Skip(it.Key()) {
				continue
			}
			value, err := it.Borrow()
			if err != nil {
				return errors.Join(err, it.Close())
			}
			page = append(page, row{bytes.Clone(it.Key()), append([]byte{}, value...)}) // an empty value is not nil
			size += page[len(page)-1].size()
		}
		return errors.Join(it.Err(), it.Close())
	})
	return page, next, err
}

// change is a row that the target does not have, has with another value or must not have.
type change struct{ key, old, now []byte } // old and now are nil where there is no row

// write adds a change to the batch, and writes the batch when it is large enough.
func (c *copier) write(ctx context.Context, d change) error {
	size := len(d.key) + len(d.now)
	if c.size+size > c.to.Limits().Txn/2 {
		if err := c.flush(ctx); err != nil {
			return err
		}
	}
	c.batch, c.size = append(c.batch, d), c.size+size
	if c.size < batchBytes {
		return nil
	}
	return c.flush(ctx)
}

// flush writes the batch.
func (c *copier) flush(ctx context.Context) error {
	if len(c.batch) == 0 {
		return nil
	}
	err := c.commit(ctx, c.batch)
	clear(c.batch) // their bytes are not kept
	c.batch, c.size = c.batch[:0], 0
	return err
}

// commit writes changes, as long as the target has the marker of this copy.
func (c *copier) commit(ctx context.Context, changes []change) error {
	return c.to.Update(ctx, func(tx kv.Txn) error {
		found, err := tx.GetForUpdate(c.Seal)
		if err == nil && !bytes.Equal(found, c.marker) {
			err = errConcurrent
		}
		for _, d := range changes {
			if err == nil && d.old != nil { // an engine may rely on rows being put once (kv.Txn.DeleteOnce)
				err = tx.Delete(d.key)
			}
			if err == nil && d.now != nil {
				err = tx.Put(d.key, d.now)
			}
		}
		return err
	})
}
