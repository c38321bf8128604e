package subscribe

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// rowsOf returns the subscriptions of a scope in short: id, version, definition, how far
// it has come, and dead letters.
func (w *world) rowsOf(s store.Scope) string {
	w.t.Helper()
	var all []string
	must(w.t, s.View(ctx, func(r *store.Reader) error {
		for id, err := range names(r) {
			if err != nil {
				return err
			}
			sub, err := read(r, id)
			if err != nil {
				return err
			}
			text := fmt.Sprintf("%s v%d %s@%d %s", id, sub.version, sub.definition, sub.at, sub.note)
			for l, err := range letters(r, id, 0) {
				if err != nil {
					return err
				}
				text += fmt.Sprintf(" %d=%s", l.number, l.value)
			}
			all = append(all, text)
		}
		return nil
	}))
	return strings.Join(all, "; ")
}

func (w *world) editRow(s store.Scope, id string, fn func(*subscription) edit) {
	w.t.Helper()
	_, err := w.editRows(ctx, s, id, func(sub *subscription) (edit, error) { return fn(sub), nil })
	must(w.t, err)
}

func defines(text string) func(*subscription) edit {
	return func(sub *subscription) edit {
		sub.definition = []byte(text)
		return edit{}
	}
}

func TestRows(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.database("db", true)
	p, whole := d.Within("p"), d.Whole()
	w.put(d, "p:a", `{}`)
	w.editRow(whole, "s", defines(`{"url":"1"}`))
	w.editRow(p, "s", defines(`{"url":"2"}`))
	w.editRow(p, "s", defines(`{"url":"2"}`))
	w.editRow(p, "s", defines(`{"url":"3"}`))
	w.editRow(p, "none", func(*subscription) edit { return edit{dead: [][]byte{[]byte("lost")}} })
	w.editRow(p, "s", func(sub *subscription) edit {
		sub.at, sub.note = 1, []byte("{}")
		return edit{dead: [][]byte{[]byte("x"), []byte("y"), []byte("z")}, discard: []uint64{2, 2, 9}, rewrite: []deadLetter{{3, []byte("zz")}, {8, []byte("no")}}}
	})
	for s, want := range map[store.Scope]string{whole: `s v1 {"url":"1"}@0 `, p: `s v2 {"url":"3"}@1 {} 1=x 3=zz`} {
		if got := w.rowsOf(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	refused := errors.New("no")
	_, err := w.editRows(ctx, p, "s", func(sub *subscription) (edit, error) {
		sub.definition = []byte(`{"url":"4"}`)
		return edit{remove: true}, refused
	})
	if err != refused || w.rowsOf(p) != `s v2 {"url":"3"}@1 {} 1=x 3=zz` {
		t.Errorf("refused: %v, %q", err, w.rowsOf(p))
	}
	w.editRow(p, "s", func(*subscription) edit { return edit{remove: true} })
	w.editRow(p, "s", defines(`{"url":"5"}`))
	if got := w.rowsOf(p); got != `s v1 {"url":"5"}@0 ` {
		t.Errorf("made anew: %q", got)
	}
}

// TestRowsGoWithThePartition drops partitions that have more dead letters than one step of
// the removal takes.
func TestRowsGoWithThePartition(t *testing.T) {
	for _, tombstones := range []bool{false, true} {
		w := newWorld(t, Options{})
		d := w.database("db", true)
		for _, p := range []string{"p", "q"} {
			w.put(d, p+":a", `{}`)
			w.editRow(d.Within(partitionOf(p)), "s", func(sub *subscription) edit {
				sub.definition = []byte(`{"paused":true}`)
				return edit{dead: make([][]byte, 3000)}
			})
		}
		before := w.rowsOf(d.Within("q"))
		must(t, d.DropPartition(ctx, "p", tombstones))
		_, err := w.editRows(ctx, d.Within("p"), "s", func(*subscription) (edit, error) { return edit{}, nil })
		if got := w.rowsOf(d.Within("p")); (got != "") != tombstones || dberr.Is(err, dberr.Conflict) == tombstones {
			t.Errorf("tombstones %v, while it is dropped: %.40q, %v", tombstones, got, err)
		}
		must(t, w.store.Check(ctx))
		must(t, w.store.Sweep(ctx))
		if got := w.rowsOf(d.Within("p")); (got == before) != tombstones || (got == "") == tombstones {
			t.Errorf("tombstones %v, after the drop: %.40q", tombstones, got)
		}
		if got := w.rowsOf(d.Within("q")); got != before {
			t.Errorf("the neighbour has %.40q", got)
		}
	}
}

// TestCheck breaks each rule that Check knows of subscriptions.
func TestCheck(t *testing.T) {
	for name, hurt := range map[string]func(d *store.Database, tx kv.Txn) error{
		"has no state": func(d *store.Database, tx kv.Txn) error {
			return tx.Delete(subscriptionKey(d.Within("p"), "s", subState))
		},
		"no definition": func(d *store.Database, tx kv.Txn) error {
			return tx.Delete(subscriptionKey(d.Within("p"), "s", subDefinition))
		},
		"counts 1 dead letters and has 0": func(d *store.Database, tx kv.Txn) error { return tx.Delete(deadLetterKey(d.Within("p"), "s", 1)) },
		"is not a subscription": func(d *store.Database, tx kv.Txn) error {
			return tx.Put(deadLetterKey(d.Within("p"), "x", 1), []byte{rowVersion})
		},
		"the feed ends at": func(d *store.Database, tx kv.Txn) error {
			return tx.Put(subscriptionKey(d.Within("p"), "s", subState), (&subscription{at: 99, dead: 1, serial: 1}).encodeState())
		},
		"no job": func(d *store.Database, tx kv.Txn) error {
			var err error
			for _, at := range [][2]string{{jobFind, ""}, {jobSend, "p/s"}} {
				err = errors.Join(err, tx.Delete(d.Job(at[0], at[1], time.Time{}).Key()))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{})
			d := w.database("db", true)
			w.editRow(d.Within("p"), "s", func(sub *subscription) edit {
				sub.definition = []byte("{}")
				return edit{dead: [][]byte{[]byte("x")}}
			})
			w.put(d, "p:a", `{}`)
			must(t, w.store.Check(ctx))
			undo := map[string][]byte{}
			must(t, w.e.Update(ctx, func(tx kv.Txn) error { return hurt(d, undoing{tx, undo}) }))
			if err := w.store.Check(ctx); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v", err)
			}
			must(t, w.e.Update(ctx, func(tx kv.Txn) (err error) {
				for key, value := range undo {
					if value == nil {
						err = errors.Join(err, tx.Delete([]byte(key)))
					} else {
						err = errors.Join(err, tx.Put([]byte(key), value))
					}
				}
				return err
			}))
		})
	}
}

// undoing notes what rows were.
type undoing struct {
	kv.Txn
	before map[string][]byte
}

func (u undoing) note(key []byte) error {
	value, err := u.GetForUpdate(key)
	if errors.Is(err, kv.ErrNotFound) {
		value, err = nil, nil
	}
	u.before[string(key)] = value
	return err
}

func (u undoing) Put(key, value []byte) error {
	return errors.Join(u.note(key), u.Txn.Put(key, value))
}

func (u undoing) Delete(key []byte) error { return errors.Join(u.note(key), u.Txn.Delete(key)) }

// serving is one of several servers over the world's engine, which has leases.
func (w *world) serving(holder uint64) *Service {
	w.t.Helper()
	s, err := store.Open(ctx, kvtest.NewShortLocks(w.t, w.e, keyspace.IsLaneHead), store.Options{Idle: true, Clock: w.clock.Now, Followers: []store.Follower{Rows{}}, Holder: holder, Lease: time.Hour, AssumeStale: kvtest.RandomStale(holder)})
	must(w.t, err)
	o := w.o
	o.Store, o.Now, o.Idle, o.AllowPrivate = s, w.clock.Now, true, func() bool { return true }
	service := New(o)
	service.makeQueues()
	w.t.Cleanup(func() {
		service.Close()
		must(w.t, s.Close())
	})
	return service
}

func (w *world) drains(s *Service) {
	w.t.Helper()
	for _, q := range s.queues {
		must(w.t, q.Drain(ctx))
	}
}

// TestTakenOver has one server stand still while its message is on its way. As long as its
// lease holds, another server leaves the subscription alone; then it delivers that message, and
// what came after it, and what the first one stores changes nothing.
func TestTakenOver(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.database("db", false)
	r := newReceiver(t)
	w.subscribe(d.Whole(), "s", r, "")
	w.put(d, "a", `{}`)
	one, two := w.serving(1), w.serving(2)
	r.answers(func(m *message, h http.ResponseWriter) {
		r.in.answer = nil
		r.in.Unlock() // who holds it lets others in
		defer r.in.Lock()
		w.drains(two)
		if n := len(r.got()); n > 0 {
			t.Errorf("the other server has sent %d messages while the lease holds", n)
		}
		w.clock.advance(2 * time.Hour)
		w.drains(two)
		w.put(d, "b", `{}`)
		w.drains(two)
		h.WriteHeader(500)
	})
	w.drains(one)
	w.tells(r, "a, b, (a)")
	if v := w.state(d.Whole(), "s").State; v.Pending != 0 || v.Delivered != 2 || v.Status != "active" {
		t.Errorf("%+v", v)
	}
}

// TestStartsWithWhatIsDue has thousands of subscriptions with nothing to deliver: a server that
// starts opens no database for them, and finds what is due without looking at them.
func TestStartsWithWhatIsDue(t *testing.T) {
	w := newWorld(t, Options{})
	r := newReceiver(t)
	for n := range 300 {
		d := w.database(fmt.Sprintf("db%d", n), false)
		w.subscribe(d.Whole(), "s", r, "")
		w.put(d, "a", `{}`)
	}
	w.quiet()
	w.put(w.again("db7"), "b", `{}`)
	w.restart()
	if n := w.due(); n != 1 {
		t.Errorf("%d jobs are due", n)
	}
	w.quiet()
	if got := r.got(); len(got) != 301 || got[300].ids() != "b" || got[300].body.Database != "db7" {
		t.Errorf("%d messages", len(got))
	}
}

func FuzzRows(f *testing.F) {
	sub := subscription{definition: []byte(`{}`), version: 300, at: 70_000, dead: 2, serial: 300, note: []byte(`{}`)}
	f.Add([]byte(sub.encodeDefinition()))
	f.Add([]byte(sub.encodeState()))
	f.Fuzz(func(t *testing.T, value []byte) {
		var a, b subscription
		if a.decodeDefinition(value) == nil && string(a.encodeDefinition()) != string(value) {
			t.Errorf("the definition %x is %x again", value, a.encodeDefinition())
		}
		if b.decodeState(value) == nil && string(b.encodeState()) != string(value) {
			t.Errorf("the state %x is %x again", value, b.encodeState())
		}
	})
}

// TestRowBytes holds the bytes of rows as stores have them: a row that is written
// otherwise is a format of its own.
func TestRowBytes(t *testing.T) {
	sub := subscription{definition: []byte(`{}`), version: 300, at: 70_000, dead: 2, serial: 300, note: []byte(`{}`)}
	if got := fmt.Sprintf("%x %x", []byte(sub.encodeDefinition()), []byte(sub.encodeState())); got != "01ac027b7d 01f0a20402ac027b7d" {
		t.Errorf("the rows are %s", got)
	}
}
