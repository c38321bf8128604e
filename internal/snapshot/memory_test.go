package snapshot

import (
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// noise is bytes that do not repeat.
type noise struct {
	left int64
	x    uint64
}

func (n *noise) Read(b []byte) (int, error) {
	if n.left == 0 {
		return 0, io.EOF
	}
	b = b[:min(int64(len(b)), n.left)]
	for i := range b {
		n.x ^= n.x << 13
		n.x ^= n.x >> 7
		n.x ^= n.x << 17
		b[i] = byte(n.x)
	}
	n.left -= int64(len(b))
	return len(b), nil
}

// live is the memory that is in use. It is the least of a few readings, since others allocate between a collection and the
// reading after it, for long on a busy machine.
func live() uint64 {
	var m runtime.MemStats
	least := uint64(math.MaxUint64)
	for range 3 {
		runtime.GC()
		runtime.ReadMemStats(&m)
		least = min(least, m.HeapAlloc)
	}
	return least
}

// watched looks at the memory in use now and then.
type watched struct {
	from io.Reader
	read int64
	next int64
	peak uint64
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.from.Read(b)
	if w.read += int64(n); w.read >= w.next {
		w.next += 10 << 20
		w.peak = max(w.peak, live())
	}
	return n, err
}

// onDisk is a world whose files do not count as memory, with two databases.
func onDisk(t *testing.T) (from, to store.Scope) {
	e, err := pebblekv.Open(pebblekv.Options{Dir: t.TempDir(), CacheBytes: 8 << 20, MemTableBytes: 1 << 20})
	must(t, err)
	s, err := store.Open(ctx, e, store.Options{Idle: true})
	must(t, err)
	t.Cleanup(func() {
		must(t, s.Check(ctx))
		s.Close()
		e.Close()
	})
	d, err := s.Create(ctx, "db", store.Creation{})
	must(t, err)
	copied, err := s.Create(ctx, "copy", store.Creation{})
	must(t, err)
	return d.Whole(), copied.Whole()
}

// carry brings a database over, packed, and holds the memory of both sides below
// a bound.
func carry(t *testing.T, from, to store.Scope) (Progress, int64) {
	t.Helper()
	before := live()
	pipe, out := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		p, err := NewPacker(Zstd, out)
		if err == nil {
			var src *Source
			if src, err = Open(ctx, from, "u", ""); err == nil {
				_, err = src.Send(ctx, p, 0)
			}
		}
		if err == nil {
			err = p.Close()
		}
		out.CloseWithError(err)
		sent <- err
	}()
	w := &watched{from: pipe}
	in, err := NewUnpacker(Zstd, w)
	must(t, err)
	defer in.Close()
	p, err := Load(ctx, to, in, LoadOptions{})
	must(t, err)
	must(t, <-sent)
	if most := before + 64<<20; w.peak > most {
		t.Errorf("%d MB in memory, %d before", w.peak>>20, before>>20)
	}
	return p, w.read
}

// TestLargeAttachmentsStream carries 100 MB over and watches the memory of both
// sides.
func TestLargeAttachmentsStream(t *testing.T) {
	testrun.Sequential(t)
	const size = 72 << 20
	from, to := onDisk(t)
	up, err := from.Upload(ctx, "d", &noise{size, 1}, store.Upload{})
	must(t, err)
	up.Name, up.ContentType = "big", "image/png"
	write(t, from, document.Edit{ID: "d", Body: []byte(`{}`), Attachments: []document.Attachment{up}})
	if p, read := carry(t, from, to); !p.Whole || p.Bytes != size || read < size {
		t.Errorf("%+v, %d bytes read", p, read)
	}
	must(t, to.View(ctx, func(r *store.Reader) error {
		rev, err := r.Winner("d")
		if err == nil && rev.Attachments[0].Digest != up.Digest {
			t.Error("other bytes arrived")
		}
		return err
	}))
}

// TestManyLargeLeavesStream carries a document of a hundred conflicts of a
// megabyte each over, between two small ones.
func TestManyLargeLeavesStream(t *testing.T) {
	testrun.Sequential(t)
	const leaves = 72
	from, to := onDisk(t)
	random := rand.NewChaCha8([32]byte{})
	raw := make([]byte, 3<<18)
	for i := range leaves {
		_, _ = random.Read(raw) // never fails
		rev, err := document.ParseRev(fmt.Sprintf("1-%032x", i+1))
		must(t, err)
		write(t, from, document.Edit{ID: "d", Path: []document.Rev{rev}, Body: fmt.Appendf(nil, `{"x":"%s"}`, base64.StdEncoding.EncodeToString(raw))})
	}
	write(t, from, document.Edit{ID: "c", Body: []byte(`{}`)}, document.Edit{ID: "e", Body: []byte(`{}`)})
	if p, _ := carry(t, from, to); !p.Whole || p.Documents != 3 || p.Leaves != int64(leaves+2) {
		t.Errorf("%+v", p)
	}
	if image(t, from) != image(t, to) {
		t.Error("the copy is another one")
	}
}
