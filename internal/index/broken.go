package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/store"
)

// Broken says that an index can't be kept: its function had to be stopped for
// script.Hopeless documents, each of which takes its whole allowance of time or memory.
// The index is Failed from then on, which is stored with it: nobody waits for it
// any more, and queries are told why. It is over with the definition: with
// another one, or when the design document is deleted and written again, there is
// a new index. And a server that starts tries once more, for its limits may be
// others.
type Broken struct {
	Err error // what the last of the documents met; nil if not known
}

// Error tells it to whoever asks for the index.
func (b *Broken) Error() string {
	text := fmt.Sprintf("The function had to be stopped for %d documents and is not run any more.", script.Hopeless)
	var e *dberr.Error
	if errors.As(b.Err, &e) {
		text += " The last time: " + e.Reason
	}
	return text
}

// Unwrap returns what the last document met.
func (b *Broken) Unwrap() error { return b.Err }

// Failure is the error of whoever asks for an index that is Failed; nil for any
// other.
func (x *Index) Failure() error {
	if x.State != Failed {
		return nil
	}
	return failure(x.Reason)
}

// Told returns an error as it is told to whoever asks: that of a Failed index where
// err is a *Broken, else err itself.
func Told(err error) error {
	if broken := (*Broken)(nil); errors.As(err, &broken) {
		return failure(broken.Error())
	}
	return err
}

func failure(reason string) error { return dberr.New(dberr.Internal, "view_failed", "%s", reason) }

// breakOff makes the index of a task Failed, and gives the error for those who
// wait for it.
func (t *task) breakOff(ctx context.Context, p *Progress, why *Broken) error {
	var moved error
	err := t.d.UpdateLane(ctx, 1<<10, func(m store.LaneTxn) error {
		if moved = move(m.Tx(), t.d.Number(), t.ix.Number, p, p); moved != nil {
			return other(moved)
		}
		return t.x.settle(m, t.d, t.namespace, t.ix.Number, Failed, why.Error())
	})
	if err = errors.Join(err, moved); err != nil {
		return err
	}
	t.x.o.Logger.WarnContext(ctx, "an index failed", "database", t.d.Name(), "index", t.ix.Signature, "reason", why.Error())
	return &dberr.Error{Kind: dberr.Internal, Code: "view_failed", Reason: why.Error(), Cause: errBroken}
}

// errBroken is the cause of the error that ends a task whose index failed.
var errBroken = errors.New("index: it is not kept any more")

// revive makes the indexes of a database and its tenants anew that failed before
// the server was started.
func (x *Indexes) revive(ctx context.Context, d *store.Database) error {
	namespaces, err := x.failedNamespaces(ctx, d)
	if err != nil {
		return err
	}
	for _, h := range namespaces {
		err := d.UpdateLane(ctx, 1<<10, func(m store.LaneTxn) error {
			if err := x.renewIndexes(m.Tx(), d, h, func(rec *record) bool { return rec.State == Failed }); err != nil {
				return err
			}
			return h.redefine(m)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// failedNamespaces finds where there are indexes that failed.
func (x *Indexes) failedNamespaces(ctx context.Context, d *store.Database) (namespaces []namespace, err error) {
	err = d.Whole().View(ctx, func(r *store.Reader) error {
		namespaces = nil
		ps, err := tenants(r.Snapshot(), d.Number())
		if err != nil {
			return err
		}
		for _, p := range append([]document.Partition{""}, ps...) {
			h, failed := namespace{d.Number(), p}, false
			err := h.eachIndex(r.Snapshot(), func(_ uint64, rec *record) error {
				failed = failed || rec.State == Failed
				return nil
			})
			if err != nil {
				return err
			}
			if failed {
				namespaces = append(namespaces, h)
			}
		}
		return nil
	})
	return namespaces, err
}

// renewIndexes returns the indexes of a namespace that are meant a new number, under which each is
// built from nothing.
func (x *Indexes) renewIndexes(tx kv.Txn, d *store.Database, h namespace, meant func(*record) bool) error {
	c := change{x: x, tx: tx, d: d, namespace: h, records: map[uint64]*record{}}
	renewed := map[uint64]uint64{}
	err := h.eachIndex(tx, func(n uint64, rec *record) error {
		if meant(rec) {
			renewed[n] = 0
		}
		return nil
	})
	if err != nil {
		return err
	}
	names := map[document.ID][]use{}
	if err := h.eachUse(tx, func(design document.ID, us []use) error { names[design] = us; return nil }); err != nil {
		return err
	}
	for n := range renewed {
		if renewed[n], err = c.renew(n); err != nil {
			return err
		}
	}
	for design, us := range names {
		for i := range us {
			for _, at := range []*uint64{&us[i].Index, &us[i].Previous} {
				if to, ok := renewed[*at]; ok {
					*at = to
				}
			}
		}
		if err := c.save(design, us); err != nil {
			return err
		}
	}
	return nil
}
