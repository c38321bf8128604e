package couchapi_test

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/testkit/apitest"
)

// pattern is a reader of n bytes that do not compress or repeat, and their
// digest.
type pattern struct {
	left int64
	x    uint64
	sum  hash.Hash
}

func newPattern(n int64) *pattern { return &pattern{left: n, x: 1, sum: md5.New()} }

func (p *pattern) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	b = b[:min(int64(len(b)), p.left)]
	for i := range b {
		p.x ^= p.x << 13
		p.x ^= p.x >> 7
		p.x ^= p.x << 17
		b[i] = byte(p.x)
	}
	p.sum.Write(b)
	p.left -= int64(len(b))
	return len(b), nil
}

// digester is a ResponseWriter that keeps the digest of the body only, and
// looks now and then at how much memory is in use.
type digester struct {
	discard
	sum  hash.Hash
	n    int64
	next int64
	peak uint64
}

func (d *digester) Write(b []byte) (int, error) {
	d.n += int64(len(b))
	if d.n >= d.next {
		d.next += 20 << 20
		d.peak = max(d.peak, live())
	}
	return d.sum.Write(b)
}

// live is the memory that is really in use.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestAttachmentsStream sends a large attachment in, reads it back in every
// form, and watches the memory that reading takes.
func TestAttachmentsStream(t *testing.T) {
	// On disk, files do not count as memory; the cache is small because builds with the race detector keep it on the heap.
	e, err := pebblekv.Open(pebblekv.Options{Dir: t.TempDir(), CacheBytes: 1 << 20, MemTableBytes: 1 << 20})
	must(t, err)
	a := newTestAPIWith(t, apitest.Options{Engine: e})
	a.do("PUT", "/db", "").want(201, "")
	const size = int64(16 << 20)
	in := newPattern(size)
	send := func(method, target string, body io.Reader, header ...string) *digester {
		r := httptest.NewRequest(method, target, body)
		r.SetBasicAuth("adm", "pass")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := &digester{discard: discard{header: http.Header{}}, sum: md5.New()}
		a.ServeHTTP(w, r)
		return w
	}
	if w := send("PUT", "/db/d/big", in, "Content-Type", "image/png"); w.status != 201 {
		t.Fatalf("PUT: %d", w.status)
	}
	want := in.sum.Sum(nil)
	before := live()
	for _, c := range []struct {
		target, accept string
		least          int64
	}{
		{"/db/d/big", "", size},
		{"/db/d?attachments=true", "application/json", size / 3 * 4},
		{"/db/d?attachments=true", "multipart/related", size},
	} {
		w := send("GET", c.target, nil, "Accept", c.accept)
		if w.status != 200 || w.n < c.least || c.accept == "" && !bytes.Equal(w.sum.Sum(nil), want) {
			t.Errorf("%s as %q gave %d bytes", c.target, c.accept, w.n)
		}
		if w.peak > before+uint64(size)/2 {
			t.Errorf("%s as %q had %d MB in memory, %d before", c.target, c.accept, w.peak>>20, before>>20)
		}
	}
	if w := send("GET", "/db/d/big", nil, "Range", fmt.Sprintf("bytes=%d-", size-5)); w.n != 5 || w.status != 206 {
		t.Errorf("the last bytes: %d %d", w.status, w.n)
	}
}
