package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/tracing"
)

// Options configure a store; the zero value works.
type Options struct {
	Clock          func() time.Time // the machine's, by which the store goes where the engine has none; default time.Now
	Rand           io.Reader        // default crypto/rand
	Logger         *slog.Logger     // default discards
	KeepSuperseded time.Duration    // how long superseded bodies stay readable; default 10 minutes
	// MaxPartition returns the external size in bytes at which a partition is
	// full, 0 for no limit; asked at each write. Default no limit.
	MaxPartition func() uint64
	// DesignLimits returns the limits for design documents of a partition; asked
	// at each write of one. Default no limits.
	DesignLimits func() DesignLimits
	// MaxConflicts returns how many leaves a document may have beside its winner,
	// tombstones among them, 0 for no limit; asked at each replicated write.
	// Default 10,000.
	MaxConflicts func() int
	// MaxQueued returns how many bytes of writes may wait for their commits, 0 for
	// no limit; asked at each write. Default 128 MiB.
	MaxQueued func() int64
	// DeletedTTL returns the age at which tombstones are dropped in databases
	// that have no setting of their own, 0 for never. Default never.
	DeletedTTL func() time.Duration
	// MaxOpen is how many databases stay open in memory that nobody uses at the
	// moment. Default 1000.
	MaxOpen int
	// Admission checks and may change every edit before it is stored; nil
	// admits all.
	Admission Admission
	// Indexer keeps the indexes that design documents define; nil for a
	// store without indexes.
	Indexer Indexer
	// Followers keep rows of their own beside the documents of databases.
	Followers []Follower
	// Holder tells this process from others that share the engine, and Lease is for how
	// long it may have a job without a sign of life. Default: it has the engine for itself.
	Holder uint64
	Lease  time.Duration
	// Configured is the configuration in effect, where servers share one; nil: there is none.
	Configured Configured
	// Server is the name, and the address, under which other servers of the engine know
	// this one; without a name it is alone.
	Server Server
	// Tracer traces background work; nil: nobody does.
	Tracer *tracing.Tracer
	// Idle switches background work off: tests run it by Sweep.
	Idle bool
	// Checking is told how far Check has come; nil: nobody is.
	Checking func(database string, c Checked)
	// AssumeStale is for tests: it reports whether the first read of a View is to find that what is remembered is
	// out of date, so that the closure runs again, as it does when another server has written. nil: never.
	AssumeStale func() bool
	// LongestRow is for tests: values that are longer lie in pieces of this length. Default 512 KB.
	LongestRow int
	// KeepFormat makes Open refuse data of an older format whose rows would have
	// to be rewritten, and change nothing in data of one whose rows need not be.
	KeepFormat bool
}

// Admission is asked about every edit that goes through the entry point, whatever
// face it came from: it checks design documents, users, access and validation
// functions. It may replace members of e. The caller is taken from ctx by
// whoever implements it. It may be a Validation too. old reads the document as it is before the edit (nil
// when it was never written or is deleted); a commit that finds the document
// changed since then asks again. The error refuses this edit alone.
type Admission interface {
	Admit(ctx context.Context, d *Database, e *document.Edit, old func() (*Revision, error)) error
}

// LocalAdmission is an Admission that is asked about local documents too, by
// the endpoint that they belong to. The error refuses the write.
type LocalAdmission interface {
	AdmitLocal(ctx context.Context, s Scope) error
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.KeepSuperseded == 0 {
		o.KeepSuperseded = 10 * time.Minute
	}
	if o.MaxPartition == nil {
		o.MaxPartition = func() uint64 { return 0 }
	}
	if o.DesignLimits == nil {
		o.DesignLimits = func() DesignLimits { return DesignLimits{} }
	}
	if o.MaxQueued == nil {
		o.MaxQueued = func() int64 { return defaultQueued }
	}
	if o.LongestRow == 0 {
		o.LongestRow = longestRow
	}
	if o.MaxOpen == 0 {
		o.MaxOpen = defaultOpen
	}
	if o.MaxConflicts == nil {
		o.MaxConflicts = func() int { return defaultConflicts }
	}
	if o.DeletedTTL == nil {
		o.DeletedTTL = func() time.Duration { return 0 }
	}
	return o
}

// Store holds databases in an engine.
type Store struct {
	engine  *chunking // base, with rows of any length
	base    kv.Engine
	limits  kv.Limits
	idle    idleViews
	distant bool // each call of it is a round trip
	o       Options
	uuid    string
	secret  []byte // of opaque sequences
	steps   []formatStep

	format        atomic.Uint32 // of the store, as far as is known
	outdated      atomic.Bool   // another server has brought the store to a newer format
	twin          atomic.Bool   // another process runs under the server's name
	shown         atomic.Int64  // when the server showed that it lives (Unix milliseconds)
	misconfigured atomic.Bool   // another configuration is in effect here than the store has
	shared        bool          // other processes may write to the engine

	open       openDatabases
	updates    updates
	looked     looked
	deaf       func()       // ends listening
	time       *engineClock // o.Clock is its
	clock      clockGuard
	jobs       *jobs.Queue
	pools      sync.Map     // queues of packages above, by the name of their pool
	age        atomic.Int64 // of tombstones by the configuration, as watchAge knows it
	expiry     expiryCounts
	busy       busy
	turns      turns
	multiQueue queue                  // of commits of several databases
	runs       sync.Pool              // of *run
	address    atomic.Pointer[string] // where others reach this server; nil: as in the options
	ctx        context.Context        // of background work; ends at Close
	stop       context.CancelFunc
	work       sync.WaitGroup // background work and running lanes
}

// Open opens the store in e, writing its first rows if e is empty, and starts
// its background work: removing what dropped databases and partitions left,
// superseded bodies, orphaned blobs and old commit tokens.
// Data of an older format is brought up to date first (format.go).
// Errors: Unavailable when e holds data of a newer format.
func Open(ctx context.Context, e kv.Engine, o Options) (*Store, error) {
	return openWith(ctx, e, o, formatSteps)
}

// openWith is Open with the steps that lead to the newest format.
func openWith(ctx context.Context, e kv.Engine, o Options, steps []formatStep) (*Store, error) {
	s := &Store{base: e, limits: e.Limits(), o: o.withDefaults(), steps: steps, busy: newBusy(), shared: kv.IsShared(e)}
	s.engine = newWholeRows(e, s.o.LongestRow, true, s.needsPieces)
	s.distant = s.limits.Distant
	s.time = newEngineClock(e, s.o.Clock)
	s.o.Clock = s.time.now
	s.runs.New = newPrefetched
	s.open.by, s.open.max = map[string]weak.Pointer[Database]{}, s.o.MaxOpen
	s.updates.init()
	s.jobs = s.newQueue("", func() int { return jobWorkers }, s.runJob)
	if err := s.time.ask(ctx); err != nil {
		return nil, dberr.Wrap("store.Open", err)
	}
	if err := s.enroll(ctx); err != nil {
		return nil, dberr.Wrap("store.Open", err)
	}
	if err := s.begin(ctx); err != nil {
		return nil, dberr.Wrap("store.Open", err)
	}
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.deaf = s.listen()
	if !s.o.Idle {
		s.work.Go(s.showLife)
		s.work.Go(s.background)
		s.work.Go(func() { s.jobs.Work(kv.Freeing(s.ctx)) })
	}
	return s, nil
}

// Close ends background work and waits for it and for running writes. The
// engine stays open.
func (s *Store) Close() error {
	s.stop()
	s.deaf()
	s.work.Wait()
	s.leave()
	return nil
}

// UUID is the id that the server got when its data was first made: 32
// hexadecimal digits.
func (s *Store) UUID() string { return s.uuid }

// Name is the server's among those of the store; "" for one that is alone.
func (s *Store) Name() string { return s.o.Server.Name }

// begin reads the store's meta rows, or writes them into an empty engine, and
// brings older data up to date.
func (s *Store) begin(ctx context.Context) error {
	err := s.engine.Update(ctx, func(tx kv.Txn) error {
		value, err := tx.GetForUpdate(metaKey("store"))
		switch {
		case errors.Is(err, kv.ErrNotFound):
			err = s.initialize(tx)
		case err == nil:
			err = s.decodeMeta(value)
		}
		if err != nil {
			return err
		}
		return s.readSecret(tx)
	})
	if err != nil {
		return err
	}
	return s.upgrade(ctx)
}

// decodeMeta decodes the format and the UUID. What comes after the format may be
// another in a newer one.
func (s *Store) decodeMeta(value []byte) error {
	u := packed.Read(value)
	if err := s.checkFormat(u.Byte()); err != nil {
		return err
	}
	s.noteFormat(value[0])
	s.uuid = u.Text()
	return u.Done()
}

// errNoMeta is the error of who opens an engine that has rows of databases, but not those that say what they are.
var errNoMeta = dberr.New(dberr.Internal, "", "The data is damaged: there are rows of databases, but not the row that says which format they have. Nothing was changed. Restore a backup with `sectional restore`.")

// errNoStore is the error of who looks at an engine without a store.
var errNoStore = dberr.New(dberr.Unavailable, "", "There is no data of a server here yet.")

// initialize writes the rows of a new store, into an engine without databases.
func (s *Store) initialize(tx kv.Txn) error {
	for _, r := range []kv.Range{kv.Prefix(keyspace.Catalogue.Key(0)), {Start: keyspace.Database(0)}} {
		if err := kv.Each(tx, r, func(_, _ []byte) error { return errNoMeta }); err != nil {
			return err
		}
	}
	if s.o.KeepFormat {
		return errNoStore
	}
	id := make([]byte, 16)
	if _, err := io.ReadFull(s.o.Rand, id); err != nil {
		return err
	}
	s.uuid = hex.EncodeToString(id)
	p := packed.Writer{}
	p.Byte(currentFormat(s.steps))
	p.Text(s.uuid)
	s.noteFormat(currentFormat(s.steps))
	return errors.Join(tx.Put(metaKey("store"), p), tx.Put(metaKey(metaAge), packed.Number(1)))
}

func metaKey(name string) []byte { return keyspace.Meta.Key(0, keyspace.T(name)) }

// next returns the next number of the counter in the meta row name, from 1 up.
func next(tx kv.Txn, name string) (uint64, error) {
	n, err := counter(tx.GetForUpdate(metaKey(name)))
	if err != nil {
		return 0, err
	}
	n++
	return n, tx.Put(metaKey(name), packed.Number(n))
}

// counter reads a counter's value; absent counters are 0.
func counter(value []byte, err error) (uint64, error) {
	if errors.Is(err, kv.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return packed.ReadNumber(value)
}

func (s *Store) exists(ctx context.Context, key []byte) (found bool, err error) {
	err = s.engine.View(ctx, func(v kv.Snapshot) error {
		_, err := v.Get(key)
		found = err == nil
		if errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		return err
	})
	return found, err
}
