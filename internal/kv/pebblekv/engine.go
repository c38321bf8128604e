// Package pebblekv is the embedded engine: it keeps the kv contract over
// Pebble, on one directory of one machine.
//
// It owns what Pebble does not give: snapshot isolation for closures
// (conflicts.go, txn.go), commits that share one fsync (commit.go) or become
// tables (bulk.go), reads that
// never see a write a crash could take back (state.go), and a disk that fails
// cleanly (failstop.go). Its settings are in options.go and the measurements
// behind them in docs/decisions/0001-pebble-settings.md. It must not know what
// a row means.
//
// Begin reading at Engine and at (*Engine).Update.
package pebblekv

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// Engine is a kv.Engine over one Pebble database.
//
// Pebble makes a batch readable before it is synced. Showing such a batch to a
// reader would tell of a write that a crash can still take back, and waiting
// for each sync before the next batch would cost a fsync per commit. So the
// engine keeps two states of the database, each a Pebble snapshot taken right
// after a batch was applied and numbered by that commit:
//
//   - applied: the newest state. Updates begin here, so that commit N+1 can be
//     made on top of N while N is still being synced.
//   - durable: the newest state whose log is known to be on disk. Views read
//     here and nowhere else.
//
// A commit holds the commit mutex for validation, the application of its batch
// and the taking of the snapshot; then it waits for its sync outside, together
// with whoever else is waiting, and moves durable forward. The log is synced in
// order, so when commit N is on disk every commit before it is, and an Update
// that only read may return as soon as durable has reached what it read.
//
// If the log cannot be written the engine stops for good (see failstop.go):
// commits whose fate is open get UnknownOutcome, later ones Unavailable, and
// Views go on reading the durable state.
type Engine struct {
	db     *pebble.DB
	lock   directoryLock
	log    *slog.Logger
	limits kv.Limits
	now    func() time.Time
	stats  counters
	locks  kv.Locks // of keys that transactions name before they begin

	open        sync.RWMutex // read-held by every running call; Close takes it for good
	close       sync.Once
	states      states
	failure     failure
	bulks       bulks
	disk        *failStop
	space       *space
	checkpoints checkpoints
	readOnly    bool

	memTable int // bytes of one memtable
	pressing pressing
	pace     pace
	wait     func(context.Context, time.Duration) // kv.Pause, but in tests

	commit struct {
		sync.Mutex
		recent recent // commits that running transactions may conflict with
		hot    hot    // rows that the next transactions are likely to read
	}
}

var (
	_ kv.Engine           = (*Engine)(nil)
	_ kv.SizeReporter     = (*Engine)(nil)
	_ kv.Compacter        = (*Engine)(nil)
	_ kv.PressureReporter = (*Engine)(nil)
	_ kv.SpaceReporter    = (*Engine)(nil)
)

// Open opens the database in o.Dir and creates it if there is none, unless it is
// opened to be read only. A directory that another process holds is an Unavailable
// error; one whose files are not what an engine has left there is an Internal error
// that names the ways out (whole.go).
func Open(o Options) (*Engine, error) {
	returnLargeBlocks()
	o = o.withDefaults()
	lock, err := o.lock()
	if err != nil {
		return nil, err
	}
	e := &Engine{lock: lock, log: o.Logger, limits: o.limits(), now: o.Now, wait: kv.Pause, memTable: o.MemTableBytes}
	e.commit.recent = newRecent(maxRecent)
	e.commit.hot.rows = make(map[string]hotRow)
	e.space = newSpace(&o)
	e.disk = newFailStop(vfs.OnDiskFull(o.FS, e.space.hit), e.space, &o, e.fail)
	e.open.Lock() // Pebble reports changed files before there are states
	if err := e.ready(&o); err != nil {
		return nil, errors.Join(filesError(o.Dir, err), lock.Close())
	}
	settings := o.pebble(e.disk, lock.Lock, e.listener())
	e.db, err = openPebble(o.Dir, settings)
	if err != nil {
		return nil, errors.Join(filesError(o.Dir, err), e.disk.copy.close(), lock.Close())
	}
	if err := e.tidy(&o, settings); err != nil {
		return nil, errors.Join(openError(o.Dir, err), e.db.Close(), e.disk.copy.close(), lock.Close())
	}
	if err := e.stopped(); err != nil {
		e.open.Unlock()
		return nil, errors.Join(noRoomError(o.Dir, err), e.db.Close(), e.disk.copy.close(), lock.Close())
	}
	e.space.opened(e.unflushed, e.flushSoon)
	e.disk.rest = e.rest
	e.disk.arm()
	e.states.init(e.db.NewSnapshot())
	e.open.Unlock()
	return e, nil
}

// ready looks at the files of the directory before Pebble does, and has what is to be written to the
// copy of the manifest go on there. What can be read of the manifest is on the disk then, for Pebble removes what it
// makes obsolete.
func (e *Engine) ready(o *Options) error {
	f, err := look(o.FS, o.Dir, o.Logger)
	if err != nil || o.ReadOnly || f.manifest == "" {
		return err
	}
	file, err := e.disk.FS.OpenReadWrite(o.FS.PathJoin(o.Dir, f.manifest), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	return e.disk.copy.begin(f.manifest, f.content)
}

// directoryLock is a lock on a directory.
type directoryLock struct {
	*pebble.Lock
	remove func() error // removes the lock's file, where nothing is to be changed
}

// Close releases the lock.
func (l directoryLock) Close() error { return errors.Join(l.remove(), l.Lock.Close()) }

// lock locks the directory, which is made unless it is to be read only.
func (o *Options) lock() (l directoryLock, err error) {
	l.remove = func() error { return nil }
	if !o.ReadOnly {
		if err := o.FS.MkdirAll(o.Dir, 0o750); err != nil {
			return l, openError(o.Dir, err)
		}
	} else if path := o.FS.PathJoin(o.Dir, lockName); missing(o.FS, path) {
		l.remove = func() error { return o.FS.Remove(path) }
	}
	o.fitDisk()
	if l.Lock, err = pebble.LockDirectory(o.Dir, o.FS); err != nil {
		return l, lockError(o.Dir, err)
	}
	return l, nil
}

// lockName is the file by which Pebble locks a directory.
const lockName = "LOCK"

func missing(fsys vfs.FS, path string) bool {
	_, err := fsys.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// tidy removes what a crash has left beside the database.
func (e *Engine) tidy(o *Options, settings *pebble.Options) error {
	if e.readOnly = o.ReadOnly; e.readOnly {
		e.bulks.from = math.MaxInt // nothing is written
		return nil
	}
	if err := e.disk.removeCheckpoints(); err != nil {
		o.Logger.Warn("what is left of a backup can't be removed", "err", err)
	}
	return e.bulks.init(e.disk, o.Dir, settings, e.db.TableFormat(), o.bulk)
}

// openPebble is pebble.Open with an error where Pebble panics because the first
// manifest can't be written.
func openPebble(dir string, o *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case runtime.Error:
			panic(r)
		case error:
			db, err = nil, r
		default:
			panic(r)
		}
	}()
	return pebble.Open(dir, o)
}

// LockDirectory makes a directory this process's, as Open does, for one that holds something else. It
// is made if there is none. One that another process holds is an Unavailable error.
func LockDirectory(dir string) (io.Closer, error) {
	if err := vfs.Default.MkdirAll(dir, 0o750); err != nil {
		return nil, openError(dir, err)
	}
	lock, err := pebble.LockDirectory(dir, vfs.Default)
	if err != nil {
		return nil, lockError(dir, err)
	}
	return lock, nil
}

func openError(dir string, err error) error {
	return &dberr.Error{Op: "pebblekv.Open", Kind: dberr.Internal,
		Reason: "The data directory " + dir + " can't be opened.", Cause: err}
}

// noRoomError is the error of opening where not even the reserve gave enough room
// to make tables of what the logs hold.
func noRoomError(dir string, err error) error {
	return &dberr.Error{Op: "pebblekv.Open", Kind: dberr.Full,
		Reason: "There is no room on the disk to open the data directory " + dir + ". Nothing is lost; make some room and start again.", Cause: err}
}

// lockError tells a directory in use from one that can't be written to. Pebble
// gives no error of its own for the former.
func lockError(dir string, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return openError(dir, err)
	}
	return &dberr.Error{Op: "pebblekv.Open", Kind: dberr.Unavailable,
		Reason: "The data directory " + dir + " is in use by another process.", Cause: err}
}

// Limits implements kv.Engine.
func (e *Engine) Limits() kv.Limits { return e.limits }

// enter begins a call; it fails once Close was called. Every successful enter
// is followed by e.open.RUnlock.
func (e *Engine) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// Close takes the lock and keeps it, so that a failed try means closed.
	// A plain RLock would block a View within a View for ever.
	if !e.open.TryRLock() {
		return &dberr.Error{Kind: dberr.Unavailable, Reason: "The storage engine is closed.", Cause: kv.ErrStopped}
	}
	return nil
}

// View implements kv.Engine.
func (e *Engine) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	if err := e.enter(ctx); err != nil {
		return err
	}
	defer e.open.RUnlock()
	e.pace.views.Add(1)
	st := e.states.acquireDurable()
	defer st.release()
	return fn(&viewed{snapshot{ctx: ctx, state: st, age: e.newAge()}})
}

// errAbandoned is why an abandoned engine stopped.
var errAbandoned = errors.New("the engine no longer waits for the disk")

// Abandon stops the engine as a failing disk would, so that a Close that waits
// for a disk which takes nothing comes to its end. What was acknowledged is in
// the log.
func (e *Engine) Abandon() { e.disk.giveUp(errAbandoned) }

// Close implements kv.Engine.
func (e *Engine) Close() (err error) {
	e.close.Do(func() {
		e.disk.endPauses()
		e.open.Lock() // waits for running calls; kept, so that later ones fail
		e.states.close()
		err = errors.Join(e.db.Close(), e.disk.copy.close(), e.lock.Close())
	})
	return dberr.Wrap("pebblekv.Close", err)
}
