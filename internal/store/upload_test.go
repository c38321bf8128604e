package store

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// slowUpload is an upload whose bytes come when the test gives them.
type slowUpload struct {
	in   *io.PipeWriter
	done chan error
	att  document.Attachment
}

func (w *world) upload(d *Database) *slowUpload {
	w.t.Helper()
	from, in := io.Pipe()
	u := &slowUpload{in: in, done: make(chan error, 1)}
	go func() {
		var err error
		u.att, err = d.Whole().Upload(ctx, "p:d", from, Upload{})
		from.CloseWithError(io.ErrClosedPipe)
		u.done <- err
	}()
	return u
}

// give sends bytes; the upload may have ended meanwhile.
func (u *slowUpload) give(n int) { _, _ = u.in.Write(make([]byte, n)) }

// end ends the upload and returns its outcome.
func (u *slowUpload) end() error {
	u.in.Close()
	return <-u.done
}

// chunkRows counts the rows of attachments' bytes.
func chunkRows(t *testing.T, d *Database) (n int) {
	t.Helper()
	err := d.store.engine.View(ctx, func(v kv.Snapshot) error {
		n = 0
		return kv.Each(v, kv.Prefix(keyspace.BlobChunk.Key(d.number)), func(_, _ []byte) error { n++; return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestUploadMeetsItsSweep lets an upload end while the sweep removes it because
// its time is over: it is not acknowledged, and nothing of it stays.
func TestUploadMeetsItsSweep(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	u := w.upload(d)
	u.give(2 << 20)
	w.pass(pendingFor - time.Minute)
	w.now = w.now.Add(2 * time.Minute)
	if more, err := d.stepOf(jobSweep, ""); !more || err != nil {
		t.Fatalf("more %v, %v", more, err)
	}
	u.give(1 << 20)
	if err := u.end(); err == nil {
		t.Errorf("an upload is acknowledged while the sweep removes it")
	}
	w.pass(time.Hour)
	if n := chunkRows(t, d); n != 0 {
		t.Errorf("%d chunks are left", n)
	}
	w.check()
}

// TestUploadAfterItsDeadline writes on after the sweep has removed the upload:
// nothing of what comes then stays.
func TestUploadAfterItsDeadline(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	u := w.upload(d)
	u.give(2 << 20)
	w.pass(pendingFor + time.Hour)
	if n := chunkRows(t, d); n != 0 {
		t.Errorf("%d chunks of an upload that took too long are there", n)
	}
	u.give(5 << 20)
	if err := u.end(); err == nil {
		t.Error("an upload that took too long is acknowledged")
	}
	w.pass(time.Hour)
	if n := chunkRows(t, d); n != 0 {
		t.Errorf("%d chunks came after the deadline and stay", n)
	}
}

// TestUploadsAndAClockThatLeaps moves the clock by years during an upload.
func TestUploadsAndAClockThatLeaps(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	w.sweep()
	superseded := w.put(d, "p:d", "", `{"old":true}`)
	w.put(d, "p:d", superseded, `{}`)
	u := w.upload(d)
	u.give(2 << 20)
	w.later(1000 * time.Hour)
	w.sweep()
	if err := d.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	u.give(1 << 20)
	if err := u.end(); err != nil {
		t.Fatalf("the clock ended an upload: %v", err)
	}
	u.att.Name, u.att.ContentType = "a", "text/plain"
	w.mustWrite(d, document.Edit{ID: "p:e", Body: []byte(`{}`), Attachments: []document.Attachment{u.att}})
	w.now = w.now.Add(2 * clockHold)
	w.sweep() // now the clock is believed
	w.check()
}

// TestCheckFindsLostChunks puts chunks where no blob and no upload is.
func TestCheckFindsLostChunks(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	u := w.upload(d)
	u.give(3 << 20)
	if err := u.end(); err != nil {
		t.Fatal(err)
	}
	w.check()
	pending := u.att.Blob
	put := func(key []byte) {
		t.Helper()
		if err := w.engine.Update(ctx, func(tx kv.Txn) error { return tx.Put(key, []byte("lost")) }); err != nil {
			t.Fatal(err)
		}
	}
	put(d.blobLarge(pending + 7).key(3))
	put(d.blobLarge(pending + 7).key(4))
	put(d.blobLarge(pending + 9).key(0))
	if err := w.Check(ctx); err == nil || !strings.Contains(err.Error(), "lost") && !strings.Contains(err.Error(), "chunks") {
		t.Errorf("the check says %v", err)
	}
	if err := d.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	w.check()
	if n := chunkRows(t, d); n != 3<<20/chunkSize {
		t.Errorf("%d chunks are left", n)
	}
}
