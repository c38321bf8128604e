package kvcopy

import (
	"bytes"
	"context"
	"slices"

	"github.com/sectional/sectional/internal/kv"
)

// together is how many written rows are read at once.
const together = 256

// follow brings what was written at the source since the last call, and returns how many
// rows that were.
func (c *copier) follow(ctx context.Context) (n int, err error) {
	keys, discarded, err := c.written.Written(ctx)
	if err != nil {
		return 0, err
	}
	// What was told once is not told again: it is kept until it was brought.
	c.discarded = append(c.discarded, discarded...)
	keys = slices.DeleteFunc(keys, func(key []byte) bool { return c.Apart(key) || !c.brought(key) })
	c.keys = append(c.keys, keys...)
	for len(c.discarded) > 0 {
		rows, err := c.again(ctx, c.discarded[0])
		if err != nil {
			return 0, err
		}
		c.discarded = c.discarded[1:]
		n += rows
	}
	slices.SortFunc(c.keys, bytes.Compare)
	for len(c.keys) > 0 {
		some := c.keys[:min(together, len(c.keys))]
		if err := c.bringKeys(ctx, some); err != nil {
			return 0, err
		}
		c.keys = c.keys[len(some):]
		n += len(some)
	}
	return n, nil
}

// again brings all of a range, and returns how many rows are in it.
func (c *copier) again(ctx context.Context, r kv.Range) (n int, err error) {
	r = c.clip(r)
	for key := range c.doubts {
		if r.Contains([]byte(key)) {
			delete(c.doubts, key)
		}
	}
	err = c.read(ctx, r, func(r kv.Range, page []row) error {
		n += len(page)
		return c.bring(ctx, r, page)
	})
	return n, err
}

// clip is the part of a range that is copied.
func (c *copier) clip(r kv.Range) kv.Range {
	all := c.span()
	if bytes.Compare(r.Start, all.Start) < 0 {
		r.Start = all.Start
	}
	if all.End != nil && (r.End == nil || bytes.Compare(r.End, all.End) > 0) {
		r.End = all.End
	}
	return r
}

// bringKeys makes rows of the target what the source has.
func (c *copier) bringKeys(ctx context.Context, keys [][]byte) error {
	var values [][]byte
	err := c.from.View(ctx, func(v kv.Snapshot) (err error) {
		values, err = v.GetMany(keys)
		return err
	})
	if err != nil {
		return err
	}
	size := 0
	for i := range values {
		size += len(keys[i]) + len(values[i])
	}
	if half := len(keys) / 2; half > 0 && size > c.most() {
		if err := c.bringKeys(ctx, keys[:half]); err != nil {
			return err
		}
		return c.bringKeys(ctx, keys[half:])
	}
	there := make([][]byte, len(keys))
	for i, key := range keys {
		there[i] = c.there(key)
		delete(c.doubts, string(key))
	}
	return c.write(ctx, func(tx kv.Txn, changed *[]change) error {
		old, err := tx.GetMany(there)
		if err != nil {
			return err
		}
		for i, key := range keys {
			if same(old[i], values[i]) {
				continue
			}
			one := change{key, old[i], values[i]}
			*changed = append(*changed, one)
			if err := c.put(tx, one); err != nil {
				return err
			}
		}
		return nil
	})
}

// brought reports whether the first pass has come to a key: it brings what is written
// behind that itself.
func (c *copier) brought(key []byte) bool { return c.comparing || c.behind(key) }

// reach notes that the pass under way has come to a key, nil for the end.
func (c *copier) reach(key []byte) { c.reached, c.whole = key, key == nil }

// behind reports whether the pass under way, or the last, has come to a key.
func (c *copier) behind(key []byte) bool {
	return c.whole || c.reached != nil && bytes.Compare(key, c.reached) < 0
}
