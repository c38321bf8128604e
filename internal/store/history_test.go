package store

import (
	"bytes"
	"context"
	"errors"
	stdflag "flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/testkit/enginetest"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/pgtest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

var histories = stdflag.Int("histories", 10, "how many random histories to run")

// TestHistories runs random histories on the store and on the model and
// compares everything that can be read. A history that fails is made shorter
// first: only what is needed to fail is printed.
func TestHistories(t *testing.T) {
	seeds := *histories
	switch {
	case testing.Short():
		seeds = min(seeds, 2)
	case testrun.IsLong():
		seeds *= 4
	}
	for _, engine := range []string{"pebble", "model", "shaky"} {
		for _, partitioned := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/partitioned=%v", engine, partitioned), func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(seeds) {
					history := makeHistory(seed, 70)
					if err := runHistory(t, engine, partitioned, seed, history); err != nil {
						history, err = shrink(history, err, func(ops []op) error {
							return runHistory(t, engine, partitioned, seed, ops)
						})
						t.Fatalf("seed %d:\n%s\n%v", seed, printOps(history), err)
					}
				}
			})
		}
	}
}

// TestHistoriesOfSeveral runs histories on two and three stores over one engine: each has
// memory of its own, and does the steps that it is dealt.
func TestHistoriesOfSeveral(t *testing.T) {
	seeds, first, length := max(1, *histories/5), uint64(0), 70
	engines := []string{"pebble*2", "model*3", "shaky*2"}
	if testing.Short() {
		engines, seeds, length = []string{"model*3"}, 1, 40
	}
	if overPostgres() {
		engines, seeds, length = []string{"postgres*2", "postgres*3"}, 1, 40
	}
	if testrun.IsLong() {
		seeds, first, length = 20, uint64(time.Now().UnixNano()), 120
	}
	for _, engine := range engines {
		for _, partitioned := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/partitioned=%v", engine, partitioned), func(t *testing.T) {
				t.Parallel()
				for seed := first; seed < first+uint64(seeds); seed++ {
					history := makeHistory(seed+1000, length)
					if err := runHistory(t, engine, partitioned, seed, history); err != nil {
						history, err = shrink(history, err, func(ops []op) error {
							return runHistory(t, engine, partitioned, seed, ops)
						})
						t.Fatalf("seed %d:\n%s\n%v", seed, printOps(history), err)
					}
				}
			})
		}
	}
}

// op is a step of a history. Its numbers choose among what is there when it
// runs, so that any steps may be left out.
type op struct {
	kind       string
	id         string
	a, b, c, d int
	edits      []op
}

func printOps(ops []op) string {
	var b strings.Builder
	for _, o := range ops {
		fmt.Fprintf(&b, "%s %q %d %d %d %d", o.kind, o.id, o.a, o.b, o.c, o.d)
		for _, e := range o.edits {
			fmt.Fprintf(&b, "; %s %q %d %d %d %d", e.kind, e.id, e.a, e.b, e.c, e.d)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// shrink leaves out steps as long as the history still fails.
func shrink(ops []op, failure error, run func([]op) error) ([]op, error) {
	for size := len(ops) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(ops); {
			shorter := slices.Concat(ops[:i], ops[i+size:])
			if err := run(shorter); err != nil {
				ops, failure = shorter, err
			} else {
				i += size
			}
		}
	}
	return ops, failure
}

var historyIDs = []string{"p:a", "p:b", "p:a\x00c", "q:a", "q:é", "r:a", "p0:a", "_design/d"}

// kinds of steps, each as often as it is named.
var opKinds = strings.Fields("edit edit edit edit edit edit replicate replicate replicate replicate extend extend " +
	"bulk bulk atomic transact attach attach big purge purge local local drop step step sweep advance limit compact reopen compare expiry expiry collect collect log")

func makeHistory(seed uint64, n int) []op {
	r := kvtest.NewRand(seed)
	ops := make([]op, n)
	for i := range ops {
		ops[i] = makeOp(r)
		if k := ops[i].kind; k == "bulk" || k == "atomic" || k == "transact" {
			for range 1 + r.IntN(4) {
				e := makeOp(r)
				e.kind = []string{"edit", "edit", "replicate"}[r.IntN(3)]
				switch k {
				case "atomic":
					e.kind, e.id = "edit", []string{"p:a", "p:b", "p:a\x00c"}[r.IntN(3)]
				case "transact":
					e.kind = "edit"
				}
				ops[i].edits = append(ops[i].edits, e)
			}
		}
	}
	return ops
}

func makeOp(r kvtest.Rand) op {
	return op{kind: opKinds[r.IntN(len(opKinds))], id: historyIDs[r.IntN(len(historyIDs))],
		a: r.IntN(100), b: r.IntN(100), c: r.IntN(100), d: r.IntN(100)}
}

// runner runs a history on both.
type runner struct {
	*world
	d   *Database
	m   *model
	e   *shaky
	r   kvtest.Rand
	o   Options
	log logModel

	other   *Database // which each transaction changes too
	counted int       // how many were carried out

	several []opened // all stores over the engine; each step is done by one of them
	at      int      // the one that world, d and other are of
}

// opened is one of several stores over an engine, with the databases that it has had open
// since it was: what it remembers of them may be out of date.
type opened struct {
	*world
	d, other *Database
}

// deal lets another store do the next step.
func (x *runner) deal() {
	now := x.now
	x.several[x.at] = opened{x.world, x.d, x.other}
	x.at = x.r.IntN(len(x.several))
	next := x.several[x.at]
	x.world, x.d, x.other = next.world, next.d, next.other
	x.now = now
}

// shaky is an engine whose transactions run again and lose their answers.
type shaky struct {
	kv.Engine
	faults *kvtest.Faults
}

func (e *shaky) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	return e.faults.Update(ctx, fn, locked...)
}

// overPostgres reports whether the environment names a PostgreSQL server.
func overPostgres() bool { return os.Getenv(pgtest.URLVariable) != "" }

func newShaky(t testing.TB, engine string) *shaky {
	var e kv.Engine = kvtest.NewModel(kvtest.ModelOptions{})
	switch name, _, _ := strings.Cut(engine, "*"); name {
	case "postgres":
		e = enginetest.Open(t)
	case "pebble":
		var err error
		if e, err = pebblekv.Open(pebblekv.Options{Dir: "db", FS: vfs.NewMem(), CacheBytes: 1 << 20, MemTableBytes: 1 << 20, Logger: quiet}); err != nil {
			t.Fatal(err)
		}
	}
	e = kvtest.NewChecked(t, e)
	return &shaky{Engine: e, faults: kvtest.NewFaults(e)}
}

// storesOf is how many stores do the steps over an engine of this name.
func storesOf(engine string) int {
	_, n, several := strings.Cut(engine, "*")
	if !several {
		return 1
	}
	return int(n[0] - '0')
}

func runHistory(t testing.TB, engine string, partitioned bool, seed uint64, ops []op) error {
	e := newShaky(t, engine)
	defer e.Close()
	x := &runner{m: newModel(partitioned), e: e, r: kvtest.NewRand(seed), several: make([]opened, storesOf(engine))}
	if seed%2 == 1 || engine == "postgres*3" { // bodies, local documents and more lie in pieces
		x.o.LongestRow = 20
	}
	if err := x.open(t, partitioned); err != nil {
		return err
	}
	defer func() {
		for x.at = range x.several {
			x.several[x.at].Close()
		}
	}()
	for i, o := range ops {
		x.deal()
		if strings.HasPrefix(engine, "shaky") {
			e.faults.Randomly(seed<<16+uint64(i), kvtest.Rates{kvtest.Rerun: 15, kvtest.LostCommit: 10, kvtest.LostAnswer: 10})
		}
		err := x.step(o)
		x.several[x.at] = opened{x.world, x.d, x.other}
		e.faults.Randomly(0, nil)
		if err == nil {
			err = x.followLog()
		}
		if err != nil {
			return fmt.Errorf("step %d, %s: %w", i, o.kind, err)
		}
	}
	return errors.Join(x.compare(), x.compareCount())
}

func (x *runner) step(o op) error {
	switch o.kind {
	case "bulk":
		return x.write(oneByOne, o.edits...)
	case "atomic":
		return x.write(inBatch, o.edits...)
	case "transact":
		return x.write(overDatabases, o.edits...)
	case "purge":
		return x.purge(o)
	case "local":
		return x.local(o)
	case "drop":
		return x.drop(o)
	case "step":
		return x.dropStep()
	case "sweep", "advance":
		if o.kind == "advance" {
			x.now = x.now.Add(time.Duration(o.a) * time.Minute)
		}
		return x.swept()
	case "expiry":
		return x.expiry(o)
	case "collect":
		return x.collect()
	case "log":
		return x.switchLog(o)
	case "limit":
		x.m.revsLimit = 1 + o.a%5 + o.b%2*60
		return x.d.SetRevsLimit(ctx, x.m.revsLimit)
	case "compact":
		return x.d.Compact(ctx)
	case "reopen":
		return x.reopen()
	case "compare":
		return x.compare()
	}
	return x.write(oneByOne, o)
}

// open opens the stores, of which the first makes the databases.
func (x *runner) open(t testing.TB, partitioned bool) (err error) {
	for i := range x.several {
		x.at = i
		if x.world = x.serve(t); i == 0 {
			x.create("db", partitioned)
			x.create("other", false)
		}
		if x.d, err = x.Database(ctx, "db"); err != nil {
			return err
		}
		if x.other, err = x.Database(ctx, "other"); err != nil {
			return err
		}
		x.several[i] = opened{x.world, x.d, x.other}
	}
	return nil
}

// apart is by how much the clocks of several stores' machines are wrong, which they do not
// notice: they go by the engine's.
var apart = []time.Duration{-20 * time.Minute, 0, 3 * time.Hour}

// serve opens the store whose turn it is.
func (x *runner) serve(t testing.TB) *world {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	if x.world != nil {
		now = x.now
	}
	if len(x.several) == 1 {
		return openWrong(t, x.e, x.o, now, 0)
	}
	// No lease: whoever is at a job stops between two steps.
	shared := kvtest.NewSharing(x.e, false)
	shared.Clock(func() time.Time {
		if x.world == nil {
			return now
		}
		return x.now
	})
	return openWrong(t, shared.Engine(), x.o, now, apart[x.at])
}

func (x *runner) reopen() (err error) {
	x.e.faults.Randomly(0, nil)
	x.Close()
	x.world = x.serve(x.t)
	x.d, err = x.Database(ctx, "db")
	if err == nil {
		x.other, err = x.Database(ctx, "other")
	}
	return err
}

// grouping is how edits of a step belong together.
type grouping int

const (
	oneByOne      grouping = iota
	inBatch                // an atomic batch
	overDatabases          // a transaction, which changes another database too
)

// send writes edits to the database.
func (x *runner) send(how grouping, edits []document.Edit) ([]Result, error) {
	if how != overDatabases {
		return x.d.Whole().Write(ctx, edits, WriteOptions{Atomic: how == inBatch})
	}
	count := document.Edit{ID: "count", Decide: func(now document.Current) (document.Decision, error) {
		n := 0
		if now.Body != nil {
			_, err := fmt.Sscanf(string(now.Body), `{"n":%d}`, &n)
			return document.Decision{Body: fmt.Appendf(nil, `{"n":%d}`, n+1)}, err
		}
		return document.Decision{Body: []byte(`{"n":1}`)}, nil
	}}
	rs, err := x.Transact(ctx, []ScopedEdits{{x.d.Whole(), edits}, {x.other.Whole(), []document.Edit{count}}})
	return rs[:min(len(rs), len(edits))], err
}

// compareCount compares what transactions left in the other database.
func (x *runner) compareCount() error {
	want := fmt.Sprintf(`{"n":%d}`, x.counted)
	return x.other.Whole().View(ctx, func(r *Reader) error {
		rev, err := r.Winner("count")
		if x.counted == 0 && dberr.Is(err, dberr.NotFound) {
			return nil
		}
		if err == nil && string(rev.Body) != want {
			err = fmt.Errorf("the other database has counted %s, want %s", rev.Body, want)
		}
		return err
	})
}

// write makes edits of steps, and expects what the model says.
func (x *runner) write(how grouping, ops ...op) error {
	edits := make([]modelEdit, len(ops))
	real := make([]document.Edit, len(ops))
	for i, o := range ops {
		edits[i] = x.edit(o)
		real[i] = document.Edit{ID: document.ID(edits[i].id), Parent: edits[i].parent, Path: edits[i].path,
			Deleted: edits[i].deleted, Body: []byte(edits[i].body), Attachments: x.attachments(o, edits[i])}
		if o.kind == "big" {
			for j := range real[i].Attachments {
				if err := x.upload(&real[i], &real[i].Attachments[j]); err != nil {
					return err
				}
			}
		}
	}
	rs, err := x.send(how, real)
	want, applied := x.expect(edits, how != oneByOne)
	if applied && how == overDatabases {
		x.counted++
	}
	if slices.Contains(want, "missing_stub") {
		if !dberr.Is(err, dberr.Precondition) {
			return fmt.Errorf("a missing stub: %v", err)
		}
		return nil
	}
	if slices.Contains(want, "unavailable") {
		if !dberr.Is(err, dberr.Unavailable) {
			return fmt.Errorf("a replicated edit to a partition being dropped: %v", err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	for i := range rs {
		got := rs[i].Rev.String()
		if rs[i].Err != nil {
			got = map[bool]string{true: "conflict", false: rs[i].Err.Error()}[dberr.Is(rs[i].Err, dberr.Conflict)]
		}
		if got != want[i] {
			return fmt.Errorf("edit %d of %q gave %s, want %s", i, rs[i].ID, got, want[i])
		}
	}
	return nil
}

// expect applies edits to the model, in the order of their ids, and returns their
// outcomes; applied is false if nothing of them is stored.
func (x *runner) expect(edits []modelEdit, atomic bool) (want []string, applied bool) {
	want = make([]string, len(edits))
	order := make([]int, len(edits))
	for i := range order {
		order[i] = i
	}
	if !atomic {
		slices.SortStableFunc(order, func(i, j int) int { return strings.Compare(edits[i].id, edits[j].id) })
	}
	next, refused, seen := x.m.clone(), false, map[string]bool{}
	for _, i := range order {
		on := next
		if atomic { // each is planned on what was there before
			on = x.m.clone()
		}
		rev, no := on.write(edits[i])
		if atomic && no == "" {
			if seen[edits[i].id] {
				no = "conflict"
			} else {
				next.write(edits[i])
			}
		}
		seen[edits[i].id] = true
		refused = refused || no != ""
		if want[i] = no; no == "" {
			want[i] = rev.String()
		}
	}
	if slices.Contains(want, "missing_stub") {
		return want, false
	}
	if atomic && refused {
		for i := range want {
			if want[i] != "conflict" {
				want[i] = document.Rev{}.String()
			}
		}
		return want, false
	}
	*x.m = *next
	return want, true
}

// edit makes the edit of a step: ordinary ones on a leaf, or on something
// stale; replicated ones from a fixed history of the document, or on a leaf.
func (x *runner) edit(o op) modelEdit {
	e := modelEdit{id: o.id, body: expiring(fmt.Sprintf(`{"n":%d}`, o.c), o.c, o.d), deleted: o.b%5 == 0}
	var leaves []document.Rev
	if d := x.m.docs[o.id]; d != nil {
		leaves = d.leaves()
	}
	switch o.kind {
	case "replicate":
		return replicatedEdit(o)
	case "extend":
		if len(leaves) == 0 {
			return replicatedEdit(o)
		}
		l := leaves[o.a%len(leaves)]
		e.path = append([]document.Rev{{Gen: l.Gen + 1, Hash: fmt.Sprintf("x%d", o.d%3)}}, x.m.docs[o.id].path(l)...)
		e.path = e.path[:1+o.c%len(e.path)]
		e.deleted = o.d%3 == 0
		e.body = expiring(fmt.Sprintf(`{"x":%d}`, o.d%3), int(e.path[0].Gen), o.d%3)
		return e
	}
	if len(leaves) > 0 && o.a%10 > 0 && !x.m.docs[o.id].winner().deleted {
		e.parent = leaves[o.a%len(leaves)]
	} else if o.a%10 == 1 {
		e.parent = document.Rev{Gen: 1, Hash: "stale"}
	}
	if o.c%12 == 0 {
		e.body = `{"long":"` + strings.Repeat("x", chunkSize+o.d) + `"}`
	}
	switch o.kind {
	case "attach":
		for i, name := range attNames {
			if (o.d>>i)%2 == 0 {
				e.atts = append(e.atts, modelAtt{name: name, data: strings.Repeat("d", o.c%3)})
			}
		}
		if o.d%7 == 0 && len(e.atts) > 0 {
			e.atts[0].data = strings.Repeat("e", chunkSize+o.c%2)
		}
		// (What a stub of a hidden document gets depends on who looks first.)
		e.stubs = o.d%8 < 4 && !x.m.hidden(o.id) && !(e.parent.IsZero() && len(e.atts) == 0 && o.d > 20)
	case "big":
		e.atts = []modelAtt{{name: "b", data: strings.Repeat("f", chunkSize*o.c/10)}}
	}
	return e
}

// replicatedEdit is a revision of a document's made-up history: its parent is
// the revision at half its number.
func replicatedEdit(o op) modelEdit {
	n := 1 + o.a%30
	e := modelEdit{id: o.id, deleted: n%4 == 0, body: expiring(fmt.Sprintf(`{"r":%d}`, n), n, 30-n)}
	if n%5 == 0 {
		e.atts = []modelAtt{{name: "a", data: fmt.Sprint("replicated ", n%2)}}
	}
	gen := uint32(0)
	for i := n; i > 0; i /= 2 {
		gen++
	}
	for i := n; i > 0; i /= 2 {
		e.path = append(e.path, document.Rev{Gen: gen, Hash: fmt.Sprintf("r%d", i)})
		gen--
	}
	e.path = e.path[:1+o.b%len(e.path)]
	return e
}

// attachments are an edit's attachments as the store is given them.
func (x *runner) attachments(o op, e modelEdit) (atts []document.Attachment) {
	for _, a := range e.atts {
		att := document.Attachment{Name: a.name, ContentType: "text/plain", Data: []byte(a.data)}
		if e.path != nil {
			att.RevPos = e.path[0].Gen
		}
		atts = append(atts, att)
	}
	if e.stubs {
		for _, name := range attNames {
			if !slices.ContainsFunc(e.atts, func(a modelAtt) bool { return a.name == name }) {
				atts = append(atts, document.Attachment{Name: name, Stub: true})
			}
		}
	}
	slices.SortFunc(atts, func(a, b document.Attachment) int { return strings.Compare(a.Name, b.Name) })
	return atts
}

// upload streams an attachment's data into a blob.
func (x *runner) upload(e *document.Edit, a *document.Attachment) error {
	up, err := x.d.Whole().Upload(ctx, e.ID, bytes.NewReader(a.Data), Upload{})
	up.Name, up.ContentType = a.Name, a.ContentType
	*a = up
	return err
}

func (x *runner) purge(o op) error {
	var revs []document.Rev
	if d := x.m.docs[o.id]; d != nil {
		leaves := d.leaves()
		revs = leaves[:1+o.a%len(leaves)]
	} else if g := x.m.markers[o.id]; len(g) > 0 {
		revs = slices.Clone(g[:1+o.a%len(g)])
	}
	revs = append(revs, document.Rev{Gen: 1, Hash: "unknown"})
	got, err := x.d.Purge(ctx, []Purging{{ID: document.ID(o.id), Revs: revs}})
	if x.m.hidden(o.id) {
		if !dberr.Is(err, dberr.Conflict) {
			return fmt.Errorf("purge in a partition being dropped: %v", err)
		}
		return nil
	}
	if want := x.m.purge(o.id, revs); err == nil && !slices.Equal(got[0].Revs, want) {
		err = fmt.Errorf("purged %v, want %v", got[0].Revs, want)
	}
	return err
}

func (x *runner) local(o op) error {
	s := x.d.Whole()
	if x.m.partitioned && o.a%2 == 0 {
		s = x.d.Within("p")
	}
	id := document.ID(fmt.Sprintf("_local/%d", o.b%3))
	key := string(s.partition) + " " + string(id)
	if o.c%3 == 0 {
		err := s.DeleteLocal(ctx, id)
		if x.m.locals[key] == "" {
			if !dberr.Is(err, dberr.NotFound) {
				return fmt.Errorf("deleting a local document that is not there: %v", err)
			}
			err = nil
		}
		delete(x.m.locals, key)
		return err
	}
	body := fmt.Sprintf(`{"n":%d}`, o.d)
	_, err := s.PutLocal(ctx, id, 0, []byte(body))
	if s.partition != "" && x.m.drops[s.partition] != nil {
		if !dberr.Is(err, dberr.Conflict) {
			return fmt.Errorf("local document of a partition being dropped: %v", err)
		}
		return nil
	}
	x.m.locals[key] = body
	return err
}

func (x *runner) drop(o op) error {
	p := document.ID(o.id).Partition()
	err := x.d.DropPartition(ctx, p, o.a%2 == 0)
	if !x.m.drop(p, o.a%2 == 0) {
		if !dberr.Is(err, dberr.NotFound) {
			return fmt.Errorf("drop of nothing: %v", err)
		}
		return nil
	}
	return err
}

// dropStep does one step of one of the running drops.
func (x *runner) dropStep() error {
	running := x.m.dropped()
	if len(running) == 0 {
		return nil
	}
	p := running[0]
	drop, kind := x.m.drops[p], jobPartition
	if drop.tombstones {
		kind = jobTombstones
	}
	more, err := x.d.stepOf(kind, string(p))
	if err == nil && more == drop.emptied {
		err = errors.New("wrong number of steps")
	}
	x.m.step(p)
	return err
}

var quiet = Options{}.withDefaults().Logger

// compare reads everything and holds it against the model.
func (x *runner) compare() error {
	if err := x.Check(ctx); err != nil {
		return err
	}
	scopes := []document.Partition{""}
	if x.m.partitioned {
		scopes = append(scopes, "p", "q", "r", "p0", "none")
	}
	var errs []error
	for _, p := range scopes {
		s := Scope{db: x.d, partition: p}
		errs = append(errs, x.compareTotals(s), s.View(ctx, func(r *Reader) error {
			return errors.Join(x.compareFeed(r), x.compareDocs(r), x.compareSpans(r), x.compareLocals(r), x.compareMissing(r))
		}))
	}
	return errors.Join(append(errs, x.comparePartitions(), x.comparePurges())...)
}

func differ(what string, got, want any) error {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		return fmt.Errorf("%s\n got %s\nwant %s", what, g, w)
	}
	return nil
}

func (x *runner) compareTotals(s Scope) error {
	t, err := s.Totals(ctx)
	if err != nil {
		return err
	}
	return differ("totals of "+string(s.partition), counts{t.Docs, t.Deleted, t.Active, t.External}, x.m.counts(s.partition))
}

func (x *runner) compareFeed(r *Reader) error {
	for _, descending := range []bool{false, true} {
		var got, want []string
		last := Seq(0)
		for c, err := range r.Changes(0, descending) {
			if err != nil {
				return err
			}
			if (c.Seq > last) == descending && last != 0 {
				return fmt.Errorf("sequence %d after %d", c.Seq, last)
			}
			last = c.Seq
			got = append(got, fmt.Sprint(c.ID, c.Deleted, c.Leaves))
		}
		for _, id := range x.m.feed(r.partition) {
			d := x.m.docs[id]
			want = append(want, fmt.Sprint(id, d.winner().deleted, d.leaves()))
		}
		if descending {
			slices.Reverse(want)
		}
		if err := differ("feed of "+string(r.partition), got, want); err != nil {
			return err
		}
	}
	return x.comparePending(r)
}

// comparePending asks at some place of the feed how much is left.
func (x *runner) comparePending(r *Reader) error {
	if len(x.m.drops) > 0 {
		return nil // an estimate then
	}
	left := uint64(len(x.m.feed(r.partition)))
	if n, err := r.Pending(0); err != nil || n != left {
		return fmt.Errorf("%d are pending from the beginning, want %d; %w", n, left, err)
	}
	for c, err := range r.Changes(0, false) {
		if err != nil {
			return err
		}
		left--
		if n, err := r.Pending(c.Seq); err != nil || n != left {
			return fmt.Errorf("%d are pending after %d, want %d; %w", n, c.Seq, left, err)
		}
	}
	return nil
}

// compareDocs reads each document with all its leaves.
func (x *runner) compareDocs(r *Reader) error {
	for _, id := range historyIDs {
		d, doc := x.m.docs[id], document.ID(id)
		got, err := r.Doc(doc)
		there := d != nil && (r.partition == "" || x.m.partition(id) == r.partition || doc.IsDesign())
		if drop := x.m.drops[x.m.partition(id)]; there && drop != nil {
			there = drop.tombstones && d.winner().deleted
		}
		if !there {
			if !dberr.Is(err, dberr.NotFound) {
				return fmt.Errorf("%q should be missing: %v", id, err)
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("%q: %w", id, err)
		}
		if err := x.compareDoc(r, got, d); err != nil {
			return fmt.Errorf("%q: %w", id, err)
		}
	}
	return nil
}

func (x *runner) compareDoc(r *Reader, got *Doc, d *modelDoc) error {
	if err := r.Load(got); err != nil {
		return err
	}
	leaves := got.Tree.Leaves()
	if len(leaves) != len(d.leaves()) {
		return fmt.Errorf("leaves %v, want %v", leaves, d.leaves())
	}
	for i, l := range d.leaves() {
		path, _ := got.Tree.Path(leaves[i].Rev)
		if err := differ("path", path, d.path(l)); err != nil {
			return err
		}
		rev, err := r.Revision(got, l)
		if err != nil {
			return err
		}
		if err := x.compareRevision(rev, d.revs[l]); err != nil {
			return err
		}
	}
	w, err := r.Winner(got.ID)
	if dberr.Is(err, dberr.NotFound) != d.winner().deleted || w == nil || w.Rev != leaves[0].Rev {
		return fmt.Errorf("winner %v, %w", w, err)
	}
	return nil
}

func (x *runner) compareRevision(got *Revision, want *modelRev) error {
	if got.Deleted != want.deleted || string(got.Body) != want.body || len(got.Attachments) != len(want.atts) {
		return fmt.Errorf("revision %+v, want %+v", got, want)
	}
	for i, a := range got.Attachments {
		data, err := io.ReadAll(x.d.Whole().Download(ctx, a, 0, a.Encoded))
		if err != nil {
			return err
		}
		if w := want.atts[i]; a.Name != w.name || a.RevPos != w.revpos || string(data) != w.data {
			return fmt.Errorf("attachment %s at %d with %d bytes, want %s at %d with %d", a.Name, a.RevPos, len(data), w.name, w.revpos, len(w.data))
		}
	}
	return nil
}

// compareSpans walks random spans in both directions.
func (x *runner) compareSpans(r *Reader) error {
	bound := func() string {
		if x.r.Chance(3) {
			return ""
		}
		id := historyIDs[x.r.IntN(len(historyIDs))]
		return []string{id, id + "\x00", id[:1], id + "z"}[x.r.IntN(4)]
	}
	for range 6 {
		sp := Span{From: bound(), To: bound(), Before: x.r.Chance(2), Descending: x.r.Chance(2)}
		bodies := x.r.Chance(2)
		var got, want []string
		for e, err := range r.Docs(sp, bodies) {
			if err != nil {
				return err
			}
			line := string(e.Doc.ID)
			if e.Winner != nil {
				line += string(e.Winner.Body[:min(len(e.Winner.Body), 20)])
			}
			got = append(got, line)
		}
		for _, id := range x.m.in(r.partition) {
			if id < sp.From || sp.To != "" && (id > sp.To || sp.Before && id == sp.To) || x.m.hidden(id) {
				continue
			}
			line, w := id, x.m.docs[id].winner()
			if bodies && !w.deleted {
				line += w.body[:min(len(w.body), 20)]
			}
			want = append(want, line)
		}
		if sp.Descending {
			slices.Reverse(want)
		}
		if err := differ(fmt.Sprintf("span %+v", sp), got, want); err != nil {
			return err
		}
		if err := errors.Join(sameWinners(r, sp), x.sameBatch(r)); err != nil {
			return err
		}
	}
	return nil
}

// sameBatch holds BatchReader to Winner, for ids in any order, some of them twice
// and some of no document.
func (x *runner) sameBatch(r *Reader) error {
	b := NewBatchReader()
	defer b.Release()
	for range 2 { // the second time with what the first has left
		ids := make([]document.ID, x.r.IntN(12))
		for i := range ids {
			ids[i] = document.ID(historyIDs[x.r.IntN(len(historyIDs))])
			if x.r.Chance(6) {
				ids[i] += "\x00"
			}
		}
		if err := b.Read(r, ids); err != nil {
			return err
		}
		for i, id := range ids {
			got, errGot := b.Winner(i)
			want, errWant := r.Winner(id)
			if id.IsDesign() && !r.Sees(id) {
				want, errWant = nil, errMissing // Winner shows them through a partition
			}
			if dberr.Is(errGot, dberr.NotFound) && dberr.Is(errWant, dberr.NotFound) {
				continue
			}
			if err := errors.Join(errGot, errWant); err != nil {
				return fmt.Errorf("%q among several: %w", id, err)
			}
			if g, w := printed(got), printed(want); g != w {
				return fmt.Errorf("%q among several: %s, want %s", id, g, w)
			}
		}
	}
	return nil
}

// printed is all of a revision, with bytes as text: the numbers that %+v makes of
// them would take most of a history's time.
func printed(r *Revision) string {
	line := fmt.Sprintf("%s %s %v %s", r.ID, r.Rev, r.Deleted, r.Body)
	for _, a := range r.Attachments {
		data := a.Data
		a.Data = nil
		line += fmt.Sprintf(" %+v %s", a, data)
	}
	return line
}

// sameWinners holds Winners to Docs.
func sameWinners(r *Reader, sp Span) error {
	var got, want []string
	for w, err := range r.Winners(sp) {
		if err != nil {
			return err
		}
		got = append(got, printed(w))
	}
	for e, err := range r.Docs(sp, true) {
		if err != nil {
			return err
		}
		if e.Winner == nil {
			e.Winner = &Revision{ID: e.Doc.ID, Rev: e.Doc.Tree.Winner().Rev, Deleted: true}
		}
		want = append(want, printed(e.Winner))
	}
	return differ(fmt.Sprintf("winners %+v", sp), got, want)
}

func (x *runner) compareLocals(r *Reader) error {
	if x.m.drops[r.partition] != nil {
		return nil
	}
	var got, want []string
	for l, err := range r.Locals(Span{}) {
		if err != nil {
			return err
		}
		got = append(got, string(r.partition)+" "+string(l.ID)+string(l.Body))
	}
	for key, body := range x.m.locals {
		if strings.HasPrefix(key, string(r.partition)+" ") {
			want = append(want, key+body)
		}
	}
	slices.Sort(want)
	return differ("local documents", got, want)
}

// comparePartitions lists the partitions, a page of two at a time, by name and
// by a ranking.
func (x *runner) comparePartitions() error {
	if !x.m.partitioned {
		return nil
	}
	for _, by := range []Ranking{ByName, ByDocs} {
		got := map[document.Partition]counts{}
		bookmark := ""
		last := uint64(1 << 60)
		for again := true; again; again = bookmark != "" {
			rows, next, lag, err := x.d.Partitions(ctx, by, by != ByName, 2, bookmark)
			if err != nil || lag != 0 {
				return fmt.Errorf("partitions: lag %v, %w", lag, err)
			}
			for _, row := range rows {
				got[row.Partition] = counts{row.Docs, row.Deleted, row.Active, row.External}
				if by == ByDocs && row.Docs > last {
					return fmt.Errorf("ranking: %d documents after %d", row.Docs, last)
				}
				last = row.Docs
			}
			bookmark = next
		}
		want := map[document.Partition]counts{}
		for _, p := range []document.Partition{"p", "q", "r", "p0"} {
			if c := x.m.counts(p); c != (counts{}) {
				want[p] = c
			}
		}
		if err := differ("partitions by "+string(by), got, want); err != nil {
			return err
		}
	}
	return nil
}

func (x *runner) comparePurges() error {
	ps, err := x.d.Purged(ctx)
	if err == nil && len(ps) != x.m.purges {
		err = fmt.Errorf("%d purges are remembered, want %d", len(ps), x.m.purges)
	}
	return err
}
