package snapshot

import (
	"bytes"
	"testing"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// FuzzLoad loads anything: bytes as they are, and as frames with sums that fit,
// which gets further. What is stored is sound, and what comes to its end can be
// sent and loaded again.
func FuzzLoad(f *testing.F) {
	from := newWorld(f, store.Options{}).create("db", true).Whole()
	a := newAuthor(f, from, 1)
	for range 20 {
		a.step()
	}
	write(f, from, document.Edit{ID: "p:x", Body: []byte(`{}`),
		Attachments: []document.Attachment{{Name: "a", ContentType: "text/plain", Data: []byte("x")}}})
	f.Add(send(f, from.Database().Within("p"), "", 0), false)
	f.Add(framesOf(send(f, from.Database().Within("p"), "", 0)), true)
	f.Add(framesOf(send(f, from, "", 1)), true)
	f.Fuzz(func(t *testing.T, data []byte, framed bool) {
		if framed {
			data = made(func(out *frames) { putFrames(out, data) })
		}
		to := newWorld(t, store.Options{}).create("copy", true).Whole()
		p, err := Load(ctx, to, bytes.NewReader(data), LoadOptions{Rules: couchwire.Rules{MaxDocument: 1 << 20, MaxAttachment: 1 << 20}})
		if err != nil {
			if !dberr.Is(err, dberr.Invalid) || p.Whole {
				t.Fatalf("%+v %v", p, err)
			}
			return
		}
		if !p.Whole {
			t.Fatalf("no error, and no end: %+v", p)
		}
		again := newWorld(t, store.Options{}).create("copy", true).Whole()
		load(t, again, send(t, to, "", 0))
		if image(t, again) != image(t, to) {
			t.Fatal("the loaded database has another copy")
		}
	})
}

// framesOf takes the sums out of a stream, and its beginning.
func framesOf(stream []byte) (b []byte) {
	r, err := newFrameReader(bytes.NewReader(stream))
	for err == nil {
		var kind byte
		var payload []byte
		if kind, payload, err = r.next(); err == nil && kind != kindHeader {
			b = append(b, kind, byte(len(payload)), byte(len(payload)>>8), byte(len(payload)>>16))
			b = append(b, payload...)
		}
	}
	return b
}

// putFrames writes what framesOf gave.
func putFrames(out *frames, b []byte) {
	for len(b) >= 4 {
		n := int(b[1]) | int(b[2])<<8 | int(b[3])<<16
		rest := b[4:]
		n = min(n, len(rest))
		_ = out.put(b[0], rest[:n])
		b = rest[n:]
	}
}
