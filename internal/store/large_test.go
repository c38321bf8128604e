package store

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

func TestLarge(t *testing.T) {
	e := kvtest.NewRemote(kvtest.NewModel(kvtest.ModelOptions{}), nil)
	w := openWorld(t, e, Options{})
	t.Cleanup(w.closeAll) // nothing owns the chunks, which Check would tell
	d := w.create("db", false)
	fences := 0
	fence := func(kv.Txn) error { fences++; return nil }
	for n, length := range []int{0, 1, chunkSize, chunkSize + 1, largePage, 3*largePage + 7} {
		l := d.Large(&keyspace.BlobChunk, keyspace.U(uint64(100+n)))
		data := []byte(strings.Repeat("0123456789abcdefg", length/17+1))[:length]
		fences = 0
		out := l.Writer(ctx, fence)
		for _, part := range [][]byte{data[:min(length, 100)], data[min(length, 100):]} {
			if _, err := out.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Flush(); err != nil || out.Len() != int64(length) || fences != (length+largePage-1)/largePage {
			t.Errorf("%d bytes were written as %d behind %d fences, %v", length, out.Len(), fences, err)
		}
		in := l.Reader(ctx, int64(length))
		for _, part := range [][2]int{{0, length}, {length / 2, length}, {length / 3, length / 2}, {chunkSize - 1, chunkSize + 1}} {
			from, to := min(part[0], length), min(part[1], length)
			got := make([]byte, to-from)
			if n, err := in.ReadAt(got, int64(from)); n != len(got) || err != nil || !bytes.Equal(got, data[from:to]) {
				t.Errorf("[%d, %d) of %d: %d bytes, %v", from, to, length, n, err)
			}
		}
		if n, err := in.ReadAt(make([]byte, 2), int64(length-1)); length > 0 && (n != 1 || err != io.EOF) {
			t.Errorf("beyond the end of %d: %d, %v", length, n, err)
		}
		inView(t, d, func(r *Reader) error {
			if stored, err := l.Stored(r.v); err != nil || stored != uint64(length) {
				t.Errorf("%d of %d bytes are stored, %v", stored, length, err)
			}
			return nil
		})
	}
	if _, err := d.Large(&keyspace.BlobChunk, keyspace.U(99)).Reader(ctx, 10).ReadAt(make([]byte, 10), 0); !dberr.Is(err, dberr.NotFound) {
		t.Errorf("a value that is not there is read: %v", err)
	}
	var there []uint64
	inView(t, d, func(r *Reader) error {
		return d.EachLarge(r.v, &keyspace.BlobChunk, func(parts []keyspace.Part) error {
			there = append(there, parts[0].Num())
			return nil
		})
	})
	if len(there) != 5 || there[0] != 101 || there[4] != 105 {
		t.Errorf("there are chunks of %v", there)
	}
}

func TestLargeFence(t *testing.T) {
	w := openWorld(t, kvtest.NewModel(kvtest.ModelOptions{}), Options{})
	t.Cleanup(w.closeAll)
	d := w.create("db", false)
	l := d.Large(&keyspace.BlobChunk, keyspace.U(7))
	fenced := errors.New("somebody clears up")
	pages := 0
	out := l.Writer(ctx, func(kv.Txn) error {
		if pages++; pages > 1 {
			return fenced
		}
		return nil
	})
	if _, err := out.Write(make([]byte, 3*largePage)); !errors.Is(err, fenced) {
		t.Errorf("a write behind the fence: %v", err)
	}
	inView(t, d, func(r *Reader) error {
		if n, err := l.Stored(r.v); n != largePage || err != nil {
			t.Errorf("%d bytes were written, %v", n, err)
		}
		return nil
	})
}

// inView runs fn over the database.
func inView(t *testing.T, d *Database, fn func(*Reader) error) {
	t.Helper()
	if err := d.Whole().View(ctx, fn); err != nil {
		t.Fatal(err)
	}
}
