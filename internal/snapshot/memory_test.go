package snapshot

import (
	"io"
	"runtime"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
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

// live is the memory that is really in use.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
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

// TestLargeAttachmentsStream carries 100 MB over, packed, and watches the memory
// of both sides. The stores are on the disk, where their files do not count.
func TestLargeAttachmentsStream(t *testing.T) {
	const size = 100 << 20
	e, err := pebblekv.Open(pebblekv.Options{Dir: t.TempDir(), CacheBytes: 8 << 20})
	must(t, err)
	s, err := store.Open(ctx, e, store.Options{Idle: true})
	must(t, err)
	defer func() {
		must(t, s.Check(ctx))
		s.Close()
		e.Close()
	}()
	d, err := s.Create(ctx, "db", store.Creation{})
	must(t, err)
	from := d.Whole()
	up, err := from.Upload(ctx, "d", &noise{size, 1}, store.Upload{})
	must(t, err)
	up.Name, up.ContentType = "big", "image/png"
	write(t, from, document.Edit{ID: "d", Body: []byte(`{}`), Attachments: []document.Attachment{up}})
	copied, err := s.Create(ctx, "copy", store.Creation{})
	must(t, err)
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
	p, err := Load(ctx, copied.Whole(), in, LoadOptions{})
	must(t, err)
	must(t, <-sent)
	if !p.Whole || p.Bytes != size || w.read < size {
		t.Errorf("%+v, %d bytes read", p, w.read)
	}
	if most := before + 64<<20; w.peak > most {
		t.Errorf("%d MB in memory, %d before", w.peak>>20, before>>20)
	}
	must(t, copied.Whole().View(ctx, func(r *store.Reader) error {
		rev, err := r.Winner("d")
		if err == nil && rev.Attachments[0].Digest != up.Digest {
			t.Error("other bytes arrived")
		}
		return err
	}))
}
