package store

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// Each test here is a bug that was there once.

func TestDropStepMayRunAgain(t *testing.T) {
	testrun.Sequential(t)
	for n := 1; n < 12; n++ {
		for _, fault := range []kvtest.Fault{kvtest.Rerun, kvtest.LostCommit, kvtest.LostAnswer} {
			w, f := newModelWorld(t, Options{})
			d := w.create("db", true)
			var edits []document.Edit
			for i := range dropPage + 20 {
				edits = append(edits, edit(t, fmt.Sprintf("p:%03d", i), "", `{}`))
			}
			if _, err := d.Whole().Write(ctx, edits, WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := d.DropPartition(ctx, "p", n%2 == 0); err != nil {
				t.Fatal(err)
			}
			f.Fail(n, fault)
			_ = w.Sweep(ctx) // the fault may be reported; the next one must do the rest
			f.Fail(1, kvtest.NoFault)
			w.sweep()
			w.check()
			if got := w.get(d, "p:000"); !strings.Contains(got, "missing") && !strings.Contains(got, "deleted") {
				t.Fatalf("fault %d of call %d: %s", fault, n, got)
			}
		}
	}
}

func TestStaleDropStepDoesNothing(t *testing.T) {
	for _, tombstones := range []bool{false, true} {
		w := newWorld(t, Options{})
		d := w.create("db", true)
		w.put(d, "p:a", "", `{}`)
		if err := d.DropPartition(ctx, "p", tombstones); err != nil {
			t.Fatal(err)
		}
		kind := map[bool]string{false: jobPartition, true: jobTombstones}[tombstones]
		var old jobs.Job
		err := w.engine.View(ctx, func(v kv.Snapshot) (err error) {
			old, err = jobs.Get(v, d.job(kind, "p", w.now).ID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		w.sweep()
		w.put(d, "p:b", "", `{"n":1}`)
		if err := w.runJob(ctx, old); err != nil {
			t.Fatal(err)
		}
		if got := w.get(d, "p:b"); !strings.Contains(got, `"n":1`) {
			t.Errorf("a job that was done removed a new document: %s", got)
		}
	}
}

func TestBurialReachesReaders(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	w.put(d, "p:a", "", `{}`)
	one := w.put(d, "p:b", "", `{}`)
	dead := edit(t, "p:b", one, `{}`)
	dead.Deleted = true
	if err := d.DropPartition(ctx, "p", true); err != nil {
		t.Fatal(err)
	}
	// The sweeper is between writing the tombstones and the end.
	if more, err := d.stepOf(jobTombstones, "p"); err != nil || !more {
		t.Fatal(more, err)
	}
	w.put(d, "q:z", "", `{}`)
	for _, s := range []Scope{d.Whole(), d.Within("p")} {
		var last Seq
		err := s.View(ctx, func(r *Reader) (err error) {
			last, err = r.LastSeq()
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		seen := w.feed(s, 0)
		w.sweep()
		if late := w.feed(s, last); len(late) > 0 {
			t.Errorf("entries appeared after the last sequence: %v", late)
		}
		if all := w.feed(s, 0); len(all) != len(seen) {
			t.Errorf("entries appeared behind a reader: it saw %v of %v", seen, all)
		}
	}
	if got := w.get(d, "p:a"); !strings.Contains(got, "deleted") {
		t.Errorf("after the drop: %s", got)
	}
}

func TestTombstonesOfBurialAreReadable(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	for i := range dropPage + 1 {
		w.put(d, fmt.Sprintf("p:%03d", i), "", `{}`)
	}
	if err := d.DropPartition(ctx, "p", true); err != nil {
		t.Fatal(err)
	}
	if _, err := d.stepOf(jobTombstones, "p"); err != nil {
		t.Fatal(err)
	}
	if got := w.get(d, "p:000"); !strings.Contains(got, "deleted") {
		t.Errorf("a tombstone that the feed shows: %s", got)
	}
	if got := w.get(d, fmt.Sprintf("p:%03d", dropPage)); !strings.Contains(got, "missing") {
		t.Errorf("a document that is still to get its tombstone: %s", got)
	}
	w.sweep()
}

// withAttachment adds a small attachment to an edit.
func withAttachment(e document.Edit, data string) document.Edit {
	e.Attachments = []document.Attachment{{Name: "a", ContentType: "text/plain", Data: []byte(data)}}
	return e
}

func TestRevisionComesTwice(t *testing.T) {
	a, b, c := hashed(1, "a"), hashed(2, "b"), hashed(3, "c")
	t.Run("with older ancestors", func(t *testing.T) {
		w := newWorld(t, Options{})
		d := w.create("db", true)
		w.mustWrite(d, withAttachment(replicated(t, "p:x", `{}`, c), "data"))
		w.mustWrite(d, withAttachment(replicated(t, "p:x", `{"other":1}`, c, b, a), "data"))
		if got := w.get(d, "p:x"); !strings.HasSuffix(got, "{}") {
			t.Errorf("the body changed: %s", got)
		}
	})
	t.Run("inner, as a tombstone", func(t *testing.T) {
		w := newWorld(t, Options{})
		d := w.create("db", true)
		w.mustWrite(d, replicated(t, "p:x", `{}`, c, b, a))
		e := withAttachment(replicated(t, "p:x", `{}`, b), "data")
		e.Deleted = true
		w.mustWrite(d, e)
	})
	t.Run("after stemming", func(t *testing.T) {
		w := newWorld(t, Options{})
		d := w.create("db", true)
		if err := d.SetRevsLimit(ctx, 1); err != nil {
			t.Fatal(err)
		}
		w.mustWrite(d, withAttachment(replicated(t, "p:x", `{}`, a), "data"))
		w.mustWrite(d, replicated(t, "p:x", `{}`, b, a))
		w.mustWrite(d, withAttachment(replicated(t, "p:x", `{}`, a), "data"))
		w.now = w.now.Add(time.Hour)
		w.sweep()
	})
	t.Run("as a root and by an edit", func(t *testing.T) {
		for _, extended := range []bool{false, true} {
			w := newWorld(t, Options{})
			d := w.create("db", true)
			one := rev(t, w.put(d, "p:x", "", `{}`))
			child := withAttachment(document.Edit{ID: "p:x", Parent: one, Body: []byte(`{"n":2}`)}, "data")
			r := w.write(w.create("scratch", false), document.Edit{ID: "p:x", Body: []byte(`{}`)})
			same := child
			same.Parent = r.Rev
			two := w.write(must(w.Database(ctx, "scratch")), same)
			if two.Err != nil {
				t.Fatal(two.Err)
			}
			w.mustWrite(d, withAttachment(replicated(t, "p:x", `{"n":2}`, two.Rev.String()), "data"))
			if extended {
				w.mustWrite(d, replicated(t, "p:x", `{"n":3}`, hashed(3, "c"), two.Rev.String()))
			}
			if got := w.mustWrite(d, child); got != two.Rev.String() {
				t.Errorf("revision %s, want %s", got, two.Rev)
			}
			w.check()
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestRefusedPurgeIsAloneWithIt(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	one := rev(t, w.put(d, "p:a", "", `{}`))
	kept := rev(t, w.put(d, "r:a", "", `{}`))
	if err := d.DropPartition(ctx, "p", false); err != nil {
		t.Fatal(err)
	}
	entered, release := make(chan bool), make(chan bool)
	go d.do(ctx, "test", func(*group) error { entered <- true; <-release; return nil })
	<-entered // everything that comes now shares the next commit
	purged, written := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := d.Purge(ctx, []Purging{{ID: "r:a", Revs: []document.Rev{kept}}, {ID: "p:a", Revs: []document.Rev{one}}})
		purged <- err
	}()
	go func() {
		_, err := d.Whole().Write(ctx, []document.Edit{edit(t, "q:a", "", `{}`)}, WriteOptions{})
		written <- err
	}()
	for queued := 0; queued < 2; {
		d.queue.pending.Lock()
		queued = len(d.queue.pending.small)
		d.queue.pending.Unlock()
	}
	close(release)
	if err := <-written; err != nil {
		t.Errorf("a write beside a refused purge: %v", err)
	}
	if err := <-purged; !dberr.Is(err, dberr.Conflict) {
		t.Errorf("purge in a partition being dropped: %v", err)
	}
	if got := w.get(d, "r:a"); !strings.HasSuffix(got, "{}") {
		t.Errorf("half of the refused purge was done: %s", got)
	}
}

func TestExpiredUploadRefusesItsEditAlone(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	att, err := d.Whole().Upload(ctx, "p:a", strings.NewReader("data"), Upload{})
	if err != nil {
		t.Fatal(err)
	}
	att.Name = "a"
	w.now = w.now.Add(25 * time.Hour)
	w.sweep()
	late := edit(t, "p:a", "", `{}`)
	late.Attachments = []document.Attachment{att}
	rs, err := d.Whole().Write(ctx, []document.Edit{late, edit(t, "p:b", "", `{}`)}, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !dberr.Is(rs[0].Err, dberr.Precondition) || rs[1].Err != nil {
		t.Errorf("%+v", rs)
	}
}

// slowReader calls between after its first half.
type slowReader struct {
	parts   [][]byte
	between func()
}

func (r *slowReader) Read(p []byte) (int, error) {
	if len(r.parts) == 0 {
		return 0, errStop
	}
	n := copy(p, r.parts[0])
	if r.parts[0] = r.parts[0][n:]; len(r.parts[0]) == 0 {
		r.parts = r.parts[1:]
		if r.between != nil {
			r.between()
			r.between = nil
		}
	}
	if len(r.parts) == 0 {
		return n, eof
	}
	return n, nil
}

func TestUploadBeyondItsDeadline(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	half := bytes.Repeat([]byte("x"), largePage+1)
	in := &slowReader{parts: [][]byte{half, half}, between: func() {
		w.now = w.now.Add(25 * time.Hour)
		w.sweep()
	}}
	if _, err := d.Whole().Upload(ctx, "p:a", in, Upload{}); !dberr.Is(err, dberr.Timeout) {
		t.Errorf("an upload whose chunks were swept: %v", err)
	}
}

func TestUploadIntoDroppedDatabase(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	half := bytes.Repeat([]byte("x"), largePage+1)
	in := &slowReader{parts: [][]byte{half, half}, between: func() {
		if err := w.Drop(ctx, "db"); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(w.engine.Limits().Age + commitsWithin + time.Second)
		w.sweep()
	}}
	if _, err := d.Whole().Upload(ctx, "p:a", in, Upload{}); !dberr.Is(err, dberr.NotFound) {
		t.Errorf("an upload into a database that is gone: %v", err)
	}
	if left := rows(t, w.engine, databaseRange(d), showKey); left != "" {
		t.Errorf("rows of a dropped database:\n%s", left)
	}
}

func TestNothingFailsAfterTheCommit(t *testing.T) {
	w, f := newModelWorld(t, Options{})
	d := w.create("db", true)
	w.put(d, "p:a", "", `{}`)
	changed, leave := d.Whole().Watch(1)
	defer leave()
	put, fn := writing(t, d, edit(t, "q:a", "", `{}`))
	f.Fail(2, kvtest.Refused) // the call after the commit
	errs := together(d, fn, func(g *group) error {
		s, err := g.partition("p")
		if err != nil {
			return err
		}
		return g.dropPartition("p", s, false)
	})
	if errs[0] != nil || errs[1] != nil || put.edits[0].err != nil {
		t.Fatalf("%v %v", errs, put.edits[0].err)
	}
	select {
	case <-changed:
	default:
		t.Error("the commit woke nobody")
	}
	f.Fail(1, kvtest.NoFault)
	if got := w.get(d, "p:a"); !strings.Contains(got, "missing") {
		t.Errorf("the dropped partition is still seen: %s", got)
	}
	w.sweep()
}

func TestManySupersededInOneWrite(t *testing.T) {
	testrun.Sequential(t)
	w, _ := newModelWorld(t, Options{})
	d := w.create("db", true)
	var edits []document.Edit
	for i := range 2000 {
		edits = append(edits, edit(t, fmt.Sprintf("p:%060d", i), "", `{}`))
	}
	for range 2 {
		rs, err := d.Whole().Write(ctx, edits, WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range rs {
			edits[i].Parent = rs[i].Rev
		}
	}
	w.now = w.now.Add(time.Hour)
	w.sweep()
	w.check()
}

func TestNoteOfChangesIsNotLost(t *testing.T) {
	w, f := newModelWorld(t, Options{})
	d := w.create("db", false)
	w.sweep()
	_, last, _, err := w.Updates(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.put(d, "a", "", `{}`)
	f.Fail(1, kvtest.Refused)
	if err := w.Sweep(ctx); err == nil {
		t.Error("the fault was not told")
	}
	w.sweep()
	if us, _, _, err := w.Updates(ctx, last); err != nil || len(us) != 1 {
		t.Errorf("%v %v", us, err)
	}
}

func TestForgetSparesTheNewDatabase(t *testing.T) {
	w := newWorld(t, Options{})
	old := w.create("db", false)
	if err := w.Drop(ctx, "db"); err != nil {
		t.Fatal(err)
	}
	// The old one is still open here, as between the commit of a drop and
	// what follows it.
	w.open.put(old)
	d := w.create("db", false)
	if d == old {
		t.Fatal("the new database is the old one")
	}
	w.dropHandle("db", old.number)
	w.put(d, "a", "", `{}`)
	if got := w.get(d, "a"); !strings.HasSuffix(got, "{}") {
		t.Errorf("the new database was closed: %s", got)
	}
}

func TestForeignBookmark(t *testing.T) {
	w := newWorld(t, Options{})
	other, d := w.create("other", true), w.create("db", true)
	w.put(other, "secret:a", "", `{}`)
	w.put(d, "p:a", "", `{}`)
	for _, descending := range []bool{false, true} {
		for _, key := range [][]byte{nil, {0}, metaKey("store"), other.partitionKey("a"), {0xff}} {
			p := packed.Writer{}
			p.Byte(rowVersion)
			p.Text("")
			p.Flag(descending)
			p.Uint(d.incarnation)
			p.Bytes(key)
			_, _, _, err := d.Partitions(ctx, ByName, descending, 10, base64.RawURLEncoding.EncodeToString(p))
			if !dberr.Is(err, dberr.Invalid) {
				t.Errorf("a bookmark at %x: %v", key, err)
			}
		}
	}
}

func TestEndedDropHidesFromOlderSnapshots(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	w.put(d, "p:a", "", `{}`)
	if err := d.DropPartition(ctx, "p", false); err != nil {
		t.Fatal(err)
	}
	e := &hookEngine{Engine: w.base}
	w.engine.Engine = e
	e.inView = func() { // the drop ends between the snapshot and the closure
		e.inView = nil
		w.sweep()
	}
	var ids []string
	err := d.Whole().View(ctx, func(r *Reader) error {
		for en, err := range r.Docs(Span{}, false) {
			if err != nil {
				return err
			}
			ids = append(ids, string(en.Doc.ID))
		}
		return nil
	})
	if err != nil || len(ids) > 0 {
		t.Errorf("%v %v", ids, err)
	}
}

func TestSpaceIsCountedOnce(t *testing.T) {
	limit := uint64(200)
	w := newWorld(t, Options{MaxPartition: func() uint64 { return limit }})
	d := w.create("db", true)
	body := `{"x":"` + strings.Repeat("x", 80) + `"}` // 88 bytes
	one := document.NewRev(document.Rev{}, false, []byte(body), nil)
	edits := []document.Edit{
		edit(t, "p:a", "", body),
		edit(t, "p:a", one.String(), strings.Replace(body, "x\"}", "y\"}", 1)),
		edit(t, "p:b", "", body), // 88 are used, however often a was written
		edit(t, "p:c", "", body), // 176 are used
		edit(t, "p:d", "", body), // 264 are used
	}
	rs, err := d.Whole().Write(ctx, edits, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	refused := slices.IndexFunc(rs, func(r Result) bool { return r.Err != nil })
	if refused != 4 || !dberr.Is(rs[4].Err, dberr.Forbidden) {
		t.Errorf("%+v", rs)
	}
}

func TestDropOfMuchEditedDocument(t *testing.T) {
	testrun.Sequential(t)
	w := openWorld(t, kvtest.NewModel(kvtest.ModelOptions{Limits: kv.Limits{Txn: 128 << 10}}), Options{})
	t.Cleanup(func() { w.check(); w.closeAll() })
	d := w.create("db", true)
	parent := document.Rev{}
	for range 60 {
		var edits []document.Edit
		for range 100 {
			edits = append(edits, document.Edit{ID: "p:hot", Parent: parent, Body: []byte(`{}`)})
			parent = document.NewRev(parent, false, []byte(`{}`), nil)
		}
		if rs, err := d.Whole().Write(ctx, edits, WriteOptions{}); err != nil || rs[99].Rev != parent {
			t.Fatal(rs[99], err)
		}
	}
	w.put(d, "p:other", "", `{}`)
	if err := d.DropPartition(ctx, "p", false); err != nil {
		t.Fatal(err)
	}
	w.sweep()
	w.put(d, "p:hot", "", `{}`)
}

func TestBurialOfHighestGeneration(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	w.mustWrite(d, replicated(t, "p:a", `{}`, "2147483647-a"))
	w.mustWrite(d, replicated(t, "p:a", `{}`, "1-a"))
	w.put(d, "p:b", "", `{}`)
	if err := d.DropPartition(ctx, "p", true); err != nil {
		t.Fatal(err)
	}
	w.sweep()
	if got := w.feed(d.Within("p"), 0); len(got) != 1 || !strings.HasSuffix(got[0], "p:b true") {
		t.Errorf("after the drop: %v", got)
	}
	w.put(d, "p:c", "", `{}`)
}

func TestPendingIsZeroAtTheEndWhileDropping(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	w.put(d, "q:a", "", `{}`)
	w.put(d, "p:a", "", `{}`)
	if err := d.DropPartition(ctx, "p", false); err != nil {
		t.Fatal(err)
	}
	err := d.Whole().View(ctx, func(r *Reader) error {
		n, err := r.Pending(1)
		if n != 0 {
			t.Errorf("%d are pending behind the last visible entry", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.sweep()
}

// TestDropStepTellsOfItsError has the commit of a page fail after it was worked
// out: that there is more must not make the round try again at once.
func TestDropStepTellsOfItsError(t *testing.T) {
	e := &refusing{Engine: kvtest.NewModel(kvtest.ModelOptions{})}
	w := openWorld(t, e, Options{})
	t.Cleanup(w.closeAll)
	d := w.create("db", true)
	w.put(d, "p:a", "", `{}`)
	if err := d.DropPartition(ctx, "p", false); err != nil {
		t.Fatal(err)
	}
	e.refuse = true
	if err := w.runJob(ctx, d.job(jobPartition, "p", w.now)); !dberr.Is(err, dberr.Unavailable) || e.refused != 1 {
		t.Errorf("%v after %d tries", err, e.refused)
	}
	e.refuse = false
	w.sweep()
	w.check()
}

func TestRankTellsOfItsError(t *testing.T) {
	testrun.Sequential(t)
	e := &refusing{Engine: kvtest.NewModel(kvtest.ModelOptions{})}
	w := openWorld(t, e, Options{})
	t.Cleanup(w.closeAll)
	d := w.create("db", true)
	var edits []document.Edit
	for i := range rankPartitions + 1 {
		edits = append(edits, edit(t, fmt.Sprintf("p%d:a", i), "", `{}`))
	}
	if _, err := d.Whole().Write(ctx, edits, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.refuse = true
	if err := d.rank(ctx); !dberr.Is(err, dberr.Unavailable) || e.refused != 1 {
		t.Errorf("%v after %d tries", err, e.refused)
	}
}

// refusing is an engine whose commits fail after the closure has run.
type refusing struct {
	kv.Engine
	refuse  bool
	refused int
}

func (e *refusing) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	return e.Engine.Update(ctx, func(tx kv.Txn) error {
		err := fn(tx)
		if err == nil && e.refuse {
			if e.refused++; e.refused > 5 {
				panic("the same job is tried on and on")
			}
			return dberr.New(dberr.Unavailable, "", "the disk is full")
		}
		return err
	})
}
