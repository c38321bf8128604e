package index

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// Maintained is an asynchronous kind whose indexes have work of their own, that no
// query waits for: merging what came in small pieces. Background workers do it after
// an index has taken in changes.
type Maintained interface {
	Asynchronous
	// Maintain does one piece of an index's work, and reports whether there may be
	// more. Meanwhile documents come in, and others may do the same piece: what it
	// read may be different when it commits. Once nothing is left it changes no row
	// until changes are taken in.
	Maintain(ctx context.Context, p *Piece) (more bool, err error)
}

// Piece is one piece of work of an index.
type Piece struct {
	Database *store.Database
	Index    *Index
	Bytes    int // about how much may be read and written
}

// pieceBytes is the size of a piece: what a transaction holds with ease.
const pieceBytes = 6 << 20

// Commit runs fn in a transaction: ErrGone if the index was dropped, whose rows must
// not come back. fn may run several times.
func (p *Piece) Commit(ctx context.Context, fn func(tx kv.Txn) error) error {
	return p.Database.Commit(ctx, func(tx kv.Txn) error {
		if err := p.Fence(tx); err != nil {
			return err
		}
		return fn(tx)
	})
}

// Fence makes a transaction depend on the index being there: ErrGone if it was dropped.
func (p *Piece) Fence(tx kv.Txn) error {
	_, err := tx.GetForUpdate(progressKey(p.Database.Number(), p.Index.Number))
	if errors.Is(err, kv.ErrNotFound) {
		return ErrGone
	}
	return err
}

// Maintain does all work of an index, of whatever kind, and returns how many pieces
// that was.
func (x *Indexes) Maintain(ctx context.Context, d *store.Database, ix *Index) (pieces int, err error) {
	k, ok := ix.Kind.(Maintained)
	for more := ok; more && err == nil; pieces++ {
		more, err = k.Maintain(ctx, &Piece{d, ix, pieceBytes})
	}
	return pieces, err
}

// maintainLater has the background do the work of an index that took in changes: one
// worker for an index, which leaves its slot after each piece. What fails is tried
// again after the next changes.
func (x *Indexes) maintainLater(d *store.Database, ix *Index) {
	k, ok := ix.Kind.(Maintained)
	if !ok || x.o.Idle {
		return
	}
	key := taskKey{d.Number(), ix.Number}
	x.tasks.Lock()
	defer x.tasks.Unlock()
	_, busy := x.tasks.maintained[key]
	if x.tasks.maintained[key] = busy; busy || x.tasks.closed {
		return
	}
	x.work.Go(func() {
		for more := true; more; {
			err := x.inSlot(x.ctx, "index.maintain", d, ix, func() (err error) {
				more, err = k.Maintain(x.ctx, &Piece{d, ix, pieceBytes})
				return x.Repair(x.ctx, d, ix, err)
			})
			if err != nil && !gone(err) && x.ctx.Err() == nil {
				x.o.Logger.Error("work on an index failed and will be tried again", "database", d.Name(), "index", ix.Signature, "error", err)
			}
			if err != nil || !more {
				more = x.rescheduleMaintenance(key)
			}
		}
	})
}

// rescheduleMaintenance reports whether an index took in further changes since its worker
// began, or was asked this; if not, it has no worker any more.
func (x *Indexes) rescheduleMaintenance(key taskKey) bool {
	x.tasks.Lock()
	defer x.tasks.Unlock()
	again := x.tasks.maintained[key] && !x.tasks.closed
	if x.tasks.maintained[key] = false; !again {
		delete(x.tasks.maintained, key)
	}
	return again
}
