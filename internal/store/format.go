package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// The store's format is one number for everything that it writes. It is in
// the row meta "store", and a build that does not know it refuses the data, so
// that an older build never misreads rows of a newer one. Each change of a row's
// format is a step here that raises it by one.
//
// Opening older data takes the steps that it lacks. The number is raised first,
// in a transaction that also notes the work to be done; then the step's rows are
// rewritten page by page, each page in one transaction with the place to go on.
// A process that is killed in between goes on there, and no build that does not
// know the new rows opens the half of them.

// formatStep is one rise of the format.
//
// To change what the store writes: give the kind of row its new version in
// keyspace/spaces.go, append a step with the next number to formatSteps, and its
// line to docs/formats/versions.md. Tests hold that all three say the same.
type formatStep struct {
	version byte   // the format from this step on
	what    string // what changed, in a few words
	// rows are the kinds of row that it changes or adds, by the version that
	// their values have now; as in keyspace.
	rows map[string]byte
	// waits says that this build writes what the format before had until the number is
	// raised, which it asks for (Store.Format), so that servers can be brought to the new
	// version one after the other: the number is raised when all that live read it. It is
	// also set where the step adds rows that older builds never look at. Without it no
	// server starts beside one that does not read the new format. A step that waits
	// rewrites no rows.
	waits bool
	// migrate rewrites rows of the former format: about a thousand, from the
	// checkpoint from on (nil at first), in tx. It returns the checkpoint to go on
	// from, or done. It must not rely on anything in memory. nil: the reader of
	// the rows knows both versions, and they are rewritten when documents are.
	migrate func(tx kv.Txn, from []byte) (next []byte, done bool, err error)
}

// formatSteps are all rises of the format since the first, in their order.
var formatSteps []formatStep

// firstFormat is the format before any step.
const firstFormat = 1

// currentFormat is the format that a list of steps leads to.
func currentFormat(steps []formatStep) byte {
	if len(steps) == 0 {
		return firstFormat
	}
	return steps[len(steps)-1].version
}

// metaUpgrade names the row that holds the step under way and its checkpoint.
const metaUpgrade = "upgrade"

// Errors of data in another format.
const (
	reasonNewer      = "The data directory was written by a newer version of Sectional (format %d, and this one knows those up to %d). Nothing in it was changed; start the newer version."
	reasonUnfinished = "There is only a part of the data here: a copy to this place was interrupted. Start the same `sectional copy` again, which finishes it."
	reasonOlder      = "The data directory was written by an older version of Sectional (format %d, this one writes %d). Start the server on it once, which brings it up to date."
)

// unfinished is the format of a store of which only a part was copied (Copy).
const unfinished = 0xff

// checkFormat refuses a format that cannot be opened.
func (s *Store) checkFormat(found byte) error {
	newest := currentFormat(s.steps)
	switch {
	case found == 0:
		return packed.ErrFormat
	case found == unfinished:
		return dberr.New(dberr.Unavailable, "", reasonUnfinished)
	case found > newest:
		return dberr.New(dberr.Unavailable, "", reasonNewer, found, newest)
	case s.o.KeepFormat && s.needsRewriting(found):
		return dberr.New(dberr.Unavailable, "", reasonOlder, found, newest)
	}
	return nil
}

// Format is the format that the store is known to have: what is newer is not written yet.
func (s *Store) Format() byte { return byte(s.format.Load()) }

// noteFormat notes the format that the store was found to have, or was brought to.
func (s *Store) noteFormat(found byte) {
	for known := s.format.Load(); uint32(found) > known && !s.format.CompareAndSwap(known, uint32(found)); {
		known = s.format.Load()
	}
}

// needed is the format that the store must have before this build can use it: that of
// the last step that does not wait.
func (s *Store) needed() byte {
	for i := len(s.steps) - 1; i >= 0; i-- {
		if !s.steps[i].waits {
			return s.steps[i].version
		}
	}
	return firstFormat
}

// needsRewriting reports whether a step after the format found rewrites rows.
func (s *Store) needsRewriting(found byte) bool {
	for _, step := range s.steps {
		if step.version > found && step.migrate != nil {
			return true
		}
	}
	return false
}

// upgrade takes the steps that the store lacks, after finishing the one that was
// under way when the process ended. Those that wait are left for later while a server lives
// that does not read them.
func (s *Store) upgrade(ctx context.Context) error {
	for _, step := range s.steps {
		err := s.take(ctx, step)
		if err == errWaits {
			return nil
		}
		if err != nil {
			return fmt.Errorf("raising the format to %d: %w", step.version, err)
		}
	}
	return nil
}

// take takes one step, or what is left of it.
func (s *Store) take(ctx context.Context, step formatStep) error {
	if s.o.KeepFormat {
		return s.underWay(ctx, step)
	}
	err := s.engine.Update(ctx, func(tx kv.Txn) error { return s.writeFormat(tx, step) })
	if err == nil {
		s.noteFormat(step.version)
	}
	for more := step.migrate != nil; more && err == nil; {
		err = s.engine.Update(ctx, func(tx kv.Txn) (err error) {
			more, err = migratePage(tx, step)
			return err
		})
	}
	return err
}

// underWay refuses data in the middle of a step.
func (s *Store) underWay(ctx context.Context, step formatStep) error {
	return s.engine.View(ctx, func(v kv.Snapshot) error {
		value, err := v.Get(metaKey(metaUpgrade))
		if errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		if err == nil && len(value) > 1 && value[1] == step.version {
			err = dberr.New(dberr.Unavailable, "", reasonOlder, step.version-1, currentFormat(s.steps))
		}
		return err
	})
}

// writeFormat writes a step's number if it is the next, and the work that it leaves.
func (s *Store) writeFormat(tx kv.Txn, step formatStep) error {
	value, err := tx.GetForUpdate(metaKey("store"))
	if err != nil || len(value) == 0 || value[0] >= step.version {
		return err
	}
	if err := s.everybodyReads(tx, step.version); err != nil {
		return err
	}
	s.o.Logger.Info("the data is brought to a new format", "format", step.version, "what", step.what)
	value[0] = step.version
	if err := tx.Put(metaKey("store"), value); err != nil || step.migrate == nil {
		return err
	}
	return saveUpgrade(tx, step, nil)
}

// migratePage rewrites one page of a step's rows; more reports whether there is
// another.
func migratePage(tx kv.Txn, step formatStep) (more bool, err error) {
	value, err := tx.GetForUpdate(metaKey(metaUpgrade))
	if errors.Is(err, kv.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	u := packed.ReadVersion(value, rowVersion)
	version, from := u.Byte(), u.Bytes()
	if err := u.Done(); err != nil || version != step.version {
		return false, err
	}
	if len(from) == 0 {
		from = nil
	}
	next, done, err := step.migrate(tx, from)
	if err != nil {
		return false, err
	}
	if done {
		return false, tx.Delete(metaKey(metaUpgrade))
	}
	return true, saveUpgrade(tx, step, next)
}

// saveUpgrade notes how far a step has come.
func saveUpgrade(tx kv.Txn, step formatStep, checkpoint []byte) error {
	p := packed.Writer{}
	p.Byte(rowVersion)
	p.Byte(step.version)
	p.Bytes(checkpoint)
	return tx.Put(metaKey(metaUpgrade), p)
}
