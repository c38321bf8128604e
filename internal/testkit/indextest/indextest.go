// Package indextest is the suite that each kind of index passes: random
// histories of documents, conflicts, deletions, purges, dropped partitions and
// changed definitions, beside builds that run at the same time, after which the
// rows of every index are those of one that is built anew, and hold what the
// documents give. Several stores over one engine share histories: each builds what
// others define, and one may die in the middle.
//
// Begin reading at Run. A kind calls it from a test of its own with a Subject.
package indextest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/enginetest"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// Subject is a kind under test.
type Subject struct {
	Kind index.Kind
	// Designs are bodies of design documents; histories change among them.
	Designs []string
	// Body makes a document's body.
	Body func(r *rand.Rand) string
	// Answers returns what an index answers, of a kind whose rows depend on how they
	// came to be (index.Maintained); nil: its rows are held against each other.
	Answers func(r *store.Reader, x *index.Index) (string, error)
	// Amended returns what an index answers together with changes that it has not taken in
	// (index.Indexes.Tail), of a kind that can: it is held against what it answers when it has.
	// nil if it is left to the index.
	Amended func(r *store.Reader, x *index.Index, tail *index.Tail) (answer *string, err error)
	// Another makes the kind of one more server, with memory and files of its own; nil: servers
	// have none.
	Another func() index.Kind
	// Lose has the servers lose what they may: files beside the engine. nil if there are none.
	Lose func()
	// Engine opens an engine besides the model, which every kind is tried on. PostgreSQL takes its
	// place where the environment names one (enginetest).
	Engine func(t *testing.T) kv.Engine
	// Histories is how many random histories each configuration runs with SECTIONAL_LONG=1, which
	// `make test-long` sets, of which an eighth is run otherwise; default 40.
	Histories int
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	if s.Histories == 0 {
		s.Histories = 40
	}
	switch {
	case testing.Short():
		s.Histories = 1 // for what builds do beside writers
	case !testrun.IsLong():
		s.Histories = max(s.Histories/8, 2) // rows lie in pieces in every other
	}
	model := func(t *testing.T) kv.Engine {
		return kvtest.NewChecked(t, kvtest.NewModel(kvtest.ModelOptions{}))
	}
	other := func(t *testing.T) kv.Engine {
		if e := enginetest.Open(t); e != nil {
			return e
		}
		return s.Engine(t)
	}
	for name, engine := range map[string]func(*testing.T) kv.Engine{"engine": other, "model": model} {
		for _, partitioned := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/partitioned=%v", name, partitioned), func(t *testing.T) {
				t.Parallel()
				amended := 0
				for seed := range uint64(s.Histories) {
					amended += runHistory(t, s, engine, 1, partitioned, seed)
				}
				if s.Amended != nil && amended == 0 && !testing.Short() {
					t.Error("no index answered together with what it had not taken in")
				}
			})
		}
		servers := map[string]int{"engine": 2, "model": 3}[name]
		t.Run(fmt.Sprintf("%s*%d", name, servers), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(max(1, s.Histories/4)) {
				runHistory(t, s, engine, servers, (seed+uint64(servers))%2 == 0, seed+1000)
			}
		})
	}
}

// step does one random thing.
func (w *world) step() {
	switch n := w.r.IntN(100); {
	case n < 55:
		w.write(w.id(), false)
	case n < 65:
		w.write(w.id(), true)
	case n < 75:
		w.conflict(w.id())
	case n < 80:
		w.purge(w.id())
	case n < 83:
		w.drop()
	case n < 90:
		w.define()
	case n < 95:
		w.batch()
	default:
		w.say("follow")
		if err := w.indexes.Run(ctx, w.db); err != nil {
			w.Fatalf("follow: %v", err)
		}
	}
}

func (w *world) say(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *world) id() document.ID {
	return document.ID(fmt.Sprintf("%c:%d", 'p'+rune(w.r.IntN(3)), w.r.IntN(8)))
}

// newBody makes a body, of which one in eight expires before the next comparison;
// what has expired is collected after it.
func (w *world) newBody() []byte {
	body := w.Body(w.r)
	if w.r.IntN(8) > 0 {
		return []byte(body)
	}
	rest := strings.TrimPrefix(body, "{")
	if rest != "}" {
		rest = "," + rest
	}
	return fmt.Appendf(nil, `{"expires":%d%s`, w.now.Unix()+w.r.Int64N(3000), rest)
}

// edit writes one edit and remembers what it made.
func (w *world) edit(e document.Edit) {
	w.deal()
	rs, err := w.db.Whole().Write(ctx, []document.Edit{e}, store.WriteOptions{})
	if err != nil {
		w.Fatalf("write: %v\n%s", err, strings.Join(w.log, "\n"))
	}
	if rs[0].Err == nil && e.Path == nil {
		w.revs[e.ID] = rs[0].Rev
	}
}

// write puts a document or deletes it.
func (w *world) write(id document.ID, deleted bool) {
	e := document.Edit{ID: id, Parent: w.winner(id), Deleted: deleted, Body: w.newBody()}
	if deleted {
		e.Body = []byte("{}")
	}
	w.say("write %s %s deleted=%v", id, e.Body, deleted)
	w.edit(e)
}

// winner is the leaf that a client would edit.
func (w *world) winner(id document.ID) (rev document.Rev) {
	w.deal()
	err := w.db.Whole().View(ctx, func(r *store.Reader) error {
		found, err := r.Winner(id)
		if err == nil {
			rev = found.Rev
		}
		if dberr.Is(err, dberr.NotFound) {
			err = nil
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return rev
}

// conflict brings a revision as a replica does.
func (w *world) conflict(id document.ID) {
	gen := uint32(1 + w.r.IntN(3))
	path := []document.Rev{}
	for g := gen; g > 0; g-- {
		path = append(path, document.Rev{Gen: g, Hash: fmt.Sprintf("%016d", w.r.IntN(1_000_000))})
	}
	e := document.Edit{ID: id, Path: path, Body: w.newBody(), Deleted: w.r.IntN(4) == 0}
	w.say("conflict %s %v %s deleted=%v", id, path[0], e.Body, e.Deleted)
	if w.r.IntN(3) > 0 {
		w.edit(e)
		return
	}
	// The same revision comes again in the same commit, each time with a body
	// and a history of another length; what came first is what it is.
	edits := []document.Edit{e}
	for range 2 {
		e.Path, e.Body = path[:1+w.r.IntN(len(path))], w.newBody()
		w.say("and again with %d revisions %s", len(e.Path), e.Body)
		edits = append(edits, e)
	}
	edits[0].Path = path[:1]
	if _, err := w.db.Whole().Write(ctx, edits, store.WriteOptions{}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) purge(id document.ID) {
	var revs []document.Rev
	err := w.db.Whole().View(ctx, func(r *store.Reader) error {
		d, err := r.Doc(id)
		if err != nil {
			return err
		}
		for _, l := range d.Tree.Leaves() {
			if len(revs) == 0 || w.r.IntN(2) == 0 {
				revs = append(revs, l.Rev)
			}
		}
		return nil
	})
	if dberr.Is(err, dberr.NotFound) {
		return
	}
	w.say("purge %s %v", id, revs)
	if _, err := w.db.Purge(ctx, []store.Purging{{ID: id, Revs: revs}}); err != nil {
		w.Fatal(err)
	}
}

// drop drops a partition, with its background work at once.
func (w *world) drop() {
	if !w.db.Partitioned() {
		return
	}
	p := w.id().Partition()
	tombstones := w.r.IntN(2) == 0
	w.say("drop %s tombstones=%v", p, tombstones)
	if err := w.db.DropPartition(ctx, p, tombstones); err != nil && !dberr.Is(err, dberr.NotFound) {
		w.Fatal(err)
	}
	if err := w.store.Sweep(ctx); err != nil {
		w.Fatal(err)
	}
}

// define writes or deletes a design document.
func (w *world) define() {
	id := document.ID(fmt.Sprintf("_design/d%d", w.r.IntN(2)))
	if w.db.Partitioned() && w.r.IntN(2) == 0 {
		id = document.ID(w.id().Partition()) + ":" + id // a tenant's
	}
	if w.r.IntN(5) == 0 {
		w.say("delete %s", id)
		w.edit(document.Edit{ID: id, Parent: w.winner(id), Deleted: true, Body: []byte("{}")})
		return
	}
	body := w.Designs[w.r.IntN(len(w.Designs))]
	w.say("define %s %s", id, body)
	w.edit(document.Edit{ID: id, Parent: w.winner(id), Body: []byte(body)})
}

// batch writes several documents and a design document in one commit.
func (w *world) batch() {
	var edits []document.Edit
	for range 5 {
		id := w.id()
		edits = append(edits, document.Edit{ID: id, Parent: w.winner(id), Body: w.newBody()})
	}
	id := document.ID("_design/d0")
	edits = append(edits, document.Edit{ID: id, Parent: w.winner(id), Body: []byte(w.Designs[w.r.IntN(len(w.Designs))])})
	w.say("batch")
	if _, err := w.db.Whole().Write(ctx, edits, store.WriteOptions{}); err != nil {
		w.Fatal(err)
	}
}

// compare brings all indexes up to date, holds their rows against the
// documents, and against the rows of indexes that are built anew.
func (w *world) compare(seed uint64) {
	w.Helper()
	fail := func(format string, args ...any) {
		w.Helper()
		w.Fatalf("seed %d: %s\n%s", seed, fmt.Sprintf(format, args...), strings.Join(w.log, "\n"))
	}
	w.now = w.now.Add(time.Hour)
	w.deal()
	if err := errors.Join(w.sweep(), w.indexes.Run(ctx, w.db)); err != nil {
		fail("%v", err)
	}
	w.deal()
	if err := w.store.Check(ctx); err != nil {
		fail("%v", err)
	}
	if err := w.maintained(); err != nil {
		fail("%v", err)
	}
	before := w.dump()
	bodies := map[document.ID][]byte{}
	for id := range before {
		design, _, _ := strings.Cut(id, " ")
		bodies[document.ID(design)] = w.body(document.ID(design))
	}
	for id := range bodies {
		w.edit(document.Edit{ID: id, Parent: w.winner(id), Deleted: true, Body: []byte("{}")})
	}
	if left := w.dump(); len(left) > 0 {
		fail("indexes without design documents: %v", left)
	}
	w.now = w.now.Add(time.Hour)
	if err := w.sweep(); err != nil {
		fail("%v", err)
	}
	for id, body := range bodies {
		w.edit(document.Edit{ID: id, Body: body})
	}
	if err := errors.Join(w.indexes.Run(ctx, w.db), w.store.Check(ctx)); err != nil {
		fail("%v", err)
	}
	w.deal()
	after := w.dump()
	for name, rows := range before {
		if after[name] != rows {
			fail("index %s was\n%sand is, built anew,\n%s", name, rows, after[name])
		}
	}
}

// sweep does the background work of all servers, each of which believes a clock that it looks at often.
func (w *world) sweep() (err error) {
	for _, s := range w.all {
		err = errors.Join(err, s.store.Sweep(ctx))
	}
	return err
}

func (w *world) body(id document.ID) (body []byte) {
	w.deal()
	err := w.db.Whole().View(ctx, func(r *store.Reader) error {
		rev, err := r.Winner(id)
		if err == nil {
			body = rev.Body
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return body
}

// maintained holds that indexes that are up to date are at rest too: one more piece of
// their work finds nothing to do and changes no row.
func (w *world) maintained() error {
	var all []*index.Index
	rows := func() (text string) {
		all = nil
		err := w.db.Whole().View(ctx, func(r *store.Reader) error {
			return index.EachSet(r, func(_ store.Scope, s *index.Set) (err error) {
				for _, x := range s.Indexes {
					all = append(all, x)
					for _, prefix := range x.Kind.Prefixes(w.db.Number(), x.Number) {
						if text, err = dumpRange(r, text, prefix); err != nil {
							return err
						}
					}
				}
				return nil
			})
		})
		if err != nil {
			w.Fatal(err)
		}
		return text
	}
	before := rows()
	for _, x := range all {
		_, is := x.Kind.(index.Maintained)
		if n, err := w.indexes.Maintain(ctx, w.db, x); err != nil || is && n != 1 {
			return fmt.Errorf("index %d at rest takes %d pieces of work: %w", x.Number, n, err)
		}
	}
	if after := rows(); after != before {
		return fmt.Errorf("an index at rest was\n%sand becomes\n%s", before, after)
	}
	return nil
}
