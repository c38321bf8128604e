package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvtest"
)

// subscribed returns the subscriptions of a scope in short: id, version, place,
// dead letters, and what is remembered.
func (w *world) subscribed(s Scope) string {
	w.t.Helper()
	var all []string
	err := s.View(ctx, func(r *Reader) error {
		for id, err := range r.SubscriptionNames() {
			if err != nil {
				return err
			}
			sub, err := r.Subscription(id)
			if err != nil {
				return err
			}
			text := fmt.Sprintf("%s v%d %s@%d %s", id, sub.Version, sub.Definition, sub.At, sub.Note)
			for l, err := range r.DeadLetters(id, 0) {
				if err != nil {
					return err
				}
				text += fmt.Sprintf(" %d=%s", l.Number, l.Value)
			}
			all = append(all, text)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(all, "; ")
}

func (w *world) editSubscription(s Scope, id string, fn func(*Subscription) SubscriptionEdit) {
	w.t.Helper()
	err := s.EditSubscription(ctx, id, func(sub *Subscription) (SubscriptionEdit, error) { return fn(sub), nil })
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestSubscriptionRows(t *testing.T) {
	w, _ := newModelWorld(t, Options{})
	d := w.create("db", true)
	p, whole := d.Within("p"), d.Whole()
	w.put(d, "p:a", "", `{}`)
	define := func(text string) func(*Subscription) SubscriptionEdit {
		return func(sub *Subscription) SubscriptionEdit {
			sub.Definition = []byte(text)
			return SubscriptionEdit{}
		}
	}
	w.editSubscription(whole, "s", define("one"))
	w.editSubscription(p, "s", define("two"))
	w.editSubscription(p, "s", define("two"))
	w.editSubscription(p, "s", define("three"))
	w.editSubscription(p, "none", func(*Subscription) SubscriptionEdit {
		return SubscriptionEdit{Dead: [][]byte{[]byte("lost")}}
	})
	w.editSubscription(p, "s", func(sub *Subscription) SubscriptionEdit {
		sub.At, sub.Note = 1, []byte("n")
		return SubscriptionEdit{Dead: [][]byte{[]byte("x"), []byte("y"), []byte("z")}, Discard: []uint64{2, 2, 9}, Rewrite: []DeadLetter{{3, []byte("zz")}, {8, []byte("no")}}}
	})
	for s, want := range map[Scope]string{whole: "s v1 one@0 ", p: "s v2 three@1 n 1=x 3=zz"} {
		if got := w.subscribed(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	refused := errors.New("no")
	err := p.EditSubscription(ctx, "s", func(sub *Subscription) (SubscriptionEdit, error) {
		sub.Definition = []byte("four")
		return SubscriptionEdit{Remove: true}, refused
	})
	if err != refused || w.subscribed(p) != "s v2 three@1 n 1=x 3=zz" {
		t.Errorf("refused: %v, %q", err, w.subscribed(p))
	}
	w.editSubscription(p, "s", func(*Subscription) SubscriptionEdit { return SubscriptionEdit{Remove: true} })
	w.editSubscription(p, "s", define("new"))
	if got := w.subscribed(p); got != "s v1 new@0 " {
		t.Errorf("made anew: %q", got)
	}
}

// TestSubscriptionsGoWithThePartition drops partitions that have more
// subscriptions and dead letters than one step of the removal takes.
func TestSubscriptionsGoWithThePartition(t *testing.T) {
	for _, tombstones := range []bool{false, true} {
		w, _ := newModelWorld(t, Options{})
		d := w.create("db", true)
		for _, name := range []document.Partition{"p", "q"} {
			w.put(d, string(name)+":a", "", `{}`)
			w.editSubscription(d.Within(name), "s", func(sub *Subscription) SubscriptionEdit {
				sub.Definition = []byte("d")
				return SubscriptionEdit{Dead: make([][]byte, dropBodyRows+5)}
			})
		}
		before := w.subscribed(d.Within("q"))
		if err := d.DropPartition(ctx, "p", tombstones); err != nil {
			t.Fatal(err)
		}
		err := d.Within("p").EditSubscription(ctx, "s", func(*Subscription) (SubscriptionEdit, error) { return SubscriptionEdit{}, nil })
		if got := w.subscribed(d.Within("p")); (got != "") != tombstones || dberr.Is(err, dberr.Conflict) == tombstones {
			t.Errorf("tombstones %v, while it is dropped: %.40q, %v", tombstones, got, err)
		}
		w.check()
		w.sweep()
		if got := w.subscribed(d.Within("p")); (got == before) != tombstones || (got == "") == tombstones {
			t.Errorf("tombstones %v, after the drop: %.40q", tombstones, got)
		}
		if got := w.subscribed(d.Within("q")); got != before {
			t.Errorf("the neighbour has %.40q", got)
		}
	}
}

// TestCheckSubscriptions breaks each rule that Check knows of subscriptions.
func TestCheckSubscriptions(t *testing.T) {
	for name, hurt := range map[string]func(s Scope, tx kv.Txn) error{
		"has no state":                    func(s Scope, tx kv.Txn) error { return tx.Delete(s.subscriptionKey("s", subState)) },
		"no definition":                   func(s Scope, tx kv.Txn) error { return tx.Delete(s.subscriptionKey("s", subDefinition)) },
		"counts 1 dead letters and has 0": func(s Scope, tx kv.Txn) error { return tx.Delete(s.deadLetterKey("s", 1)) },
		"which is no subscription":        func(s Scope, tx kv.Txn) error { return tx.Put(s.deadLetterKey("x", 1), []byte{rowVersion}) },
		"the feed ends at": func(s Scope, tx kv.Txn) error {
			return tx.Put(s.subscriptionKey("s", subState), (&Subscription{At: 99, Dead: 1, Serial: 1}).encodeState())
		},
	} {
		engine := kvtest.NewModel(kvtest.ModelOptions{})
		w := openWorld(t, engine, Options{})
		d := w.create("db", true)
		w.editSubscription(d.Within("p"), "s", func(sub *Subscription) SubscriptionEdit {
			sub.Definition = []byte("d")
			return SubscriptionEdit{Dead: [][]byte{[]byte("x")}}
		})
		w.check()
		if err := engine.Update(ctx, func(tx kv.Txn) error { return hurt(d.Within("p"), tx) }); err != nil {
			t.Fatal(err)
		}
		if err := w.Check(ctx); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		w.Close()
		engine.Close()
	}
}

// TestNotify orders calls and takes them back.
func TestNotify(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	calls := map[string]int{}
	order := func(name string, s Scope, q Seq) func() { return s.Notify(q, func() { calls[name]++ }) }
	rev := w.put(d, "p:a", "", `{}`)
	order("late", d.Whole(), 0)
	order("whole", d.Whole(), 1)
	order("p", d.Within("p"), 1)
	order("q", d.Within("q"), 0)
	back := order("back", d.Within("p"), 1)
	if calls["late"] != 1 || len(calls) != 1 {
		t.Errorf("before: %v", calls)
	}
	back()
	rev = w.put(d, "p:a", rev, `{"n":2}`)
	if calls["whole"] != 1 || calls["p"] != 1 || len(calls) != 3 {
		t.Errorf("after a write to p: %v", calls)
	}
	w.put(d, "p:a", rev, `{"n":3}`)
	back()
	if calls["p"] != 1 || calls["back"] != 0 {
		t.Errorf("called again: %v", calls)
	}
	ch, leave := d.Within("p").Watch(3)
	order("both", d.Within("p"), 3)()
	if len(d.watch.waiting.channels) != 2 { // q and p, for which somebody still waits
		t.Errorf("%d scopes are waited for", len(d.watch.waiting.channels))
	}
	if err := w.Drop(ctx, "db"); err != nil {
		t.Fatal(err)
	}
	<-ch
	leave()
	if calls["q"] != 1 || calls["both"] != 0 || len(d.watch.waiting.channels) != 0 {
		t.Errorf("after the drop: %v, %d", calls, len(d.watch.waiting.channels))
	}
	order("gone", d.Within("q"), 0)
	if calls["gone"] != 1 {
		t.Error("an order for what is gone")
	}
}

// TestResultsTellTheSequence compares the sequences of results with the feed,
// also where documents are written twice in one commit.
func TestResultsTellTheSequence(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	rs, err := d.Whole().Write(ctx, []document.Edit{edit(t, "p:b", "", `{}`), edit(t, "p:a", "", `{}`), edit(t, "p:a", "", `{}`)}, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if rs[0].Seq != 2 || rs[1].Seq != 1 || rs[2].Seq != 0 || rs[2].Err == nil {
		t.Errorf("%+v", rs)
	}
	known := w.write(d, replicated(t, "p:a", `{}`, rs[1].Rev.String()))
	if known.Err != nil || known.Seq != 1 {
		t.Errorf("a known revision: %+v", known)
	}
	two := []document.Edit{replicated(t, "p:c", `{}`, "1-aa"), replicated(t, "p:c", `{}`, "1-bb"), replicated(t, "p:c", `{}`, "1-aa")}
	if rs, err = d.Whole().Write(ctx, two, WriteOptions{}); err != nil || rs[0].Seq != 3 || rs[1].Seq != 4 || rs[2].Seq != 4 {
		t.Errorf("%+v, %v", rs, err)
	}
	rs, err = d.Whole().Write(ctx, []document.Edit{edit(t, "p:d", "", `{}`), edit(t, "p:a", "", `{}`)}, WriteOptions{Atomic: true})
	if err != nil || rs[0].Seq != 0 || rs[1].Seq != 0 {
		t.Errorf("a refused batch: %+v, %v", rs, err)
	}
}
