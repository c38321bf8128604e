package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
)

// Damaged says that rows of an index are not what was written: nothing is answered from
// them. A kind that can tell returns it; whoever gets it first has the index built anew.
type Damaged struct{ Err error }

// Error says what was found.
func (d *Damaged) Error() string { return fmt.Sprintf("index: damaged: %v", d.Err) }

// Unwrap returns what was found.
func (d *Damaged) Unwrap() error { return d.Err }

// errDamaged is what those are told who asked for an index that turned out to be damaged.
var errDamaged = dberr.New(dberr.Unavailable, "index_damaged", "The index was damaged on disk and is being built again.")

// Repair has an index built anew if err says that it is damaged, and returns the error for
// whoever asked; any other error as it is.
func (x *Indexes) Repair(ctx context.Context, d *store.Database, ix *Index, err error) error {
	if found := (*Damaged)(nil); !errors.As(err, &found) {
		return err
	}
	x.o.Logger.ErrorContext(ctx, "an index is damaged and will be built again", "database", d.Name(), "index", ix.Signature, "error", err)
	ns := d.Namespace(ix.Tenant)
	renewed := d.UpdateLane(ctx, 1<<10, func(m store.LaneTxn) error {
		return x.renewIn(m, ns, func(n uint64, _ *record) bool { return n == ix.Number })
	})
	return errors.Join(renewed, errDamaged)
}
