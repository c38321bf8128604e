package subscribe

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/crashfs"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

var ctx = context.Background()

// testTimeout is how long a test waits for what must come.
const testTimeout = 5 * time.Minute

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// clock is a time that stands still until somebody moves it.
type clock struct {
	sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.Lock()
	defer c.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.Lock()
	defer c.Unlock()
	c.now = c.now.Add(d)
}

// world is a service over a real store in memory, whose jobs the test does, or the
// background if it is live.
type world struct {
	*Service
	t     testing.TB
	fs    *crashfs.FS
	e     *pebblekv.Engine
	store *store.Store
	clock *clock
	live  bool
	log   strings.Builder
	o     Options
}

func newWorld(t testing.TB, o Options) *world {
	t.Helper()
	w := &world{t: t, fs: crashfs.New(), o: o,
		clock: &clock{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}}
	w.open()
	t.Cleanup(w.close)
	return w
}

// open begins, or goes on with what the disk has.
func (w *world) open() {
	w.t.Helper()
	var err error
	w.e, err = pebblekv.Open(pebblekv.Options{Dir: "data", FS: w.fs, CacheBytes: 8 << 20})
	must(w.t, err)
	w.store, err = store.Open(ctx, kvtest.NewShortLocks(w.t, w.e, keyspace.IsLaneHead), store.Options{Idle: true, Clock: w.clock.Now, Followers: []store.Follower{Rows{}}})
	must(w.t, err)
	o := w.o
	o.Store, o.Now, o.Version, o.Idle = w.store, w.clock.Now, "test", true
	if o.AllowPrivate == nil {
		o.AllowPrivate = func() bool { return true }
	}
	o.Logger = slog.New(slog.NewTextHandler(&locked{to: &w.log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.Service = New(o)
	w.makeQueues()
	if w.live {
		w.running.Go(w.work)
	}
}

type locked struct {
	sync.Mutex
	to io.Writer
}

func (l *locked) Write(b []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.to.Write(b)
}

func (w *world) close() {
	w.Service.Close()
	if err := w.store.Check(ctx); err != nil {
		w.t.Errorf("the store is not sound: %v", err)
	}
	must(w.t, w.store.Close())
	must(w.t, w.e.Close())
}

func (w *world) restart() {
	w.t.Helper()
	w.close()
	w.open()
}

func (w *world) database(name string, partitioned bool) *store.Database {
	w.t.Helper()
	d, err := w.store.Create(ctx, name, store.Creation{Partitioned: partitioned, Security: []byte("{}")})
	must(w.t, err)
	return d
}

// again returns a database after a restart.
func (w *world) again(name string) *store.Database {
	w.t.Helper()
	d, err := w.store.Database(ctx, name)
	must(w.t, err)
	return d
}

// put writes a document over what it is, a tombstone for a body of "".
func (w *world) put(d *store.Database, id, body string) document.Rev {
	w.t.Helper()
	e := document.Edit{ID: document.ID(id), Body: []byte(body)}
	if body == "" {
		e.Deleted, e.Body = true, []byte("{}")
	}
	must(w.t, d.Whole().View(ctx, func(r *store.Reader) error {
		if doc, err := r.Doc(e.ID); err == nil && !doc.Tree.Winner().Deleted {
			e.Parent = doc.Tree.Winner().Rev
		}
		return nil
	}))
	rs, err := d.Whole().Write(ctx, []document.Edit{e}, store.WriteOptions{})
	must(w.t, err)
	must(w.t, rs[0].Err)
	return rs[0].Rev
}

const secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"

// subscribe makes a subscription; more are further members.
func (w *world) subscribe(s store.Scope, id string, to *receiver, more string) {
	w.t.Helper()
	_, err := w.Put(ctx, s, id, []byte(`{"url":"`+to.URL+`/hook","secret":"`+secret+`"`+more+`}`))
	must(w.t, err)
}

// state returns a subscription as clients see it.
func (w *world) state(s store.Scope, id string) (v shown) {
	w.t.Helper()
	raw, err := w.Get(ctx, s, id)
	must(w.t, err)
	must(w.t, json.Unmarshal(raw, &v))
	return v
}

// due counts the jobs of subscriptions that are due.
func (w *world) due() (n int) {
	w.t.Helper()
	for _, kind := range (Rows{}).Kinds() {
		must(w.t, w.store.Jobs(ctx, kind, func(j jobs.Job) error {
			if !j.Due.After(w.clock.Now()) {
				n++
			}
			return nil
		}))
	}
	return n
}

// quiet has everything done that is due.
func (w *world) quiet() {
	w.t.Helper()
	for rounds := 0; w.due() > 0; rounds++ {
		if rounds == 1000 {
			w.t.Fatal("it does not come to rest")
		}
		for _, q := range w.queues {
			must(w.t, q.Drain(ctx))
		}
	}
}

func (w *world) until(what string, fn func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(testTimeout); !fn(); runtime.Gosched() {
		if time.Now().After(deadline) {
			w.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// message is what a receiver got.
type message struct {
	header http.Header
	raw    string
	status int // the answer
	body   struct {
		Type, Subscription, Database, Partition string
		Dead                                    uint64 `json:"dead_letter"`
		LastSeq                                 string `json:"last_seq"`
		Pending                                 int
		Results                                 []struct {
			Seq     string
			ID      string
			Changes []struct{ Rev string }
			Deleted bool
			Doc     json.RawMessage
		}
	}
}

// ids returns a message's documents, with "!" for deleted ones.
func (m *message) ids() string {
	var ids []string
	for _, row := range m.body.Results {
		if row.Deleted {
			row.ID += "!"
		}
		ids = append(ids, row.ID)
	}
	return strings.Join(ids, " ")
}

// receiver is somebody who is told; answer says what it says.
type receiver struct {
	*httptest.Server
	t  testing.TB
	in struct {
		sync.Mutex
		got    []*message
		answer func(m *message, w http.ResponseWriter)
	}
}

func newReceiver(t testing.TB) *receiver {
	r := &receiver{t: t}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// answers sets what the receiver answers from now on.
func (r *receiver) answers(fn func(m *message, w http.ResponseWriter)) {
	r.in.Lock()
	defer r.in.Unlock()
	r.in.answer = fn
}

// says answers with statuses in turn, the last one for ever.
func (r *receiver) says(statuses ...int) {
	r.answers(func(_ *message, w http.ResponseWriter) {
		w.WriteHeader(statuses[0])
		if len(statuses) > 1 {
			statuses = statuses[1:]
		}
	})
}

// ServeHTTP takes a message.
func (r *receiver) ServeHTTP(w http.ResponseWriter, h *http.Request) {
	raw, err := io.ReadAll(h.Body)
	if err != nil {
		return // the sender went away
	}
	m := &message{header: h.Header, raw: string(raw)}
	if err := json.Unmarshal(raw, &m.body); err != nil {
		r.t.Errorf("no JSON: %s", raw)
	}
	kept := &statusWriter{ResponseWriter: w, status: 200}
	r.in.Lock()
	defer r.in.Unlock()
	if r.in.answer != nil {
		r.in.answer(m, kept)
	}
	m.status = kept.status
	r.in.got = append(r.in.got, m)
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// got returns the messages so far.
func (r *receiver) got() []*message {
	r.in.Lock()
	defer r.in.Unlock()
	return slices.Clone(r.in.got)
}

// told waits until nothing is under way and returns the documents of the messages
// so far, those refused in brackets.
func (w *world) told(r *receiver) string {
	w.t.Helper()
	w.quiet()
	var all []string
	for _, m := range r.got() {
		if m.status >= 300 {
			all = append(all, "("+m.ids()+")")
		} else {
			all = append(all, m.ids())
		}
	}
	return strings.Join(all, ", ")
}
