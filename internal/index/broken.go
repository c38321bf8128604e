package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/sectional/sectional/internal/dberr"
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

// Error says so to whoever asks for the index.
func (b *Broken) Error() string {
	text := fmt.Sprintf("The function had to be stopped for %d documents and is not run any more.", script.MaxStopped)
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

// Public returns an error as whoever asks sees it: that of a Failed index where
// err is a *Broken, else err itself.
func Public(err error) error {
	if broken := (*Broken)(nil); errors.As(err, &broken) {
		return failure(broken.Error())
	}
	return err
}

func failure(reason string) error { return dberr.New(dberr.Internal, "view_failed", "%s", reason) }

// breakOff makes the index of a task Failed, and returns the error for those who
// wait for it.
func (t *task) breakOff(ctx context.Context, p *Progress, why *Broken) error {
	var moved error
	err := t.d.UpdateLane(ctx, 1<<10, func(m store.LaneTxn) error {
		if moved = move(m.Tx(), t.d.Number(), t.ix.Number, p, p); moved != nil {
			return other(moved)
		}
		return t.x.setState(m, t.ns, t.ix.Number, Failed, why.Error())
	})
	if err = errors.Join(err, moved); err != nil {
		return err
	}
	t.x.o.Logger.WarnContext(ctx, "an index failed", "database", t.d.Name(), "index", t.ix.Signature, "reason", why.Error())
	return broken(why.Error())
}

// broken is the error for those who wait for an index that failed.
func broken(reason string) error {
	return &dberr.Error{Kind: dberr.Internal, Code: "view_failed", Reason: reason, Cause: errBroken}
}

// errBroken is the cause of the error that ends a task whose index failed.
var errBroken = errors.New("index: it is not kept any more")

// revive makes the indexes of a database and its tenants anew that failed before
// the server was started.
func (x *Indexes) revive(ctx context.Context, d *store.Database) error {
	failed, err := x.failed(ctx, d)
	for _, ns := range failed {
		err = errors.Join(err, d.UpdateLane(ctx, 1<<10, func(m store.LaneTxn) error {
			return x.renewIn(m, ns, func(_ uint64, rec *record) bool { return rec.State == Failed })
		}))
	}
	return err
}

// failed finds the namespaces where there are indexes that failed.
func (x *Indexes) failed(ctx context.Context, d *store.Database) (failed []store.Scope, err error) {
	err = d.Whole().View(ctx, func(r *store.Reader) error {
		failed = nil
		all, err := Namespaces(r)
		if err != nil {
			return err
		}
		for _, ns := range all {
			any := false
			err := eachIndex(r.Snapshot(), ns, func(_ uint64, rec *record) error {
				any = any || rec.State == Failed
				return nil
			})
			if err != nil {
				return err
			}
			if any {
				failed = append(failed, ns)
			}
		}
		return nil
	})
	return failed, err
}
