package store

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/testkit/crashfs"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// facts are what clients were told before a crash: it must hold afterwards.
type facts struct {
	mu struct {
		sync.Mutex
		n       int
		written map[string]document.Rev // the last acknowledged revision
		gone    map[string]bool         // purged, or of a dropped partition: acknowledged
		seen    map[Seq]string          // what readers of the feed saw
	}
	due    int    // how many are enough
	enough func() // called then
}

func newFacts(due int, enough func()) *facts {
	f := &facts{due: due, enough: enough}
	f.mu.written, f.mu.gone, f.mu.seen = map[string]document.Rev{}, map[string]bool{}, map[Seq]string{}
	return f
}

func (f *facts) note(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn()
	if f.mu.n++; f.mu.n == f.due {
		f.enough()
	}
}

// frozen returns the facts of this moment.
func (f *facts) frozen() *facts {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := newFacts(0, nil)
	for k, v := range f.mu.written {
		c.mu.written[k] = v
	}
	for k := range f.mu.gone {
		c.mu.gone[k] = true
	}
	for k, v := range f.mu.seen {
		c.mu.seen[k] = v
	}
	return c
}

// client does one kind of work until the store can't any more, or until ctx
// ends; it notes what was acknowledged. Each request is of the database that dealt
// returns: one store's, or one of several. What it makes it numbers from first on.
type client func(ctx context.Context, dealt func() *Database, f *facts, first int, r kvtest.Rand) error

var clients = []client{rewrites, bulks, atomics, uploads, purges, drops, sweeps, readers}

// store1 is Write for edits that must all be stored.
func store1(ctx context.Context, dealt func() *Database, f *facts, o WriteOptions, edits ...document.Edit) ([]Result, error) {
	rs, err := dealt().Whole().Write(ctx, edits, o)
	if err != nil {
		return nil, err
	}
	for _, r := range rs {
		if r.Err != nil {
			return nil, r.Err
		}
	}
	f.note(func() {
		for _, r := range rs {
			f.mu.written[string(r.ID)] = r.Rev
		}
	})
	return rs, nil
}

func rewrites(ctx context.Context, dealt func() *Database, f *facts, first int, r kvtest.Rand) error {
	parents := map[string]document.Rev{}
	for i := first; ; i++ {
		id := fmt.Sprintf("updates:%d", first+r.IntN(5))
		rs, err := store1(ctx, dealt, f, WriteOptions{}, document.Edit{ID: document.ID(id), Parent: parents[id], Body: fmt.Appendf(nil, `{"n":%d}`, i)})
		if err != nil {
			return err
		}
		parents[id] = rs[0].Rev
	}
}

func bulks(ctx context.Context, dealt func() *Database, f *facts, first int, r kvtest.Rand) error {
	for i := first; ; i++ {
		var edits []document.Edit
		for j := range 1 + r.IntN(20) {
			edits = append(edits, document.Edit{ID: document.ID(fmt.Sprintf("bulk:%d-%d", i, j)), Body: bytes.Repeat([]byte(" "), r.IntN(200))})
		}
		if _, err := store1(ctx, dealt, f, WriteOptions{}, edits...); err != nil {
			return err
		}
	}
}

// atomicSize is how many documents each atomic batch has.
const atomicSize = 7

func atomics(ctx context.Context, dealt func() *Database, f *facts, first int, _ kvtest.Rand) error {
	for i := first; ; i++ {
		var edits []document.Edit
		for j := range atomicSize {
			edits = append(edits, document.Edit{ID: document.ID(fmt.Sprintf("atomic:%d-%d", i, j)), Body: []byte(`{}`)})
		}
		if _, err := store1(ctx, dealt, f, WriteOptions{Atomic: true}, edits...); err != nil {
			return err
		}
	}
}

func uploads(ctx context.Context, dealt func() *Database, f *facts, first int, r kvtest.Rand) error {
	for i := first; ; i++ {
		id := document.ID(fmt.Sprintf("upload:%d", i))
		data := bytes.Repeat([]byte{byte(r.IntN(3))}, r.IntN(3)*largePage/2+r.IntN(100))
		a, err := dealt().Whole().Upload(ctx, id, bytes.NewReader(data), Upload{})
		if err != nil {
			return err
		}
		a.Name = "a"
		if r.Chance(4) {
			continue // the client went away
		}
		e := document.Edit{ID: id, Body: []byte(`{}`), Attachments: []document.Attachment{a}}
		if _, err := store1(ctx, dealt, f, WriteOptions{}, e); err != nil {
			return err
		}
	}
}

func purges(ctx context.Context, dealt func() *Database, f *facts, first int, _ kvtest.Rand) error {
	for i := first; ; i++ {
		id := fmt.Sprintf("purge:%d", i)
		rs, err := store1(ctx, dealt, f, WriteOptions{}, document.Edit{ID: document.ID(id), Body: []byte(`{}`)})
		if err != nil {
			return err
		}
		f.note(func() { delete(f.mu.written, id) }) // from now on it may be gone
		if _, err := dealt().Purge(ctx, []Purging{{ID: document.ID(id), Revs: []document.Rev{rs[0].Rev}}}); err != nil {
			return err
		}
		f.note(func() { f.mu.gone[id] = true })
	}
}

func drops(ctx context.Context, dealt func() *Database, f *facts, first int, r kvtest.Rand) error {
	for i := first; ; i++ {
		p := document.Partition(fmt.Sprintf("drop%d", i))
		var edits []document.Edit
		for j := range 1 + r.IntN(dropPage+20) {
			edits = append(edits, document.Edit{ID: document.ID(fmt.Sprintf("%s:%d", p, j)), Body: []byte(`{}`)})
		}
		rs, err := store1(ctx, dealt, f, WriteOptions{}, edits...)
		if err != nil {
			return err
		}
		f.note(func() {
			for _, r := range rs {
				delete(f.mu.written, string(r.ID))
			}
		})
		if err := dealt().DropPartition(ctx, p, r.Chance(2)); err != nil {
			return err
		}
		f.note(func() {
			for _, r := range rs {
				f.mu.gone[string(r.ID)] = true
			}
		})
	}
}

func sweeps(ctx context.Context, dealt func() *Database, f *facts, _ int, _ kvtest.Rand) error {
	for ctx.Err() == nil {
		f.note(func() {})
		if err := dealt().store.Sweep(ctx); err != nil {
			return err
		}
		if err := dealt().Compact(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// readers follows the feed and notes what stood where.
func readers(ctx context.Context, dealt func() *Database, f *facts, _ int, _ kvtest.Rand) error {
	for since := Seq(0); ; {
		seen := map[Seq]string{}
		err := dealt().Whole().View(ctx, func(r *Reader) error {
			for c, err := range r.Changes(since, false) {
				if err != nil {
					return err
				}
				seen[c.Seq] = fmt.Sprint(c.ID, c.Leaves)
				since = c.Seq
			}
			return nil
		})
		if err != nil {
			return err
		}
		f.note(func() {
			for q, s := range seen {
				f.mu.seen[q] = s
			}
		})
	}
}

// disk is a Pebble engine with a store on a file system.
func disk(t testing.TB, fs vfs.FS) (*world, error) {
	e, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: fs, CacheBytes: 1 << 20, MemTableBytes: 256 << 10, Logger: quiet})
	if err != nil {
		return nil, err
	}
	w := &world{t: t, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	w.Store, err = Open(ctx, e, Options{Idle: true, Clock: func() time.Time { return w.now }, LongestRow: 100})
	if err != nil {
		e.Close()
		return nil, err
	}
	return w, nil
}

func (w *world) closeAll() {
	w.Close()
	w.engine.Close()
}

func TestCrash(t *testing.T) {
	rounds := 25
	if testing.Short() {
		rounds = 5
	}
	for seed := range uint64(rounds) {
		r := kvtest.NewRand(seed)
		fs := crashfs.New()
		w, err := disk(t, fs)
		if err != nil {
			t.Fatal(err)
		}
		d := w.create("db", true)
		if err := d.SetChangeLog(ctx, Period{Text: "30_min", Length: 30 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		enough := make(chan bool)
		f := newFacts(5+r.IntN(150), func() { close(enough) })
		stopped, stop := context.WithCancel(ctx)
		var work sync.WaitGroup
		for i, c := range clients {
			work.Go(func() {
				if err := c(stopped, func() *Database { return d }, f, 0, kvtest.NewRand(seed<<8+uint64(i))); stopped.Err() == nil {
					t.Errorf("client %d: %v", i, err)
				}
			})
		}
		<-enough
		known := f.frozen()
		after := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r.Rand})
		stop()
		work.Wait()
		w.closeAll()
		recovered(t, after, known, 0)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// recovered opens what a crash left, holds it against what was told before, and
// lets everything be finished that was begun. It is some time after the database was made.
func recovered(t *testing.T, fs vfs.FS, known *facts, passed time.Duration) {
	t.Helper()
	w, err := disk(t, fs)
	if err != nil {
		t.Errorf("opening after the crash: %v", err)
		return
	}
	defer w.closeAll()
	w.now = w.now.Add(passed)
	w.check()
	d, err := w.Database(ctx, "db")
	if dberr.Is(err, dberr.NotFound) && len(known.mu.written)+len(known.mu.seen) == 0 {
		return // it crashed before anything was acknowledged
	}
	if err != nil {
		t.Errorf("the database: %v", err)
		return
	}
	w.holds(d, known)
	w.completes(d, w.later)
}

// completes lets everything be finished that was begun, as time passes.
func (w *world) completes(d *Database, later func(time.Duration)) {
	w.t.Helper()
	later(30 * time.Hour)
	w.sweep()
	later(time.Hour) // the drop supersedes revisions once more
	w.sweep()
	w.check()
	w.nothingPending(d)
	w.put(d, "after:crash", "", `{}`)
	w.check()
}

// holds checks that what was told is so.
func (w *world) holds(d *Database, known *facts) {
	w.t.Helper()
	err := d.Whole().View(ctx, func(r *Reader) error {
		for id, rev := range known.mu.written {
			doc, err := r.Doc(document.ID(id))
			if err != nil || doc.Tree.Winner().Rev.Gen < rev.Gen {
				w.t.Errorf("%s was acknowledged at %s and is lost: %v", id, rev, err)
				continue
			}
			if _, err := r.Revision(doc, doc.Tree.Winner().Rev); err != nil {
				w.t.Errorf("%s: %v", id, err)
			}
		}
		for id := range known.mu.gone {
			if rev, err := r.Winner(document.ID(id)); !dberr.Is(err, dberr.NotFound) {
				w.t.Errorf("%s was gone and is back at %v", id, rev)
			}
		}
		whole := map[string]int{}
		for c, err := range r.Changes(0, false) {
			if err != nil {
				return err
			}
			if s, ok := known.mu.seen[c.Seq]; ok && s != fmt.Sprint(c.ID, c.Leaves) {
				w.t.Errorf("sequence %d was seen as %s and is now of %s", c.Seq, s, c.ID)
			}
			var i, j int
			if n, _ := fmt.Sscanf(string(c.ID), "atomic:%d-%d", &i, &j); n == 2 {
				whole[fmt.Sprint(i)]++
			}
		}
		for i, n := range whole {
			if n != atomicSize {
				w.t.Errorf("of the atomic batch %s there are %d documents", i, n)
			}
		}
		last, err := r.LastSeq()
		for q := range known.mu.seen {
			if q > last {
				w.t.Errorf("sequence %d was seen and will be given again: the last is %d", q, last)
			}
		}
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
}

// nothingPending checks that no job, orphan or superseded body is left; the job that looks for
// pieces stays as long as there are any.
func (w *world) nothingPending(d *Database) {
	w.t.Helper()
	for _, r := range []kv.Range{
		kv.Prefix(keyspace.Job.Key(0)),
		kv.Prefix(keyspace.BlobPending.Key(d.number)),
		kv.Prefix(keyspace.Superseded.Key(d.number)),
	} {
		show := func(key, value []byte) string {
			if bytes.HasPrefix(key, keyspace.Job.Key(0, keyspace.T(jobPieces))) {
				return ""
			}
			return showKey(key, value)
		}
		if left := rows(w.t, w.engine, r, show); left != "" {
			w.t.Errorf("left after a sweep:\n%s", left)
		}
	}
	referenced := rows(w.t, w.engine, kv.Prefix(keyspace.Blob.Key(d.number)), func(key, value []byte) string {
		if b, err := decodeBlob(value); err != nil || b.references == 0 {
			return keyspace.Print(key) + "\n"
		}
		return ""
	})
	if referenced != "" {
		w.t.Errorf("blobs that nobody names:\n%s", referenced)
	}
}

// TestDiskFailures makes the n-th writing operation of the disk fail, for one n
// after the other: no panic, and nothing acknowledged is lost.
func TestDiskFailures(t *testing.T) {
	testrun.Sequential(t)
	t.Parallel()
	stride := 12
	if testrun.IsLong() {
		stride = 1
	}
	for n := 1; ; n += stride {
		fs := crashfs.New()
		failed, err := failAt(t, fs, n)
		if err != nil {
			t.Fatalf("operation %d: %v", n, err)
		}
		if !failed {
			t.Logf("a run has less than %d writing operations", n)
			return
		}
	}
}

// failAt runs every client's work a little, one after the other, on a disk whose
// n-th writing operation fails.
func failAt(t *testing.T, fs *crashfs.FS, n int) (failed bool, err error) {
	var mu sync.Mutex
	ops := 0
	inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if ops++; ops == n {
			failed = true
			return errorfs.ErrInjected
		}
		return nil
	})
	known := newFacts(0, nil)
	w, err := disk(t, errorfs.Wrap(fs, inject))
	if err == nil {
		if d, err := w.Create(ctx, "db", Creation{Partitioned: true}); err == nil {
			for i, c := range clients {
				few, cancel := context.WithCancel(ctx)
				_ = c(few, func() *Database { return d }, known.limited(3, cancel), 0, kvtest.NewRand(uint64(i))) // it ends with the disk
				cancel()
			}
		}
		w.closeAll()
	}
	r := kvtest.NewRand(uint64(n))
	recovered(t, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r.Rand}), known, 0)
	if t.Failed() {
		return failed, fmt.Errorf("failed; the disk did: %v", failed)
	}
	return failed, nil
}

// limited returns facts that share f's maps and call cancel after n notes.
func (f *facts) limited(n int, cancel func()) *facts {
	l := newFacts(n, cancel)
	l.mu.written, l.mu.gone, l.mu.seen = f.mu.written, f.mu.gone, f.mu.seen
	return l
}
