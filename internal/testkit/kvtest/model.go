package kvtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// ModelOptions say how a Model differs from the usual one.
type ModelOptions struct {
	Limits kv.Limits        // zero fields: the model's own small limits
	Now    func() time.Time // clock for ages; nil: time.Now
}

// modelLimits are smaller than those of any engine: a key that fits into an
// index row of PostgreSQL, a value of two body chunks, a transaction within one
// of TiKV's raft entries.
var modelLimits = kv.Limits{Key: 1 << 10, Value: 128 << 10, Txn: 4 << 20, Age: 10 * time.Second, Idle: 4}

// Model is the contract as a program: an engine in memory, written to be seen
// right rather than to be fast. Other engines are compared with it, and tests
// of higher layers run on it, since it enforces the smallest limits and refuses
// misuse that other engines leave undefined: DeleteOnce of a key that was not
// put exactly once.
type Model struct {
	limits kv.Limits
	now    func() time.Time
	locks  kv.Locks
	open   sync.RWMutex // read-held by running calls; taken for good by Close
	close  sync.Once

	mu struct {
		sync.Mutex
		rows     *tree
		n        uint64            // commits so far
		last     map[string]uint64 // key → the last commit that wrote it
		idle     map[string]uint64 // and the last that did or deleted it though it was absent
		discards []discardedRange
		runs     uint64 // runs of transactions so far
	}
}

var _ kv.Engine = (*Model)(nil)

// NewModel makes an empty model.
func NewModel(o ModelOptions) *Model {
	l := o.Limits
	fill := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	fill(&l.Key, modelLimits.Key)
	fill(&l.Value, modelLimits.Value)
	fill(&l.Txn, modelLimits.Txn)
	fill(&l.Idle, modelLimits.Idle)
	if l.Age == 0 {
		l.Age = modelLimits.Age
	}
	m := &Model{limits: l, now: o.Now}
	if m.now == nil {
		m.now = time.Now
	}
	m.mu.last, m.mu.idle = make(map[string]uint64), make(map[string]uint64)
	return m
}

// Limits implements kv.Engine.
func (m *Model) Limits() kv.Limits { return m.limits }

func (m *Model) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !m.open.TryRLock() {
		return &dberr.Error{Kind: dberr.Unavailable, Reason: "The storage engine is closed.", Cause: kv.ErrStopped}
	}
	return nil
}

// View implements kv.Engine.
func (m *Model) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.open.RUnlock()
	return fn(&modelSnapshot{ctx: ctx, m: m, begun: m.now()})
}

// Update implements kv.Engine.
func (m *Model) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.open.RUnlock()
	unlock, err := m.locks.Lock(ctx, locked)
	if err != nil {
		return err
	}
	defer unlock()
	for {
		t := m.begin(ctx)
		if err := fn(t); err != nil {
			return err
		}
		if err := t.check(); err != nil {
			return err
		}
		if m.commit(t) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

func (m *Model) begin(ctx context.Context) *modelTxn {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.runs++
	return &modelTxn{
		modelSnapshot: modelSnapshot{ctx: ctx, m: m, begun: m.now()},
		run:           m.mu.runs,
		locked:        make(map[string]bool),
		written:       make(map[string]bool),
	}
}

// commit makes t's writes the newest state unless a later commit touched what
// it relies on.
func (m *Model) commit(t *modelTxn) bool {
	t.take()
	m.mu.Lock()
	defer m.mu.Unlock()
	if must, _ := m.conflicts(t); must {
		return false
	}
	m.mu.n++
	for key := range t.written {
		if m.mu.idle[key] = m.mu.n; t.idle(key) {
			continue
		}
		m.mu.last[key] = m.mu.n
		if r, ok := t.rows.get(key); ok {
			m.mu.rows = m.mu.rows.with(r)
		} else {
			end := key + "\x00"
			m.mu.rows = m.mu.rows.without(key, &end)
		}
	}
	return true
}

// conflicts reports whether an engine must run t again, and whether it may. The
// caller holds m.mu.
func (m *Model) conflicts(t *modelTxn) (must, may bool) {
	for _, keys := range []map[string]bool{t.locked, t.written} {
		for key := range keys {
			_, before := t.base.get(key)
			_, now := m.mu.rows.get(key)
			may = may || m.mu.idle[key] > t.start || m.discarded(key, t.start)
			must = must || m.mu.last[key] > t.start && (before || now) && !t.idle(key)
		}
	}
	return must, may
}

// Discard implements kv.Engine.
func (m *Model) Discard(ctx context.Context, r kv.Range) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.open.RUnlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.rows = m.mu.rows.without(string(r.Start), text(r.End))
	m.mu.n++
	m.mu.discards = append(m.mu.discards, discardedRange{m.mu.n, string(r.Start), text(r.End)})
	return nil
}

// discardedRange is a range that was discarded.
type discardedRange struct {
	n     uint64
	start string
	end   *string
}

// discarded reports whether key was in a range that was discarded after commit start, which
// engines may take for a deletion. The caller holds m.mu.
func (m *Model) discarded(key string, start uint64) bool {
	return slices.ContainsFunc(m.mu.discards, func(d discardedRange) bool {
		return d.n > start && key >= d.start && (d.end == nil || key < *d.end)
	})
}

// Close implements kv.Engine.
func (m *Model) Close() error {
	m.close.Do(m.open.Lock)
	return nil
}

// text returns key as a string, nil for nil.
func text(key []byte) *string {
	if key == nil {
		return nil
	}
	s := string(key)
	return &s
}
