package servers

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/pgtest"
	"github.com/sectional/sectional/internal/testkit/process"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// answerWithin is how long the clients wait for an answer; who gives up does not know what became of the request.
const answerWithin = 3 * time.Second

// load is clients that write through a balancer until they are stopped.
type load struct {
	t       *testing.T
	s       *Servers
	ctx     context.Context
	stop    context.CancelFunc
	work    sync.WaitGroup
	steps   []atomic.Int64 // of each writer, those that brought an answer
	writers []writer
}

// write begins a load: each writer is several clients.
func write(t *testing.T, s *Servers, writers ...writer) *load {
	ctx, stop := context.WithCancel(t.Context())
	l := &load{t: t, s: s, ctx: ctx, stop: stop, writers: writers, steps: make([]atomic.Int64, len(writers))}
	for i, w := range writers {
		for client := range 2 {
			c := ask(s.Base)
			c.http.Timeout = answerWithin
			l.work.Go(func() {
				for n := 1; ctx.Err() == nil; n++ {
					if w.step(c, 2*i+client+1, n) {
						l.steps[i].Add(1)
					}
				}
			})
		}
	}
	t.Cleanup(func() { stop(); l.work.Wait() })
	return l
}

// some waits until each writer has made so many more steps that brought an answer.
func (l *load) some(n int64, when string) {
	l.t.Helper()
	var goal []int64
	for i := range l.steps {
		goal = append(goal, l.steps[i].Load()+n)
	}
	for i := range l.steps {
		took := process.Within(l.t, patience, fmt.Sprintf("%s: %T goes on", when, l.writers[i]), func() bool { return l.steps[i].Load() >= goal[i] })
		if took > time.Second {
			l.t.Logf("%s: %d steps of %T took %s", when, n, l.writers[i], took.Round(time.Millisecond))
		}
	}
}

// verify stops the load and has each writer say what does not hold.
func (l *load) verify() {
	l.t.Helper()
	l.stop()
	l.work.Wait()
	c := ask(l.s.Server(2).Base)
	for _, w := range l.writers {
		n := 0
		// What nobody was told of is seen by a last step.
		process.Within(l.t, patience, fmt.Sprintf("a last step of %T", w), func() bool { n++; return w.step(c, lastClient, n) })
		w.verify(l.t, c)
	}
}

// lastClient is the number of the client that looks last.
const lastClient = 99

// TestFaults has clients write through three servers while one is killed and comes back, or two at once, one stands still for longer
// than it is taken to live and goes on, one is cut off from PostgreSQL or from all, PostgreSQL crashes, and its standby
// takes its place. What was acknowledged is there, what was refused is not, and all looks as if it had happened at one
// place.
func TestFaults(t *testing.T) {
	pgtest.Need(t)
	n := connect(t, 3)
	o, p := Options{Dynamo: "127.0.0.1:0"}, &postgreses{}
	if n != nil {
		o.Place = n.place
	}
	p.start(t, n)
	o.Postgres = p.url
	s := over(t, o)
	c := ask(s.Base)
	c.must(t, 201, "PUT", "/ordinary", "", nil)
	c.must(t, 201, "PUT", "/divided?partitioned=true", "", nil)
	feed := follow(t, s.Server(2).Base, "/divided")
	made := &creations{outcomes: outcomes{told: map[string]outcome{}}}
	l := write(t, s,
		&single{path: "/ordinary/a"}, &single{path: "/divided/p:a"}, &batches{partition: "q"},
		&counters{outcomes: outcomes{told: map[string]outcome{}}}, made, newRights(t, c), newTransactions(t, c, newSigner(t, c, s.Dynamo.Base)))
	began := time.Now()
	for round := 0; round == 0 || testrun.IsLong() && time.Since(began) < longFor; round++ {
		l.some(20, "at first")
		killed(l, round)
		paused(l)
		if n != nil {
			cutOff(l, n, round)
		}
		crashed(l, p.primary)
		p.promote(l)
		t.Logf("round %d ended after %s", round, time.Since(began).Round(time.Second))
	}
	l.verify()
	feed.verify(made)
	checked(t, s, p.url)
}

// longFor is how long a long run goes on.
const longFor = 5 * time.Minute

// postgreses are PostgreSQL and its synchronous standby.
type postgreses struct {
	primary, standby *pgtest.Cluster
	url              string // of the one that takes writes
}

// start starts them for the length of a test.
func (p *postgreses) start(t *testing.T, n *network) {
	t.Helper()
	var first, second pgtest.Options
	address := ""
	if n != nil {
		address = n.postgres()
		first.Addresses, second.Addresses, second.Port = []string{address}, []string{address}, 5433
	}
	p.primary = own(t, first)
	var err error
	if p.standby, err = p.primary.Standby(second); err != nil {
		t.Fatal(err)
	}
	standby := p.standby
	t.Cleanup(func() {
		if err := standby.Stop(); err != nil {
			t.Error(err)
		}
	})
	p.url = pgtest.URLOf(address, p.primary, p.standby)
}

// promote has the primary crash and its standby take its place, and then makes the old primary the new one's standby.
func (p *postgreses) promote(l *load) {
	l.t.Helper()
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"the primary is gone", func() error { return p.primary.Halt(syscall.SIGQUIT) }},
		{"the standby is promoted", func() error { return p.standby.Promote(l.ctx) }},
		{"the old primary follows", func() error { return p.primary.Follow(p.standby) }},
	} {
		if err := step.do(); err != nil {
			l.t.Fatalf("%s: %v", step.what, err)
		}
		if step.what != "the primary is gone" {
			l.some(20, step.what)
		}
	}
	p.primary, p.standby = p.standby, p.primary
}

// checked stops the servers and has everything read and recounted.
func checked(t *testing.T, s *Servers, url string) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	check := exec.CommandContext(t.Context(), process.Binary(), "check", "--engine", "postgres", "--postgres", url)
	check.Env = append(os.Environ(), "SECTIONAL_TEST_FSYNC_OFF=1")
	if out, err := check.CombinedOutput(); err != nil || !strings.Contains(string(out), "is sound") {
		t.Errorf("%v: %s", err, out)
	}
}

// killed kills servers in the midst, and starts them again: one, and in every other round two of the three at once.
func killed(l *load, round int) {
	l.t.Helper()
	victims := 1 + round%2
	for i := range victims {
		if err := l.s.Server(i).Kill(); err != nil {
			l.t.Fatal(err)
		}
	}
	l.some(20, fmt.Sprintf("killed: %d", victims))
	for i := range victims {
		if err := l.s.Restart(l.t.Context(), i); err != nil {
			l.t.Fatal(err)
		}
	}
	l.some(20, "they are back")
}

// paused has a server stand still until the others take it for dead.
func paused(l *load) {
	l.t.Helper()
	if err := l.s.Pause(1); err != nil {
		l.t.Fatal(err)
	}
	// Nobody waits for a server that goes on when the test has failed.
	defer func() {
		if err := l.s.Continue(1); err != nil {
			l.t.Error(err)
		}
		l.some(20, "it goes on")
	}()
	l.some(20, "one stands still")
	process.Within(l.t, patience, "it is taken for dead", func() bool {
		var m membership
		ask(l.s.Server(2).Base).must(l.t, 200, "GET", "/_membership", "", &m)
		return len(m.Living) == 2
	})
}

// cutOff has servers be where nobody answers them: one hears nothing of PostgreSQL, which hears it; of one PostgreSQL
// hears nothing; one is cut off from all.
func cutOff(l *load, n *network, round int) {
	l.t.Helper()
	type lost struct {
		link
		to, from bool
	}
	for _, cut := range []struct {
		what   string
		losses []lost
	}{
		{"a server does not hear PostgreSQL", []lost{{toPostgres, true, false}}},
		{"PostgreSQL does not hear a server", []lost{{toPostgres, false, true}}},
		{"a server is cut off", []lost{{toPostgres, true, true}, {toClients, true, true}}},
	} {
		if !testrun.IsLong() && len(cut.losses) == 1 && !cut.losses[0].to {
			continue // the short run has the two others
		}
		victim := round % 2
		for _, lost := range cut.losses {
			n.cut(victim, lost.link, lost.to, lost.from)
		}
		process.Within(l.t, patience, cut.what+": the balancer notices", func() bool { return !l.s.Up(victim) })
		l.some(20, cut.what)
		for _, lost := range cut.losses {
			n.mend(victim, lost.link, lost.to, lost.from)
		}
		process.Within(l.t, patience, cut.what+": it is back", func() bool { return l.s.Up(victim) })
		l.some(20, cut.what+": it is back")
	}
}

// crashed has PostgreSQL crash, twice.
func crashed(l *load, cluster *pgtest.Cluster) {
	l.t.Helper()
	for range 2 {
		if err := cluster.Restart(syscall.SIGQUIT); err != nil {
			l.t.Fatal(err)
		}
		l.some(20, "PostgreSQL crashed")
	}
}

// rights gives a user the right to read databases and takes it away. Each client has a database of its own, and another
// one after a request without an answer, which may be carried out later.
type rights struct {
	claims
	made sync.Map // client → how many databases it has used
	n    atomic.Int64
}

func newRights(t *testing.T, c *client) *rights {
	t.Helper()
	c.must(t, 201, "PUT", "/_users/org.couchdb.user:eva", `{"name":"eva","password":"secret","roles":[],"type":"user"}`, nil)
	return &rights{}
}

func (w *rights) step(c *client, client, _ int) (answered bool) {
	old, _ := w.made.LoadOrStore(client, 0)
	db := fmt.Sprintf("/rights%d-%d", client, old)
	give := func(members string) bool {
		a, err := c.do("PUT", db+"/_security", `{"members":{"names":["`+members+`"]}}`)
		if out := sort(a, err); out != done {
			w.look("_security", a, out, 404)
			w.made.Store(client, old.(int)+1)
			return false
		}
		return true
	}
	a, err := c.do("PUT", db, "")
	if out := sort(a, err); out == unknown || out == failed {
		w.made.Store(client, old.(int)+1)
		return false
	}
	for _, may := range []bool{true, false} {
		name, want := "eva", 200
		if !may {
			name, want = "nobody", 403
		}
		if !give(name) {
			return false
		}
		for range 3 {
			a, err := c.as("eva", "secret").do("GET", db+"/_all_docs", "")
			if out := sort(a, err); (out == done || out == refused) && a.status != want {
				w.mu.Lock()
				w.wrong = append(w.wrong, fmt.Sprintf("%s after %q was told that it counts: %d %s", db, name, a.status, a.body))
				w.mu.Unlock()
			}
			w.n.Add(1)
		}
	}
	return true
}

func (w *rights) verify(t *testing.T, _ *client) {
	w.report(t)
	if t.Logf("%d looks at rights", w.n.Load()); w.n.Load() < 20 {
		t.Error("hardly any looks at rights")
	}
}

// live is a feed that is read for as long as the test runs.
type live struct {
	t    *testing.T
	mu   sync.Mutex
	last string
	rows []row
}

// follow reads a continuous feed, again from where it was whenever it ends.
func follow(t *testing.T, base, db string) *live {
	f := &live{t: t, last: "0"}
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	c := ask(base)
	c.http.Timeout = 0
	work.Go(func() {
		for ctx.Err() == nil {
			f.read(ctx, c, db)
		}
	})
	t.Cleanup(func() { stop(); work.Wait() })
	return f
}

// read reads one answer of a feed up to its end, or to the line in which it is cut.
func (f *live) read(ctx context.Context, c *client, db string) {
	f.mu.Lock()
	since := f.last
	f.mu.Unlock()
	r, err := http.NewRequestWithContext(ctx, "GET", c.base+db+"/_changes?feed=continuous&heartbeat=1000&since="+since, nil)
	if err != nil {
		return
	}
	r.SetBasicAuth(c.user, c.password)
	w, err := c.http.Do(r)
	if err != nil {
		return
	}
	defer w.Body.Close()
	for lines := bufio.NewScanner(w.Body); lines.Scan(); {
		var line row
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.ID == "" {
			continue
		}
		f.mu.Lock()
		f.rows, f.last = append(f.rows, line), line.Seq
		f.mu.Unlock()
	}
}

// verify holds the feed to ascending, and to having each new document that was acknowledged.
func (f *live) verify(made *creations) {
	f.t.Helper()
	missing := func() (ids []string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		seen := map[string]bool{}
		for _, r := range f.rows {
			seen[r.ID] = true
		}
		for id, out := range made.told {
			if out == done && !seen[id] {
				ids = append(ids, id)
			}
		}
		return ids
	}
	process.Within(f.t, patience, "the live feed has all that was acknowledged", func() bool { return len(missing()) == 0 })
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.IsSortedFunc(f.rows, func(a, b row) int { return int(a.number() - b.number()) }) {
		f.t.Error("the live feed goes back")
	}
	seqs := map[string]bool{}
	for _, r := range f.rows {
		if seqs[r.Seq] {
			f.t.Errorf("the live feed has %s twice", r.Seq)
		}
		seqs[r.Seq] = true
	}
}
