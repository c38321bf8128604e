package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/crashfs"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// bank is accounts in several databases, whose sum stays what it is.
type bank struct {
	*world
	databases []*Database
}

const (
	bankAccounts = 4   // in each database
	bankEach     = 100 // in each account at first
)

// newBank makes the databases: one without partitions, the others with the accounts in two.
func newBank(w *world, databases int) *bank {
	b := &bank{world: w}
	for i := range databases {
		d := w.create(fmt.Sprint("db", i), i > 0)
		b.databases = append(b.databases, d)
		for n := range bankAccounts {
			w.mustWrite(d, edit(w.t, accountID(n), "", fmt.Sprintf(`{"n":%d}`, bankEach)))
		}
	}
	return b
}

func accountID(n int) string { return fmt.Sprintf("p%d:%d", n%2, n) }

var errPoor = dberr.New(dberr.Precondition, "poor", "There is not enough.")

// pays is the condition of an account from which an amount is taken.
func pays(t testing.TB, amount int) document.Decide {
	return func(now document.Current) (document.Decision, error) {
		n := number(t, now.Body)
		if n < amount {
			return document.Decision{}, errPoor
		}
		return document.Decision{Body: fmt.Appendf(nil, `{"n":%d}`, n-amount)}, nil
	}
}

// transfer makes a random transaction: amounts from one or two accounts to others, and now and
// then a look at one that does not change.
func (b *bank) transfer(r kvtest.Rand) (parts []ScopedEdits, moves []move) {
	accounts := make([]account, 0, 4)
	for len(accounts) < 2+r.IntN(3) {
		a := account{r.IntN(len(b.databases)), r.IntN(bankAccounts)}
		if !slices.Contains(accounts, a) {
			accounts = append(accounts, a)
		}
	}
	left := 0
	for i, a := range accounts {
		amount := 1 + r.IntN(bankEach)
		switch {
		case i == len(accounts)-1:
			amount = -left
		case i == 1 && r.Chance(3):
			amount = 0
		}
		left += amount
		moves = append(moves, move{a, amount})
	}
	for _, m := range moves {
		e := document.Edit{ID: document.ID(accountID(m.id)), Decide: pays(b.t, m.amount)}
		if m.amount == 0 {
			e.Decide = func(now document.Current) (document.Decision, error) {
				if number(b.t, now.Body) < bankEach/2 {
					return document.Decision{}, errPoor
				}
				return document.Decision{Keep: true}, nil
			}
		}
		parts = append(parts, ScopedEdits{Scope: b.databases[m.database].Whole(), Edits: []document.Edit{e}})
	}
	return parts, moves
}

type account struct{ database, id int }

type move struct {
	account
	amount int // that is taken
}

// balances reads all accounts at one snapshot.
func (b *bank) balances() (all map[account]int) {
	b.t.Helper()
	all = map[account]int{}
	err := b.engine.View(ctx, func(v kv.Snapshot) error {
		for i, d := range b.databases {
			r := &Reader{Scope: d.Whole(), v: v}
			for n := range bankAccounts {
				rev, err := r.Winner(document.ID(accountID(n)))
				if err != nil {
					return err
				}
				all[account{i, n}] = number(b.t, rev.Body)
			}
		}
		return nil
	})
	if err != nil {
		b.t.Error(err)
	}
	return all
}

// holdsSum checks that the sum of all accounts is what it was.
func (b *bank) holdsSum() {
	b.t.Helper()
	sum := 0
	for _, n := range b.balances() {
		sum += n
	}
	if want := len(b.databases) * bankAccounts * bankEach; sum != want {
		b.t.Errorf("the sum is %d, want %d", sum, want)
	}
}

// TestTransactions carries out random transactions, one after the other, in the store and in a map.
func TestTransactions(t *testing.T) {
	for seed := range uint64(5) {
		w, faults := newModelWorld(t, Options{})
		b := newBank(w, 3)
		r := kvtest.NewRand(seed)
		model := b.balances()
		faults.Randomly(seed, kvtest.Rates{kvtest.Rerun: 15, kvtest.LostCommit: 10, kvtest.LostAnswer: 10, kvtest.LateCommit: 5})
		for range 60 {
			parts, moves := b.transfer(r)
			rs, err := w.Transact(ctx, parts)
			if err != nil {
				t.Fatal(err)
			}
			refused := false
			for i, m := range moves {
				poor := model[m.account] < m.amount || m.amount == 0 && model[m.account] < bankEach/2
				refused = refused || poor
				if poor != errors.Is(rs[i].Err, errPoor) {
					t.Fatalf("seed %d: %+v of %d: %v", seed, m, model[m.account], rs[i].Err)
				}
			}
			for i, m := range moves {
				if !refused {
					model[m.account] -= m.amount
				}
				if stored := rs[i].Err == nil && !rs[i].Rev.IsZero(); stored == refused {
					t.Fatalf("seed %d: %+v in a transaction that is refused %v", seed, rs[i], refused)
				}
			}
			for a, n := range b.balances() {
				if n != model[a] {
					t.Fatalf("seed %d: %+v has %d, want %d", seed, a, n, model[a])
				}
			}
		}
		faults.Randomly(0, nil)
		w.check()
	}
}

// TestTransactionsTogether has many transfer at once in all directions, beside others that write single documents,
// while readers add up: nobody waits for ever, and every snapshot has the sum.
func TestTransactionsTogether(t *testing.T) {
	w := newWorld(t, Options{})
	b := newBank(w, 3)
	var work, reading sync.WaitGroup
	done := make(chan bool)
	reading.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				b.holdsSum()
			}
		}
	})
	for c := range 8 {
		r := kvtest.NewRand(uint64(c))
		work.Go(func() {
			for range 40 {
				parts, _ := b.transfer(r)
				if _, err := w.Transact(ctx, parts); err != nil {
					t.Error(err)
				}
			}
		})
		work.Go(func() {
			d := b.databases[c%3]
			for n := range 20 {
				w.mustWrite(d, edit(t, fmt.Sprintf("q:%d-%d", c, n), "", `{}`))
				large := document.Edit{ID: document.ID(fmt.Sprintf("q:l%d-%d", c, n)), Body: []byte(`{"t":"` + strings.Repeat("x", smallBytes) + `"}`)}
				w.mustWrite(d, large)
			}
		})
	}
	work.Wait()
	close(done)
	reading.Wait()
	b.holdsSum()
}

// TestTransactionsCrash cuts the power while many transfer: what was acknowledged is there in
// all databases, and whatever is there is whole.
func TestTransactionsCrash(t *testing.T) {
	for seed := range uint64(6) {
		fs := crashfs.New()
		w, err := disk(t, fs)
		if err != nil {
			t.Fatal(err)
		}
		b := newBank(w, 2)
		r := kvtest.NewRand(seed)
		enough := make(chan bool)
		f := newFacts(5+r.IntN(40), func() { close(enough) })
		stopped, stop := context.WithCancel(ctx)
		var work sync.WaitGroup
		for c := range 4 {
			r := kvtest.NewRand(seed<<8 + uint64(c))
			work.Go(func() { b.transferAndLog(stopped, c, f, r) })
		}
		<-enough
		got := f.frozen()
		after := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r.Rand})
		stop()
		work.Wait()
		w.closeAll()
		recoveredBank(t, after, got)
	}
}

// transferAndLog transfers until ctx ends, each time with a note in every database.
func (b *bank) transferAndLog(ctx context.Context, c int, f *facts, r kvtest.Rand) {
	for n := 0; ctx.Err() == nil; n++ {
		parts, _ := b.transfer(r)
		id := document.ID(fmt.Sprintf("note:%d-%d", c, n))
		for _, d := range b.databases {
			parts = append(parts, ScopedEdits{d.Whole(), []document.Edit{{ID: id, Body: []byte(`{}`)}}})
		}
		rs, err := b.Transact(ctx, parts)
		if err != nil && ctx.Err() == nil {
			b.t.Error(err)
		}
		if err == nil && rs[len(rs)-1].Err == nil && !rs[len(rs)-1].Rev.IsZero() {
			f.note(func() { f.mu.written[string(id)] = rs[len(rs)-1].Rev })
		}
	}
}

func recoveredBank(t *testing.T, fs vfs.FS, got *facts) {
	t.Helper()
	w, err := disk(t, fs)
	if err != nil {
		t.Fatal(err)
	}
	defer w.closeAll()
	w.check()
	b := &bank{world: w}
	var notes [2][]string
	for i := range notes {
		d, err := w.Database(ctx, fmt.Sprint("db", i))
		if err != nil {
			t.Fatal(err)
		}
		b.databases = append(b.databases, d)
		w.holds(d, got)
		err = d.Whole().View(ctx, func(r *Reader) error {
			for e, err := range r.Docs(Span{From: "note:", To: "note;"}, false) {
				if err != nil {
					return err
				}
				notes[i] = append(notes[i], string(e.Doc.ID))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(notes[0], notes[1]) {
		t.Errorf("one database has the notes %v, the other %v", notes[0], notes[1])
	}
	b.holdsSum()
}

// TestTransactionRefused holds that nothing of a refused transaction is left, and who is told what.
func TestTransactionRefused(t *testing.T) {
	w := newWorld(t, Options{})
	one, two := w.create("one", true), w.create("two", false)
	w.mustWrite(one, edit(t, "p:a", "", `{"n":1}`))
	w.mustWrite(two, edit(t, "b", "", `{"n":1}`))
	state := func() string {
		return strings.Join(append(w.feed(one.Whole(), 0), w.feed(two.Whole(), 0)...), "\n") + w.get(one, "p:a") + w.get(two, "b") + fmt.Sprint(w.totals(one), w.totals(two))
	}
	before := state()
	new := document.Edit{ID: "p:new", Body: []byte(`{}`)}
	expects := func(id string, r document.Rev) document.Edit {
		return document.Edit{ID: document.ID(id), Decide: document.Expect(r)}
	}
	for _, c := range []struct {
		what  string
		parts []ScopedEdits
		want  string
	}{
		{"a conflict in the other database", []ScopedEdits{{one.Whole(), []document.Edit{new}}, {two.Whole(), []document.Edit{edit(t, "b", "", `{}`)}}}, "- conflict"},
		{"a revision that is another", []ScopedEdits{{one.Whole(), []document.Edit{expects("p:a", document.Rev{}), new}}, {two.Whole(), []document.Edit{{ID: "c"}, expects("b", rev(t, hashed(1, "other")))}}}, "conflict - - conflict"},
		{"poor", []ScopedEdits{{two.Whole(), []document.Edit{{ID: "b", Decide: pays(t, 5)}}}, {one.Whole(), []document.Edit{new}}}, "poor -"},
		{"a document twice", []ScopedEdits{{one.Whole(), []document.Edit{new}}, {one.Tenant("p"), []document.Edit{{ID: "new"}}}}, "- conflict"},
		{"another partition", []ScopedEdits{{one.Within("q"), []document.Edit{new}}, {two.Whole(), []document.Edit{{ID: "c"}}}}, "forbidden -"},
	} {
		rs, err := w.Transact(ctx, c.parts)
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		var got []string
		for _, r := range rs {
			var e *dberr.Error
			if errors.As(r.Err, &e) {
				got = append(got, e.Code)
			} else if got = append(got, "-"); r.Err != nil || !r.Rev.IsZero() {
				t.Errorf("%s: %+v", c.what, r)
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: told %s, want %s", c.what, got, c.want)
		}
		if after := state(); after != before {
			t.Errorf("%s: it left something:\n%s\nbefore:\n%s", c.what, after, before)
		}
	}
}

// TestTransactionInPartitions changes documents of several partitions, tenants and databases at once: every feed wakes,
// counters are those of the rows, and ids and sequences are told as each scope has them.
func TestTransactionInPartitions(t *testing.T) {
	w := newWorld(t, Options{})
	one, two := w.create("one", true), w.create("two", true)
	var woken []<-chan struct{}
	for _, s := range []Scope{one.Whole(), one.Within("p"), one.Within("q"), two.Whole(), two.Within("p")} {
		ch, leave := s.Watch(0)
		defer leave()
		woken = append(woken, ch)
	}
	rs, err := w.Transact(ctx, []ScopedEdits{
		{one.Whole(), []document.Edit{{ID: "q:b"}, {ID: "_design/d", Body: []byte(`{"views":{}}`)}}},
		{two.Within("p"), []document.Edit{{ID: "p:c"}}},
		{one.Tenant("p"), []document.Edit{{ID: "a"}, {ID: "none", Decide: document.Expect(document.Rev{})}}},
		{two.Whole(), nil},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rs {
		got = append(got, fmt.Sprint(r.ID, " ", r.Rev.Gen, " ", r.Seq, " ", r.Err))
	}
	if got, want := strings.Join(got, "; "), "q:b 1 1 <nil>; _design/d 1 2 <nil>; p:c 1 1 <nil>; a 1 3 <nil>; none 0 0 <nil>"; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
	for i, ch := range woken {
		select {
		case <-ch:
		default:
			t.Errorf("feed %d does not wake", i)
		}
	}
	if n := w.totals(one).Docs; n != 3 {
		t.Errorf("%d documents are counted", n)
	}
	if rs, err := w.Transact(ctx, nil); err != nil || len(rs) != 0 {
		t.Errorf("an empty one: %v, %v", rs, err)
	}
	if _, err := w.Transact(ctx, []ScopedEdits{{one.Whole(), []document.Edit{replicated(t, "p:r", `{}`, hashed(1, "r"))}}}); !dberr.Is(err, dberr.Invalid) {
		t.Errorf("a replicated edit: %v", err)
	}
}

// TestTransactionOfOneDatabaseTwice has a database that was opened twice in a transaction: it has one group.
func TestTransactionOfOneDatabaseTwice(t *testing.T) {
	w := newWorld(t, Options{})
	one := w.create("one", false)
	var again *Database
	err := w.engine.View(ctx, func(v kv.Snapshot) (err error) {
		again, err = w.load(v, "one", entry{number: one.number, incarnation: one.incarnation, created: one.created})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rs, err := w.Transact(ctx, []ScopedEdits{{one.Whole(), []document.Edit{{ID: "a"}}}, {again.Whole(), []document.Edit{{ID: "b"}}}})
	if err != nil || rs[0].Err != nil || rs[1].Err != nil || rs[1].Seq != 2 {
		t.Errorf("%+v, %v", rs, err)
	}
}

// TestTransactionsWait queues transactions and others while a database's commit is under way: the transactions are one
// commit, one that meets a database that was dropped fails by itself, and large writes come between such commits.
func TestTransactionsWait(t *testing.T) {
	w := newWorld(t, Options{})
	one, two, gone := w.create("one", false), w.create("two", false), w.create("gone", false)
	if err := w.Drop(ctx, "gone"); err != nil {
		t.Fatal(err)
	}
	release := w.held(one)
	put := func(ds ...*Database) func(id string) error {
		return func(id string) error {
			var parts []ScopedEdits
			for _, d := range ds {
				parts = append(parts, ScopedEdits{d.Whole(), []document.Edit{{ID: document.ID(id)}}})
			}
			_, err := w.Transact(ctx, parts)
			return err
		}
	}
	var work sync.WaitGroup
	begin := func(id string, with func(string) error, want error) {
		work.Go(func() {
			if err := with(id); dberr.KindOf(err) != dberr.KindOf(want) || (err == nil) != (want == nil) {
				t.Errorf("%s: %v, want %v", id, err, want)
			}
		})
	}
	begin("first", put(one, two), nil)
	queued(one, 1)
	for n := range 10 {
		begin(fmt.Sprint("n", n), put(two, one), nil)
	}
	begin("lost", put(one, gone, two), errNoDatabase)
	for there := 0; there < 11; {
		w.multiQueue.pending.Lock()
		there = len(w.multiQueue.pending.small)
		w.multiQueue.pending.Unlock()
	}
	release()
	work.Wait()
	if a, b := w.totals(one).Docs, w.totals(two).Docs; a != 11 || b != 11 {
		t.Errorf("%d and %d documents", a, b)
	}
}

// TestReservationsLeaveRoom holds what a queue hands out when its committer is reserved.
func TestReservationsLeaveRoom(t *testing.T) {
	reserve := &reservation{}
	q := &queue{}
	q.pending.room = groupBytes
	put := func(rs ...*request) { q.pending.small = append(q.pending.small, rs...) }
	put(&request{size: 1}, &request{reservation: reserve}, &request{reservation: reserve}, &request{size: 2}, &request{reservation: reserve})
	q.pending.large = line{{size: 50000}, {size: 60000}, {size: 70000}}
	for i, want := range [][]int{{1, 50000, 60000}, {0}, {70000}, {0}, {2}, {0}, nil} {
		if got := sizes(q.take()); !slices.Equal(got, want) {
			t.Errorf("group %d is %v, want %v", i, got, want)
		}
	}
}

// totals reads a database's numbers.
func (w *world) totals(d *Database) Totals {
	w.t.Helper()
	t, err := d.Whole().Totals(ctx)
	if err != nil {
		w.t.Error(err)
	}
	return t
}
