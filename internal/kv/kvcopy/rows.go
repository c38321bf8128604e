package kvcopy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

type row struct{ key, value []byte }

func (r row) size() int { return len(r.key) + len(r.value) }

// survey reads the whole source, and finds the rows that the target does not take.
func (c *copier) survey(ctx context.Context) error {
	limits, bad := c.to.Limits(), []string(nil)
	c.all = Sum{}
	err := c.read(ctx, c.span(), func(_ kv.Range, page []row) error {
		for _, r := range page {
			c.all.add(r.key, r.value)
			key := len(r.key) - len(c.From) + len(c.To)
			switch {
			case len(bad) > told:
			case key > limits.Key:
				bad = append(bad, fmt.Sprintf("%s: a key of %d bytes, and %d is the longest", c.Describe(r.key), key, limits.Key))
			case len(r.value) > limits.Value || key+len(r.value) > limits.Txn:
				bad = append(bad, fmt.Sprintf("%s: a value of %d bytes, and %d is the longest", c.Describe(r.key), len(r.value), min(limits.Value, limits.Txn-key)))
			}
		}
		c.Progress(Reading, c.all, Sum{})
		return nil
	})
	if err != nil || len(bad) == 0 {
		return err
	}
	more := ""
	if len(bad) > told {
		bad, more = bad[:told], "; and more"
	}
	return dberr.New(dberr.TooLarge, "", "%s", "The target does not take all rows: "+strings.Join(bad, "; ")+more)
}

// read calls fn with the rows of the source in r, and the range in which they are all there
// are, each page read at a snapshot of its own, for one must not grow old. A page fits into
// a transaction of the target.
func (c *copier) read(ctx context.Context, r kv.Range, fn func(kv.Range, []row) error) error {
	for {
		var page []row
		got := r
		err := c.from.View(ctx, func(v kv.Snapshot) error {
			it, err := v.Iterate(r, kv.IterOptions{})
			if err != nil {
				return err
			}
			for size := 0; it.Next(); {
				if c.Apart(it.Key()) {
					continue
				}
				value, err := it.Borrow()
				if err != nil {
					return errors.Join(err, it.Close())
				}
				one := row{bytes.Clone(it.Key()), append([]byte{}, value...)}
				if size += one.size(); len(page) > 0 && (size > c.most() || len(page) == pageRows) {
					got.End = one.key
					break
				}
				page = append(page, one)
			}
			return errors.Join(it.Err(), it.Close())
		})
		if err == nil {
			err = fn(got, page)
		}
		if err != nil || bytes.Equal(got.End, r.End) {
			return err
		}
		r.Start = got.End
	}
}

// pages calls fn with all pages, and has the target follow the source in between.
func (c *copier) pages(ctx context.Context, fn func(context.Context, kv.Range, []row) error) error {
	return c.read(ctx, c.span(), func(r kv.Range, page []row) error {
		if err := fn(ctx, r, page); err != nil {
			return err
		}
		_, err := c.follow(ctx)
		return err
	})
}

// copyPage is a page of the first pass.
func (c *copier) copyPage(ctx context.Context, r kv.Range, page []row) error {
	for _, one := range page {
		c.done.Rows++
		c.done.Bytes += int64(one.size())
	}
	c.Progress(Copying, c.done, c.all)
	if err := c.bring(ctx, r, page); err != nil {
		return err
	}
	c.reach(r.End)
	return nil
}

// bring makes a range of the target what the source has there.
func (c *copier) bring(ctx context.Context, r kv.Range, page []row) error {
	for more := true; more; {
		var rest kv.Range
		var left []row
		err := c.write(ctx, func(tx kv.Txn, changed *[]change) error {
			old, beyond, err := c.theirs(tx, r)
			if err != nil {
				return err
			}
			var part []row
			part, left, rest, more = cut(page, beyond, r)
			return merge(part, old, func(one change) error {
				*changed = append(*changed, one)
				return c.put(tx, one)
			})
		})
		if err != nil {
			return err
		}
		r, page = rest, left
	}
	return nil
}

// compare reads what the target has in a range and notes which rows differ: they must have
// been written at the source since they were copied.
func (c *copier) compare(ctx context.Context, r kv.Range, page []row) error {
	end := r.End
	for more := true; more; {
		var old, part []row
		var beyond []byte
		err := c.to.View(ctx, func(v kv.Snapshot) (err error) {
			old, beyond, err = c.theirs(v, r)
			return err
		})
		if err != nil {
			return err
		}
		for _, one := range old {
			c.sum.add(one.key, one.value)
		}
		part, page, r, more = cut(page, beyond, r)
		_ = merge(part, old, func(one change) error {
			c.doubts[string(one.key)] = true
			return nil
		})
	}
	c.reach(end)
	c.Progress(Comparing, c.sum, c.all)
	return nil
}

// change is a row that the target lacks, has as another or has too much, by the source's
// key.
type change struct {
	key      []byte
	old, now []byte // nil for none
}

// merge calls fn with the differences of two lists of rows: what there is to be and what
// there is.
func merge(want, have []row, fn func(change) error) error {
	for len(want) > 0 || len(have) > 0 {
		one, order := change{}, compareHeads(want, have)
		if order <= 0 {
			one.key, one.now, want = want[0].key, want[0].value, want[1:]
		}
		if order >= 0 {
			one.key, one.old, have = have[0].key, have[0].value, have[1:]
		}
		if order == 0 && bytes.Equal(one.old, one.now) {
			continue
		}
		if err := fn(one); err != nil {
			return err
		}
	}
	return nil
}

// compareHeads orders the first keys of two lists, of which one is not empty.
func compareHeads(a, b []row) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return bytes.Compare(a[0].key, b[0].key)
}

// theirs reads the rows of the target in a range of the source, by the source's keys, as
// many as a transaction takes; beyond is the key of the next, nil if these are all.
func (c *copier) theirs(v kv.Snapshot, r kv.Range) (rows []row, beyond []byte, err error) {
	it, err := v.Iterate(c.place(r), kv.IterOptions{})
	if err != nil {
		return nil, nil, err
	}
	for size := 0; it.Next(); {
		key := c.here(it.Key())
		if c.Apart(key) {
			continue
		}
		value, err := it.Borrow()
		if err != nil {
			return nil, nil, errors.Join(err, it.Close())
		}
		one := row{key, append([]byte{}, value...)}
		if size += one.size(); len(rows) > 0 && (size > c.most() || len(rows) == pageRows) {
			beyond = key
			break
		}
		rows = append(rows, one)
	}
	return rows, beyond, errors.Join(it.Err(), it.Close())
}

// most is how many bytes are read or written at once.
func (c *copier) most() int { return min(pageBytes, c.to.Limits().Txn/4) }

// cut cuts a page where what was read of the target ended: what is before, and what is
// left of the page and its range.
func cut(page []row, beyond []byte, r kv.Range) (part, left []row, rest kv.Range, more bool) {
	if beyond == nil {
		return page, nil, kv.Range{Start: r.End, End: r.End}, false
	}
	n, _ := slices.BinarySearchFunc(page, beyond, func(one row, key []byte) int { return bytes.Compare(one.key, key) })
	return page[:n], page[n:], kv.Range{Start: beyond, End: r.End}, true
}

// put writes a change. A row is put once, for an engine may rely on that when it is removed
// (kv.Txn.DeleteOnce).
func (c *copier) put(tx kv.Txn, one change) (err error) {
	key := c.there(one.key)
	if one.old != nil {
		err = tx.Delete(key)
	}
	if err == nil && one.now != nil {
		err = tx.Put(key, one.now)
	}
	return err
}

// attempts is how often something is written of which it is unknown whether it was.
const attempts = 100

// write has fn write changes to the target, which it reads there in the same transaction,
// and takes notice of them when they are written.
func (c *copier) write(ctx context.Context, fn func(kv.Txn, *[]change) error) error {
	var changed []change
	err := Settled(ctx, c.to, func(tx kv.Txn) error {
		changed = changed[:0]
		return fn(tx, &changed)
	})
	if err != nil || !c.comparing {
		return err
	}
	for _, one := range changed {
		if !c.behind(one.key) {
			continue
		}
		if one.old != nil {
			c.sum.remove(one.key, one.old)
		}
		if one.now != nil {
			c.sum.add(one.key, one.now)
		}
	}
	return c.readBack(ctx, changed)
}

// Settled is Update of what may be carried out twice, until it is known that it was.
func Settled(ctx context.Context, e kv.Engine, fn func(kv.Txn) error) error {
	for n := 1; ; n++ {
		err := e.Update(ctx, fn)
		if n == attempts || !dberr.Is(err, dberr.UnknownOutcome) {
			return err
		}
		kv.Pause(ctx, time.Duration(n)*10*time.Millisecond)
	}
}

// readBack compares rows of the target with what was just written.
func (c *copier) readBack(ctx context.Context, changed []change) error {
	keys := make([][]byte, len(changed))
	for i, one := range changed {
		keys[i] = c.there(one.key)
	}
	var values [][]byte
	err := c.to.View(ctx, func(v kv.Snapshot) (err error) {
		values, err = v.GetMany(keys)
		return err
	})
	for i := range values {
		if !same(values[i], changed[i].now) {
			c.doubts[string(changed[i].key)] = true
			return errors.Join(err, c.different())
		}
	}
	return err
}

// same reports whether two values are the same, where nil is none.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
