package index

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/slots"
	"github.com/sectional/sectional/internal/store"
)

// Options configure Indexes; the zero value works.
type Options struct {
	Kinds  []Kind
	Clock  func() time.Time // default time.Now
	Logger *slog.Logger     // default discards
	// Idle switches background tasks off: tests run them by Run.
	Idle bool
	// Page is how many documents a build of a transactional kind takes at a time;
	// default 40,000.
	Page int
}

// Indexes keeps the indexes of all databases of a store. It is the store's
// Indexer.
type Indexes struct {
	kinds []Kind
	o     Options
	clock func() time.Time
	ctx   context.Context // of background tasks; ends at Close
	stop  context.CancelFunc
	work  sync.WaitGroup
	slots *slots.Slots // one for each task of the background that may run at a time
	// tenantSlots are those of tasks for indexes of tenants: however many tenants there
	// are, and whatever they build, the databases' own builds find their slots free.
	tenantSlots *slots.Slots
	opened      struct {
		sync.Mutex
		by    map[string]any // by kind and signature
		bytes int            // of their sources
	}
	store   *store.Store // from Start on
	writing func() bool  // whether writers are at work; from Start on
	tasks   struct {
		sync.Mutex                    // guards tasksOf, too
		building   map[taskKey]active // by the background
		// maintained are those whose own work is being done, with whether they took in
		// changes meanwhile.
		maintained map[taskKey]bool
		behind     map[taskKey]backlog // see Counts
		closed     bool
	}
}

// overflow is how long a task of the background waits for one of as many slots as
// there are processors, before it may have an extra one.
const overflow = 200 * time.Millisecond

// New makes the indexes of a store that is about to be opened with it as its
// Indexer.
func New(o Options) *Indexes {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Page == 0 {
		o.Page = transactionalDocs
	}
	x := &Indexes{kinds: o.Kinds, o: o, clock: o.Clock, slots: slots.New(1, runtime.GOMAXPROCS(0), overflow), tenantSlots: slots.New(1, 1, overflow)}
	x.ctx, x.stop = context.WithCancel(context.Background())
	x.opened.by = map[string]any{}
	x.tasks.building, x.tasks.maintained, x.tasks.behind = map[taskKey]active{}, map[taskKey]bool{}, map[taskKey]backlog{}
	return x
}

// definitionsVersion is the version of what definitions mean for rows, from 1 up: of
// signatures, and of the order of values.
const definitionsVersion = 1<<8 | keyspace.CollationVersion

// surveyed names that (store.Once).
const surveyed = "indexes"

// whenStarted is when the job of an index that failed is due: when a server starts.
var whenStarted = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Start begins to work on the jobs of indexes, builds that were interrupted among them.
// Indexes that failed are made anew. Databases are looked at only if the version of what
// definitions mean is another than before: those whose stored order is of an older one
// are made anew.
func (x *Indexes) Start(ctx context.Context, s *store.Store) error {
	x.store, x.writing = s, s.Writing
	err := s.Once(ctx, surveyed, definitionsVersion, func() error { return x.survey(ctx) })
	if err == nil {
		err = s.Jobs(ctx, jobFailed, func(j jobs.Job) error { return x.retryJob(ctx, j) })
	}
	if err != nil || x.o.Idle {
		return err
	}
	for pool, workers := range map[string]int{poolIndex: indexWorkers, poolTenant: tenantWorkers} {
		q := s.Queue(pool, func() int { return workers }, x.do)
		x.work.Go(func() { q.Work(x.ctx) })
	}
	return nil
}

// survey looks at all databases that have indexes.
func (x *Indexes) survey(ctx context.Context) error {
	for name, err := range x.store.DatabasesWithRows(ctx, &keyspace.Index, &keyspace.IndexUse) {
		if err != nil {
			return err
		}
		d, err := x.store.Database(ctx, name)
		if err == nil {
			err = x.renew(ctx, d)
		}
		if err != nil && !dberr.Is(err, dberr.NotFound) {
			return err
		}
	}
	return nil
}

// retryJob makes the indexes of a database that failed anew: the limits of the server may
// be others by now.
func (x *Indexes) retryJob(ctx context.Context, j jobs.Job) error {
	d, err := x.store.OfJob(ctx, j)
	if err == nil {
		err = x.revive(ctx, d)
	}
	if dberr.Is(err, dberr.NotFound) {
		return nil
	}
	return errors.Join(err, x.store.EndJob(ctx, j))
}

// renew defines the indexes of a database and its tenants anew if they were stored under
// another order of values.
func (x *Indexes) renew(ctx context.Context, d *store.Database) error {
	old, err := x.aged(ctx, d)
	for id := range old {
		err = errors.Join(err, x.defineAnew(ctx, d, id))
	}
	return err
}

// aged finds the design documents whose indexes are of another order, by stored id.
func (x *Indexes) aged(ctx context.Context, d *store.Database) (old map[document.ID]bool, err error) {
	err = d.Whole().View(ctx, func(r *store.Reader) error {
		old = map[document.ID]bool{}
		return EachSet(r, func(ns store.Scope, s *Set) error {
			for _, n := range s.Named {
				if def := (Definition{Partitioned: n.Index.Partitioned, Source: n.Index.Source}); def.signature(n.Kind) != n.Index.Signature {
					old[ns.Stored(n.Design)] = true
				}
			}
			return nil
		})
	})
	return old, err
}

// EachSet calls fn with the indexes of the reader's database and of its tenants.
func EachSet(r *store.Reader, fn func(ns store.Scope, s *Set) error) error {
	all, err := Namespaces(r)
	for _, ns := range all {
		if err != nil {
			break
		}
		var s *Set
		if s, err = Of(r.As(ns)); err == nil {
			err = fn(ns, s)
		}
	}
	return err
}

// defineAnew defines the indexes of a design document, by its stored id, as if it had
// been written.
func (x *Indexes) defineAnew(ctx context.Context, d *store.Database, id document.ID) error {
	return d.UpdateLane(ctx, 1<<10, func(m store.LaneTxn) error { return m.RedefineIndexes(id) })
}

// Close ends the background tasks and waits for them.
func (x *Indexes) Close() {
	x.tasks.Lock()
	x.tasks.closed = true
	x.tasks.Unlock()
	x.stop()
	x.work.Wait()
}

func (x *Indexes) kind(name string) Kind {
	for _, k := range x.kinds {
		if k.Name() == name {
			return k
		}
	}
	return nil
}

// open makes a definition usable, once for equal definitions that come soon after
// each other.
func (x *Indexes) open(k Kind, r *record) (any, error) {
	x.opened.Lock()
	defer x.opened.Unlock()
	key := r.Kind + r.Signature
	if v, ok := x.opened.by[key]; ok {
		return v, nil
	}
	v, err := k.Open(r.Source)
	if err != nil {
		return v, err
	}
	if x.opened.bytes += len(key) + len(r.Source); x.opened.bytes > openedBytes {
		clear(x.opened.by) // those in use are held by their indexes
		x.opened.bytes = len(key) + len(r.Source)
	}
	x.opened.by[key] = v
	return v, nil
}

// openedBytes bounds the definitions that are remembered so that equal ones are
// opened once.
const openedBytes = 4 << 20
