package changes

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// memory is a database small enough to read at a glance. It stands for a scope
// where time is under the test's control: the real store has goroutines of its
// own that keep a bubble of synctest awake.
type memory struct {
	sync.Mutex
	rows       []store.Change // in order of sequence
	known      map[document.ID]bool
	last       store.Seq
	changed    chan struct{}
	dropped    bool
	views      int
	read       int  // changes that were walked over
	open       bool // a snapshot is
	onView     func(n int)
	rerunViews bool // the first read of each View fails, and its function runs again
}

func newMemory(ids ...string) *memory {
	m := &memory{known: map[document.ID]bool{}, changed: make(chan struct{})}
	for _, id := range ids {
		m.put(id)
	}
	return m
}

// put writes a document: "x!" deletes x, "x+" gives it a second leaf.
func (m *memory) put(name string) {
	m.Lock()
	defer m.Unlock()
	id := document.ID(strings.TrimRight(name, "!+"))
	gen := uint32(1)
	if i := m.index(id); i >= 0 {
		gen = m.rows[i].Leaves[0].Gen + 1
		m.rows = slices.Delete(m.rows, i, i+1)
	}
	m.last++
	c := store.Change{Seq: m.last, ID: id, Deleted: strings.HasSuffix(name, "!")}
	c.Leaves = []document.Rev{{Gen: gen, Hash: "b"}}
	if strings.HasSuffix(name, "+") {
		c.Leaves = append(c.Leaves, document.Rev{Gen: gen, Hash: "a"})
	}
	m.rows = append(m.rows, c)
	m.known[id] = true
	m.wake()
}

func (m *memory) index(id document.ID) int {
	if !m.known[id] {
		return -1
	}
	return slices.IndexFunc(m.rows, func(c store.Change) bool { return c.ID == id })
}

// purge forgets a document; the sequence moves on without a row.
func (m *memory) purge(id document.ID) {
	m.Lock()
	defer m.Unlock()
	i := m.index(id)
	m.rows = slices.Delete(m.rows, i, i+1)
	m.last++
	m.wake()
}

func (m *memory) drop() {
	m.Lock()
	defer m.Unlock()
	m.dropped = true
	m.wake()
}

func (m *memory) wake() {
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *memory) View(ctx context.Context, fn func(Reader) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.Lock()
	m.views++
	n, hook := m.views, m.onView
	v := &snapshot{rows: slices.Clone(m.rows), last: m.last, read: &m.read}
	dropped := m.dropped
	m.open = true
	m.Unlock()
	defer func() { m.Lock(); m.open = false; m.Unlock() }()
	if dropped {
		return dberr.New(dberr.NotFound, "not_found", "Database does not exist.")
	}
	if hook != nil {
		hook(n)
	}
	if !m.rerunViews {
		return fn(v)
	}
	doubted := *v
	doubted.stale = true
	if err := fn(&doubted); !errors.Is(err, errRetry) {
		return err
	}
	return fn(v)
}

var errRetry = errors.New("to be read again")

// first fails the first read of a snapshot that is doubted.
func (v *snapshot) first() error {
	if v.stale {
		return errRetry
	}
	return nil
}

func (m *memory) Watch(q store.Seq) (<-chan struct{}, func()) {
	m.Lock()
	defer m.Unlock()
	if m.last > q || m.dropped {
		closed := make(chan struct{})
		close(closed)
		return closed, func() {}
	}
	return m.changed, func() {}
}

type snapshot struct {
	Reader // what the tests do not use
	rows   []store.Change
	last   store.Seq
	read   *int

	stale bool // another has just written
}

func (v *snapshot) Changes(since store.Seq, descending bool) iter.Seq2[*store.Change, error] {
	return v.changes(since, noUpper, descending)
}

func (v *snapshot) ChangesBefore(since, before store.Seq) iter.Seq2[*store.Change, error] {
	return v.changes(since, before, true)
}

func (v *snapshot) changes(since, before store.Seq, descending bool) iter.Seq2[*store.Change, error] {
	return func(yield func(*store.Change, error) bool) {
		if err := v.first(); err != nil {
			yield(nil, err)
			return
		}
		rows := slices.DeleteFunc(slices.Clone(v.rows), func(c store.Change) bool { return c.Seq <= since || c.Seq >= before })
		if descending {
			slices.Reverse(rows)
		}
		var c store.Change // reused, as the store does
		for i := range rows {
			*v.read++
			if c = rows[i]; !yield(&c, nil) {
				return
			}
		}
	}
}

func (v *snapshot) WithWinners(walk iter.Seq2[*store.Change, error], _ store.Ahead) iter.Seq2[*store.Change, error] {
	return walk
}

func (v *snapshot) Fetch([]store.Ask) error { return v.first() }

func (v *snapshot) Pending(q store.Seq) (n uint64, err error) {
	for i := range v.rows {
		if v.rows[i].Seq > q {
			n++
		}
	}
	return n, v.first()
}

func (v *snapshot) Totals() (store.Totals, error) { return store.Totals{Seq: v.last}, v.first() }

func (v *snapshot) BeginChanges(store.Seq, int) (func(), error) { return func() {}, v.first() }

func (v *snapshot) Doc(id document.ID) (*store.Doc, error) {
	if err := v.first(); err != nil {
		return nil, err
	}
	for i := range v.rows {
		if v.rows[i].ID == id {
			return v.doc(i), nil
		}
	}
	return nil, dberr.New(dberr.NotFound, "not_found", "missing")
}

func (v *snapshot) doc(i int) *store.Doc {
	d := &store.Doc{ID: v.rows[i].ID, Seq: v.rows[i].Seq}
	for _, rev := range v.rows[i].Leaves {
		d.Tree.Add(document.Rev{}, document.Node{Rev: rev, Deleted: v.rows[i].Deleted})
	}
	return d
}

func (v *snapshot) Docs(sp store.Span, _ bool) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := v.first(); err != nil {
			yield(store.Entry{}, err)
			return
		}
		for i := range v.rows {
			id := string(v.rows[i].ID)
			if id >= sp.From && id < sp.To && !yield(store.Entry{Doc: v.doc(i)}, nil) {
				return
			}
		}
	}
}

// script is a sink that writes down what it is told, with the seconds since
// the test began.
type script struct {
	m     *memory
	began time.Time
	lines []string
	full  int // rows in a page; 0 for no bound
	taken int
}

func (s *script) say(format string, args ...any) {
	at := ""
	if d := time.Since(s.began); d > 0 {
		at = fmt.Sprintf(" @%v", d)
	}
	s.lines = append(s.lines, fmt.Sprintf(format, args...)+at)
}

func (s *script) Row(r Reader, row *Row) (bool, error) {
	if s.m.rerunViews { // as a sink does that shows documents
		if _, err := r.Doc(row.ID); errors.Is(err, errRetry) {
			return false, err
		}
	}
	deleted := ""
	if row.Deleted {
		deleted = " deleted"
	}
	var revs []string
	for _, r := range row.Revs {
		revs = append(revs, r.String())
	}
	s.say("%d %s %s%s", row.Seq, row.ID, strings.Join(revs, " "), deleted)
	s.taken++
	return s.taken == s.full, nil
}

func (s *script) Send() error {
	s.closed("Send")
	s.taken = 0
	return nil
}

func (s *script) Wait() error {
	s.closed("Wait")
	s.say("wait")
	return nil
}

func (s *script) Heartbeat() error {
	s.closed("Heartbeat")
	s.say("beat")
	return nil
}

// closed notes a sink that is to send while a snapshot is open.
func (s *script) closed(call string) {
	s.m.Lock()
	defer s.m.Unlock()
	if s.m.open {
		s.say("%s inside of a snapshot", call)
	}
}
