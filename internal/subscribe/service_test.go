package subscribe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/store"
)

func (w *world) tells(r *receiver, want string) {
	w.t.Helper()
	if got := w.told(r); got != want {
		w.t.Errorf("told %q, want %q", got, want)
	}
}

// TestDelivers follows a database and a partition through writes and a restart.
func TestDelivers(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.database("db", true)
	whole, p := newReceiver(t), newReceiver(t)
	w.put(d, "p:old", `{}`)
	w.subscribe(d.Whole(), "whole", whole, "")
	w.subscribe(d.Within("p"), "p", p, `,"include_docs":true,"since":0`)
	w.tells(p, "p:old")
	rev := w.put(d, "p:a", `{"n":1}`)
	w.tells(p, "p:old, p:a")
	w.tells(whole, "p:a")
	w.put(d, "q:a", `{"n":1}`)
	w.tells(whole, "p:a, q:a")
	w.put(d, "p:a", "")
	w.tells(p, "p:old, p:a, p:a!")
	w.tells(whole, "p:a, q:a, p:a!")
	m := p.got()[1].body
	want := fmt.Sprintf(`{"_id":"p:a","_rev":"%s","n":1}`, rev)
	if m.Type != "changes" || m.Subscription != "p" || m.Database != "db" || m.Partition != "p" || m.Pending != 0 ||
		m.Results[0].Changes[0].Rev != rev.String() || string(m.Results[0].Doc) != want || m.LastSeq != m.Results[0].Seq {
		t.Errorf("the message is %s", p.got()[1].raw)
	}
	if m := whole.got()[0]; strings.Contains(m.raw, `"doc"`) || strings.Contains(m.raw, `"partition"`) {
		t.Errorf("the message is %s", m.raw)
	}
	w.quiet() // what was told is noted as told
	w.Service.Close()
	w.put(d, "q:b", `{}`)
	w.restart()
	d = w.again("db")
	w.tells(whole, "p:a, q:a, p:a!, q:b")
	w.put(d, "p:c", `{}`)
	w.tells(whole, "p:a, q:a, p:a!, q:b, p:c")
	w.tells(p, "p:old, p:a, p:a!, p:c")
	if v := w.state(d.Within("p"), "p"); v.State.Status != "active" || v.State.Delivered != 4 || v.State.Pending != 0 || v.State.LastSuccess == nil {
		t.Errorf("the state is %+v", v.State)
	}
}

// TestSignature checks the headers as a receiver would, that of the example in
// the documentation among them.
func TestSignature(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.database("db", false)
	r := newReceiver(t)
	r.says(500, 200)
	w.subscribe(d.Whole(), "s", r, `,"headers":{"authorization":"Bearer token"}`)
	w.put(d, "a", `{}`)
	w.quiet()
	w.clock.advance(time.Minute)
	w.tells(r, "(a), a")
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	for _, m := range r.got() {
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.%s", m.header.Get("webhook-id"), m.header.Get("webhook-timestamp"), m.raw)
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); m.header.Get("webhook-signature") != want {
			t.Errorf("signed %q, want %q", m.header.Get("webhook-signature"), want)
		}
		if m.header.Get("Authorization") != "Bearer token" || m.header.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", m.header)
		}
	}
	a, b := r.got()[0].header, r.got()[1].header
	if a.Get("webhook-id") != b.Get("webhook-id") || a.Get("webhook-timestamp") == b.Get("webhook-timestamp") {
		t.Errorf("the second attempt must have the id of the first, at another time: %v, %v", a, b)
	}
	w.subscribe(d.Whole(), "s", r, `,"since":0`)
	w.quiet()
	if id := r.got()[2].header.Get("webhook-id"); id == a.Get("webhook-id") {
		t.Error("what is sent again on demand looks like what was sent")
	}
	_, err := w.Put(ctx, d.Whole(), "s", []byte(`{"url":"`+r.URL+`","secret":["`+secret+`","another, plain one"],"since":0}`))
	must(t, err)
	w.quiet()
	if n := strings.Count(r.got()[3].header.Get("webhook-signature"), "v1,"); n != 2 {
		t.Errorf("%d signatures with two secrets", n)
	}
	// The example of the specification.
	got := sign([]string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("signed %s, want %s", got, want)
	}
}

func TestSelector(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.database("db", true)
	r := newReceiver(t)
	w.subscribe(d.Whole(), "s", r, `,"selector":{"type":"order","total":{"$gt":10}},"batch":{"rows":2}`)
	for i := range 2500 {
		w.put(d, fmt.Sprintf("p:%d", i%7), fmt.Sprintf(`{"n":%d}`, i))
	}
	w.put(d, "p:x", `{"type":"order","total":11}`)
	w.put(d, "p:y", `{"type":"order","total":9}`)
	w.tells(r, "p:x")
	w.put(d, "p:x", "")
	w.put(d, "p:z", `{"type":"order","total":12}`)
	w.tells(r, "p:x, p:z")
	w.restart()
	w.tells(r, "p:x, p:z")
}

// TestFailures walks one subscription through every kind of failure.
func TestFailures(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.database("db", false)
	r := newReceiver(t)
	w.subscribe(d.Whole(), "s", r, `,"attempts":4`)
	r.says(500, 301, 404, 200)
	w.put(d, "a", `{}`)
	for i := range 3 {
		w.quiet()
		at, err := time.Parse(time.RFC3339Nano, *w.state(d.Whole(), "s").State.RetryAt)
		must(t, err)
		if got, most := at.Sub(w.clock.Now()), time.Second<<i; got < most/2 || got > most {
			t.Errorf("pause %d is %s, want between %s and %s", i, got, most/2, most)
		}
		w.clock.advance(4 * time.Second)
	}
	w.tells(r, "(a), (a), (a), a")
	r.answers(func(_ *message, w http.ResponseWriter) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(429)
	})
	w.put(d, "b", `{}`)
	w.quiet()
	for range 10 {
		w.clock.advance(119 * time.Second)
		w.quiet()
		w.clock.advance(time.Second)
		w.quiet()
	}
	if n, v := len(r.got()), w.state(d.Whole(), "s").State; n != 4+11 || v.Attempts != 0 || v.Dead != 0 || v.Status != "failing" || *v.LastError != "The receiver answered 429." {
		t.Errorf("%d messages; %+v", n, v)
	}
	r.says(410)
	w.clock.advance(24 * time.Hour)
	w.quiet()
	w.put(d, "c", `{}`)
	w.clock.advance(24 * time.Hour)
	w.quiet()
	if n, v := len(r.got()), w.state(d.Whole(), "s").State; n != 16 || v.Status != "disabled" || *v.Reason != "The receiver answered 410." || v.Pending != 2 {
		t.Errorf("%d messages; %+v", n, v)
	}
	r.says(200)
	w.subscribe(d.Whole(), "s", r, `,"paused":true`)
	w.quiet()
	if v := w.state(d.Whole(), "s").State; v.Status != "paused" {
		t.Errorf("%+v", v)
	}
	w.subscribe(d.Whole(), "s", r, "")
	w.quiet()
	if got := r.got(); got[len(got)-1].ids() != "b c" || w.state(d.Whole(), "s").State.Status != "active" {
		t.Errorf("after it goes on: %s", w.told(r))
	}
}

// letters returns a subscription's dead letters as "number:ids".
func (w *world) letters(s store.Scope, id string) string {
	w.t.Helper()
	numbers, err := w.numbers(ctx, s, id)
	must(w.t, err)
	var all []string
	for _, n := range numbers {
		l, err := w.letter(ctx, s, id, n)
		must(w.t, err)
		text := fmt.Sprintf("%d:", n)
		for _, row := range l.Rows {
			text += " " + string(row.ID)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func TestDeadLetters(t *testing.T) {
	w := newWorld(t, Options{Bounds: func() Bounds { return Bounds{Workers: 4, Scope: 3, Dead: 2} }})
	d := w.database("db", true)
	s := d.Within("p")
	r := newReceiver(t)
	r.says(500)
	w.subscribe(s, "s", r, `,"attempts":2,"batch":{"rows":2}`)
	for _, id := range []string{"p:a", "p:b", "p:c", "p:d", "p:e", "p:f"} {
		w.put(d, id, `{}`)
	}
	for range 20 {
		w.quiet()
		w.clock.advance(time.Hour)
	}
	w.quiet()
	// What the batches hold depends on when the first one was read.
	before := w.letters(s, "s")
	v := w.state(s, "s").State
	if v.Status != "blocked" || v.Dead != 2 || v.Pending == 0 {
		t.Fatalf("%+v, %s", v, before)
	}
	r.says(200)
	n, err := w.Retry(ctx, s, "s", []uint64{1, 99})
	if err != nil || n != 1 {
		t.Errorf("Retry: %d, %v", n, err)
	}
	w.quiet()
	if got := w.letters(s, "s"); !strings.HasSuffix(before, got) || strings.Contains(got, "1:") {
		t.Errorf("left are %q of %q", got, before)
	}
	if v := w.state(s, "s").State; v.Status != "active" || v.Pending != 0 || v.Dead != 1 {
		t.Errorf("%+v", v)
	}
	// One that fails again stays, one whose documents are forgotten goes.
	r.says(500, 200)
	_, err = w.Retry(ctx, s, "s", nil)
	must(t, err)
	w.quiet()
	l, err := w.letter(ctx, s, "s", 2)
	if err != nil || l.Attempts != 3 || l.Last == l.First {
		t.Errorf("%+v, %v", l, err)
	}
	var ps []store.Purging
	must(t, s.View(ctx, func(rd *store.Reader) error {
		for _, row := range l.Rows {
			doc, err := rd.Doc(row.ID)
			must(t, err)
			ps = append(ps, store.Purging{ID: row.ID, Revs: []document.Rev{doc.Tree.Winner().Rev}})
		}
		return nil
	}))
	_, err = d.Purge(ctx, ps)
	must(t, err)
	_, err = w.Retry(ctx, s, "s", nil)
	must(t, err)
	w.quiet()
	if v := w.state(s, "s").State; v.Dead != 0 || v.Retrying != 0 {
		t.Errorf("%+v", v)
	}
	if n, err := w.DiscardDeadLetters(ctx, s, "s", nil); n != 0 || err != nil {
		t.Errorf("Forget: %d, %v", n, err)
	}
	if _, err := w.Retry(ctx, d.Whole(), "s", nil); !dberr.Is(err, dberr.NotFound) {
		t.Errorf("Retry at another endpoint: %v", err)
	}
}

// TestCrashBeforeTheCheckpoint takes the power away when the receiver has a
// message and the server does not know it yet.
func TestCrashBeforeTheCheckpoint(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.database("db", false)
	r := newReceiver(t)
	w.subscribe(d.Whole(), "s", r, "")
	w.put(d, "a", `{}`)
	w.tells(r, "a")
	var once sync.Once
	r.answers(func(*message, http.ResponseWriter) {
		once.Do(func() { w.fs = w.fs.CrashClone(vfsCrash) })
	})
	w.put(d, "b", `{}`)
	w.tells(r, "a, b")
	w.restart() // over the clone
	w.tells(r, "a, b, b")
	if m := r.got(); m[1].header.Get("webhook-id") != m[2].header.Get("webhook-id") {
		t.Error("a receiver can't tell that it has had this")
	}
	w.put(w.again("db"), "c", `{}`)
	w.tells(r, "a, b, b, c")
}

// TestNothingIsLost writes, fails, restarts, changes and drops at random. In
// the end the last change of each document has been taken or lies among the
// dead letters, and what was taken came in order.
func TestNothingIsLost(t *testing.T) {
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 7))
		w := newWorld(t, Options{Bounds: func() Bounds { return Bounds{Workers: 3, Scope: 9, Dead: 1000} }})
		if seed%3 == 2 { // deliveries go on while the test does what it does
			w.live = true
			w.running.Go(w.work)
		}
		r := newReceiver(t)
		moods := rand.New(rand.NewPCG(seed, 8))
		r.answers(func(_ *message, w http.ResponseWriter) {
			w.WriteHeader([]int{200, 200, 200, 500, 503, 429, 302}[moods.IntN(7)])
		})
		d := w.database("db", true)
		scope := func() store.Scope { return []store.Scope{d.Whole(), d.Within("p")}[seed%2] }
		w.subscribe(scope(), "s", r, `,"attempts":2,"batch":{"rows":3}`)
		revs := map[string]string{}
		for range 150 {
			switch random.IntN(12) {
			case 0:
				w.restart()
				d = w.again("db")
			case 1:
				w.clock.advance(time.Hour)
			case 2:
				_, err := w.Retry(ctx, scope(), "s", nil)
				must(t, err)
			case 3:
				w.subscribe(scope(), "s", r, `,"attempts":2,"batch":{"rows":2}`)
			default:
				id := fmt.Sprintf("p:%d", random.IntN(20))
				revs[id] = w.put(d, id, fmt.Sprintf(`{"n":%d}`, random.IntN(1000))).String()
			}
		}
		w.until("the end of the feed", func() bool {
			w.quiet()
			w.clock.advance(2 * time.Hour)
			return w.state(scope(), "s").State.Pending == 0
		})
		w.quiet()
		w.holds(r, scope(), revs)
		w.Service.Close()
	}
}

// holds looks for the last revisions among what was taken and the dead letters.
func (w *world) holds(r *receiver, s store.Scope, revs map[string]string) {
	w.t.Helper()
	taken, dead := map[string]string{}, w.letters(s, "s")+" "
	for _, m := range r.got() {
		last := 0
		for _, row := range m.body.Results {
			var seq int
			fmt.Sscanf(row.Seq, "%d-", &seq)
			if seq <= last && m.body.Dead == 0 {
				w.t.Errorf("out of order: %s", m.raw)
			}
			last = seq
			if m.status == 200 {
				taken[row.ID] = row.Changes[0].Rev
			}
		}
	}
	for id, rev := range revs {
		if taken[id] != rev && !strings.Contains(dead, " "+id+" ") && !strings.Contains(dead, " "+id+",") {
			w.t.Errorf("%s at %s was not delivered: taken %s, dead %s", id, rev, taken[id], dead)
		}
	}
}

// TestManyWait has thousands of subscriptions wait: they cost no goroutines, and
// a write wakes those concerned alone.
func TestManyWait(t *testing.T) {
	const many = 3000
	w := newWorld(t, Options{})
	d := w.database("db", true)
	r := newReceiver(t)
	before := runtime.NumGoroutine()
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := worker; i < many; i += 8 {
				w.subscribe(d.Within(partition(i)), "s", r, "")
			}
		})
	}
	all.Wait()
	w.quiet()
	if n := runtime.NumGoroutine() - before; n > 100 {
		t.Errorf("%d goroutines for %d subscriptions", n, many)
	}
	w.put(d, "p17:x", `{}`)
	w.tells(r, "p17:x")
	w.put(d, "p2999:x", `{}`)
	w.tells(r, "p17:x, p2999:x")
}

// TestDropped drops what subscriptions follow.
func TestDropped(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.database("db", true)
	r := newReceiver(t)
	r.says(500)
	for _, p := range []string{"p", "q"} {
		w.put(d, p+":a", `{}`)
		w.subscribe(d.Within(partitionOf(p)), "s", r, `,"since":0,"attempts":1`)
	}
	w.quiet()
	must(t, d.DropPartition(ctx, "p", false))
	if _, err := w.Get(ctx, d.Within("p"), "s"); !dberr.Is(err, dberr.NotFound) {
		t.Errorf("of a partition being dropped: %v", err)
	}
	if _, err := w.Put(ctx, d.Within("p"), "s", []byte(`{"url":"http://127.0.0.1","secret":"`+secret+`"}`)); !dberr.Is(err, dberr.Conflict) {
		t.Errorf("into a partition being dropped: %v", err)
	}
	must(t, w.store.Sweep(ctx))
	must(t, w.store.Check(ctx))
	if got := w.letters(d.Within("q"), "s"); got != "1: q:a" {
		t.Errorf("the neighbour has %q", got)
	}
	if _, err := w.numbers(ctx, d.Within("p"), "s"); !dberr.Is(err, dberr.NotFound) {
		t.Errorf("after the drop: %v", err)
	}
	r.says(200)
	w.put(d, "p:b", `{}`)
	w.subscribe(d.Within("p"), "s", r, `,"since":0`)
	w.quiet()
	if v := w.state(d.Within("p"), "s").State; v.Delivered != 1 || v.Dead != 0 {
		t.Errorf("a new one of that name: %+v", v)
	}
	must(t, w.store.Drop(ctx, "db"))
	w.quiet()
	w.clock.advance(24 * time.Hour) // nobody can see the rows of the database any more
	must(t, w.store.Sweep(ctx))
	for _, kind := range (Rows{}).Kinds() {
		must(t, w.store.Jobs(ctx, kind, func(j jobs.Job) error { return fmt.Errorf("left: %+v", j) }))
	}
}

// TestHangingReceivers lets more receivers hang than there are workers for
// them: the others are served.
func TestHangingReceivers(t *testing.T) {
	w := newWorld(t, Options{Bounds: func() Bounds { return Bounds{Workers: 4, Scope: 100, Dead: 9} }})
	d := w.database("db", true)
	bad, good := newReceiver(t), newReceiver(t)
	bad.says(500)
	for i := range 8 {
		w.subscribe(d.Within(partition(i)), "s", bad, "")
		w.put(d, fmt.Sprintf("p%d:x", i), `{}`)
	}
	w.quiet() // all of them have failed once
	release := make(chan bool)
	bad.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })
	w.clock.advance(time.Minute)
	w.live = true
	w.running.Go(w.work)
	w.subscribe(d.Within("p9"), "s", good, "")
	w.put(d, "p9:x", `{}`)
	w.until("the good one is served", func() bool { return len(good.got()) == 1 })
	close(release)
	w.until("all are served", func() bool { return w.due() == 0 })
}
