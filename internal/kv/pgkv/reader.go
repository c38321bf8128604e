package pgkv

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// reader is the snapshot of a View or a transaction. It takes a connection, begins the
// transaction and takes the snapshot in the trip of its first read.
type reader struct {
	e         *Engine
	ctx       context.Context
	pool      *connPool
	begun     time.Time
	locks     []byte // numbers to lock before the snapshot, as an array; nil for none
	exclusive bool   // keep all other writers out, from before the snapshot
	// lingers says that the next reader may end the transaction.
	lingers bool

	mu    sync.Mutex // held during a trip: a connection is for one at a time
	s     *session   // nil before the first read
	taken bool       // the snapshot is
	lost  error      // why nothing can be read any more
}

// check reports whether the snapshot can still be read.
func (r *reader) check() error {
	if r.e.o.Now().Sub(r.begun) > r.e.o.Age {
		return dberr.New(dberr.SnapshotTooOld, "", "The snapshot is older than %v.", r.e.o.Age)
	}
	return r.ctx.Err()
}

// query makes a trip for one call. reset is called before each attempt.
func (r *reader) query(c call, reset func()) error { return r.queries(reset, c) }

// queries makes one trip for calls.
func (r *reader) queries(reset func(), calls ...call) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.check(); err != nil {
		return err
	}
	if r.lost != nil {
		return r.lost
	}
	if !r.taken {
		return r.begin(reset, calls...)
	}
	reset()
	r.e.stats.trips.Add(1)
	err := r.s.trip(context.Background(), r.e.o.Timeout, calls...)
	if err == nil {
		return nil
	}
	r.drop()
	if r.lost = r.e.unavailable(err); r.stoodStill(err) {
		r.lost = errStoodStill(err)
	}
	return r.lost
}

// stoodStill reports whether PostgreSQL has ended the session because others waited for its locks. The closure can run
// again.
func (r *reader) stoodStill(err error) bool {
	var refused *pgconn.PgError
	return (r.locks != nil || r.exclusive) && errors.As(err, &refused) && refused.Code == stoodStill
}

// stoodStill is PostgreSQL's code for a transaction that was idle for too long.
const stoodStill = "25P03"

func errStoodStill(cause error) error {
	return &dberr.Error{Op: "pgkv", Kind: dberr.Unavailable, Reason: "The transaction stood still while others waited for it.", Cause: cause}
}

// begin makes the first trip: it takes the snapshot with the first of calls. A server
// that does not answer is asked again, since nothing has been seen yet.
func (r *reader) begin(reset func(), calls ...call) error {
	for p := (retry{e: r.e}); ; {
		err := r.tryBegin(reset, calls)
		if err == nil {
			r.e.away.back()
			r.taken = true
			return nil
		}
		r.drop()
		if err := r.ctx.Err(); err != nil {
			return err
		}
		var known *dberr.Error
		if errors.As(err, &known) || !p.wait(r.ctx, err) {
			r.lost = r.e.unavailable(err)
			return r.lost
		}
		r.e.stats.retries.Add(1)
	}
}

func (r *reader) tryBegin(reset func(), calls []call) (err error) {
	if r.s == nil {
		if r.s, err = r.e.connect(r.ctx, r.pool); err != nil {
			return err
		}
	}
	reset()
	ctx := context.Background()
	if r.locks != nil && !r.s.locked || r.exclusive { // nobody waits for a lock longer than r.ctx
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(r.ctx, r.e.o.Timeout)
		defer cancel()
	}
	r.e.stats.trips.Add(1)
	err = r.s.trip(ctx, r.e.o.Timeout, append(r.prelude(), calls...)...)
	if ctx != context.Background() {
		r.begun = r.e.o.Now() // waiting does not make the snapshot older
	}
	return err
}

// prelude is what precedes the first read. The locks are a transaction of their own,
// because the statement that waits for them would take the snapshot before it waits;
// LOCK TABLE takes none.
func (r *reader) prelude() (calls []call) {
	if r.s.open {
		calls = append(calls, call{name: stRollback})
	}
	if r.locks != nil && !r.s.locked {
		calls = append(calls, call{name: stLock, args: [][]byte{r.locks}}, call{})
		r.s.locked = true
	}
	calls = append(calls, call{name: stBegin})
	if r.exclusive {
		calls = append(calls, call{name: stBriefly}, call{name: stExclusive})
	}
	r.s.open = true
	return calls
}

// drop destroys the connection, if there is one.
func (r *reader) drop() {
	if r.s != nil {
		r.s.destroy()
		r.s = nil
	}
}

// end gives the connection back. Nobody waits for the trip that this takes.
func (r *reader) end() {
	s := r.s
	if s == nil {
		return
	}
	r.s = nil
	switch {
	case !s.open && !s.locked:
		s.release()
	case r.lingers && r.taken && r.lost == nil:
		r.pool.leave(s)
	default:
		r.e.ending.Go(func() { s.end(r.e.o.Timeout) })
	}
}

// Get implements kv.Snapshot.
func (r *reader) Get(key []byte) ([]byte, error) {
	var value []byte
	err := r.query(call{name: stGet, args: [][]byte{present(key)}, row: func(values [][]byte) {
		value = append(make([]byte, 0, len(values[0])), values[0]...)
	}}, func() { value = nil })
	if err == nil && value == nil {
		return nil, kv.ErrNotFound
	}
	return value, err
}

// GetMany implements kv.Snapshot.
func (r *reader) GetMany(keys [][]byte) ([][]byte, error) {
	values, _, err := r.together(keys, nil)
	return values, err
}

// getting is the reading of many keys.
type getting struct {
	keys  [][]byte
	found map[string][]byte
}

func newGetting(keys [][]byte) *getting {
	return &getting{keys, make(map[string][]byte, len(keys))}
}

func (g *getting) reset() { clear(g.found) }

func (g *getting) call() call {
	return call{name: stGetMany, args: [][]byte{array(oidBytea, g.keys)}, row: func(row [][]byte) {
		g.found[string(row[0])] = append(make([]byte, 0, len(row[1])), row[1]...)
	}}
}

// values returns what was found, in the order of the keys.
func (g *getting) values() [][]byte {
	values := make([][]byte, len(g.keys))
	given := make(map[string]bool, len(g.keys))
	for i, key := range g.keys {
		value := g.found[string(key)]
		if given[string(key)] { // its first place has it
			value = bytes.Clone(value)
		}
		values[i], given[string(key)] = value, true
	}
	return values
}

// Read implements kv.Snapshot.
func (r *reader) Read(asked kv.Reads) (kv.Found, error) {
	values, walks, err := r.together(asked.Keys, asked.Walks)
	f := kv.Found{Values: values}
	for _, it := range walks {
		f.Walks = append(f.Walks, it)
	}
	return f, err
}

// together reads keys and the first pages of walks in one trip.
func (r *reader) together(keys [][]byte, walks []kv.Walk) ([][]byte, []*iterator, error) {
	if len(keys)+len(walks) == 0 {
		return nil, nil, r.check()
	}
	g, p := newGetting(keys), newPages(r, walks)
	calls := p.calls()
	if len(keys) > 0 {
		calls = append(calls, g.call())
	}
	if err := r.queries(func() { g.reset(); p.reset() }, calls...); err != nil {
		return nil, nil, err
	}
	return g.values(), p.its, nil
}

// Iterate implements kv.Snapshot.
func (r *reader) Iterate(rg kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	return newIterator(r, rg, o), nil
}

// present is a key that may be nil as an argument, where nil is NULL.
func present(key []byte) []byte {
	if key == nil {
		return []byte{}
	}
	return key
}
