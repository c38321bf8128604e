package index

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// A design document that was written when a kind of index was not known yet, or found less
// in it, defined none of that kind: nothing told the kind of it. So the first start with
// other kinds puts a job into the queue, which looks at all design documents and defines what
// they lack, in the background and with a checkpoint. A query that comes before it has what it
// asks for defined at once.

// knownKinds names that the design documents were looked at for the kinds there are
// (store.OnceByJob).
const knownKinds = "index-kinds"

// kindsVersion is another for other kinds, and when one of them finds more; never 0.
func (x *Indexes) kindsVersion() uint64 {
	var words []byte
	for _, k := range x.kinds {
		words = append(append(words, k.Name()...), 0)
		if k, ok := k.(Widened); ok {
			words = binary.AppendUvarint(words, uint64(k.Finds()))
		}
	}
	sum := sha256.Sum256(words)
	return binary.BigEndian.Uint64(sum[:8]) | 1
}

// defineEvery is after how many databases the checkpoint of the job moves.
const defineEvery = 100

// defineAll does the job. Its checkpoint is the name of the database to go on with and,
// after a NUL, the partition of it to go on after.
func (x *Indexes) defineAll(ctx context.Context, j jobs.Job) (err error) {
	start, partition, _ := strings.Cut(j.Checkpoint, "\x00")
	after, done, defined := document.Partition(partition), 0, 0
	for name, err := range x.store.WithDesigns(ctx, start) {
		if err != nil {
			return err
		}
		if name != start {
			after = ""
		}
		if done++; done%defineEvery == 0 {
			if j, err = x.store.MoveJob(ctx, j, name+"\x00"+string(after)); err != nil {
				return moved(err)
			}
		}
		var n int
		if j, n, err = x.defineIn(ctx, j, name, after); err != nil {
			return moved(err)
		}
		defined += n
	}
	if defined > 0 {
		x.o.Logger.Info("the indexes that older design documents define have been added", "design_documents", defined)
	}
	return x.store.EndJob(ctx, j)
}

// moved is nil for the errors which say that somebody else has gone on with a job.
func moved(err error) error {
	if errors.Is(err, jobs.ErrGone) || errors.Is(err, jobs.ErrMoved) {
		return nil
	}
	return err
}

// defineIn defines what the design documents of a database and its tenants lack. It returns
// the job as it is then, and of how many that was.
func (x *Indexes) defineIn(ctx context.Context, j jobs.Job, name string, after document.Partition) (_ jobs.Job, defined int, _ error) {
	d, err := x.store.Database(ctx, name)
	for err == nil {
		var lacking []document.ID
		err = d.Whole().View(ctx, func(r *store.Reader) (err error) {
			lacking, after, err = x.lacking(r, after)
			return err
		})
		for _, id := range lacking {
			if err == nil {
				err = x.defineAnew(ctx, d, id)
				defined++
			}
		}
		if err != nil || after == "" {
			break
		}
		j, err = x.store.MoveJob(ctx, j, name+"\x00"+string(after))
	}
	if dberr.Is(err, dberr.NotFound) && !errors.Is(err, jobs.ErrGone) {
		err = nil // the database went
	}
	return j, defined, err
}

// lacking lists, of a page of the design documents of a database and its tenants, those that
// define something that is not there.
func (x *Indexes) lacking(r *store.Reader, after document.Partition) (lacking []document.ID, next document.Partition, err error) {
	ids, next, err := r.DesignIDs(after)
	for _, id := range ids {
		if err != nil {
			break
		}
		var missing []named
		if missing, err = x.missing(r, id); len(missing) > 0 {
			lacking = append(lacking, id)
		}
	}
	return lacking, next, err
}

// missing returns what a design document, by its stored id, defines and what is not there. The reader is
// of the whole database.
func (x *Indexes) missing(r *store.Reader, id document.ID) (missing []named, err error) {
	rev, err := r.Winner(id)
	if dberr.Is(err, dberr.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ns, own := namespaceOf(r.Database(), id)
	defined := x.defined(ns, own, rev.Body)
	if len(defined) == 0 {
		return nil, nil
	}
	var there []use
	value, err := r.Snapshot().Get(useKey(ns, own))
	if err == nil {
		err = decode(value, &there)
	}
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	return slices.DeleteFunc(defined, func(def named) bool {
		return slices.ContainsFunc(there, func(u use) bool { return u.Kind == def.kind.Name() && u.Name == def.Name })
	}), nil
}

// defineLate defines, as long as the job is under way, what a query asks for and its
// scope's design document, or the database's that a tenant shares, lacks.
func (x *Indexes) defineLate(ctx context.Context, scope store.Scope, design document.ID, kind, name string) (defined bool, err error) {
	d := scope.Database()
	var lacking []document.ID
	err = d.Whole().View(ctx, func(r *store.Reader) error {
		lacking = lacking[:0]
		if runs, err := store.Runs(r.Snapshot(), jobDefine); !runs || err != nil {
			return err
		}
		for _, id := range slices.Compact([]document.ID{scope.Namespace().Stored(design), design}) {
			missing, err := x.missing(r, id)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(missing, func(def named) bool { return def.kind.Name() == kind && def.Name == name }) {
				lacking = append(lacking, id)
			}
		}
		return nil
	})
	for _, id := range lacking {
		if err == nil {
			err = x.defineAnew(ctx, d, id)
		}
	}
	return len(lacking) > 0, err
}
