package store

import (
	"bytes"
	"context"
	"errors"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// StoreCopy is a whole store that is to be copied into another engine.
type StoreCopy struct {
	// Moved says that the source is marked already: only Finish is left.
	Moved bool

	seal []byte // of the source, as it was
}

var errData = dberr.New(dberr.Exists, "", "There is data at the target already: everything goes into an empty one, single databases into any.")

// IsSeal reports whether a key is that of the row without which no store opens an engine's
// data.
func IsSeal(key []byte) bool { return bytes.Equal(key, metaKey("store")) }

// PrepareStoreCopy finds out whether a store can be copied into an engine: that has to be
// empty, but for rows that are apart, or have what an interrupted copy has left. It writes
// nothing. Errors: Exists.
func PrepareStoreCopy(ctx context.Context, from, to kv.Engine, apart func(key []byte) bool) (*StoreCopy, error) {
	c := &StoreCopy{}
	err := from.View(ctx, func(v kv.Snapshot) (err error) {
		if c.seal, err = v.Get(metaKey("store")); err != nil {
			return err
		}
		if len(c.seal) > 0 && c.seal[0] == movedStore {
			c.Moved = true
			_, c.seal, err = decodeMovedStore(c.seal)
			return err
		}
		_, err = readStore(v)
		return err
	})
	if err == nil {
		err = to.View(ctx, func(v kv.Snapshot) error { return c.readTarget(v, apart) })
	}
	return c, dberr.Wrap("store.PrepareStoreCopy", err)
}

func (c *StoreCopy) readTarget(v kv.Snapshot, apart func(key []byte) bool) error {
	seal, err := v.Get(metaKey("store"))
	switch {
	case err == nil && len(seal) == 1 && seal[0] == unfinished:
		return nil
	case err == nil && c.Moved && bytes.Equal(seal, c.seal):
		return nil // it was done
	case err == nil:
		return errData
	case !errors.Is(err, kv.ErrNotFound):
		return err
	}
	return kv.Each(v, kv.Range{}, func(key, _ []byte) error {
		if apart(key) {
			return nil
		}
		return errData
	})
}

// MovedTo is the error of whoever writes to a store that has moved away.
func MovedTo(where string) error {
	return dberr.New(dberr.Unavailable, "moved", "%s", "The data has moved to "+where+".")
}

// Begin has nobody open the target any more, until Finish.
func (c *StoreCopy) Begin(ctx context.Context, to kv.Engine, settled Settled) error {
	return dberr.Wrap("store.BeginCopy", settled(ctx, to, func(tx kv.Txn) error { return tx.Put(metaKey("store"), []byte{unfinished}) }))
}

// Leave marks the source as moved: nobody opens it from then on.
func (c *StoreCopy) Leave(ctx context.Context, through Through, where string) error {
	p := packed.Writer{}
	p.Byte(movedStore)
	p.Text(where)
	p.Bytes(c.seal)
	return dberr.Wrap("store.LeaveCopy", through(ctx, func(tx kv.Txn) error { return tx.Put(metaKey("store"), p) }))
}

// Finish makes the target a store.
func (c *StoreCopy) Finish(ctx context.Context, to kv.Engine, settled Settled) error {
	return dberr.Wrap("store.FinishCopy", settled(ctx, to, func(tx kv.Txn) error { return tx.Put(metaKey("store"), c.seal) }))
}
