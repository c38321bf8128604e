package pebblekv

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// Keys as the keyspace makes them: a database number, a kind, an id.
func headKey(i int) []byte { return fmt.Appendf(nil, "\x01\x00\x00\x00\x00\x07d%s\x00h", docID(i)) }
func bodyKey(i int) []byte { return fmt.Appendf(nil, "\x01\x00\x00\x00\x00\x07d%s\x00w", docID(i)) }
func docID(i int) string   { return fmt.Sprintf("sensor-%04d:20261121T%08d", i%1000, i) }
func feedKey(i int) []byte {
	return binary.BigEndian.AppendUint64([]byte("\x01\x00\x00\x00\x00\x07s\x00\x00\x00\x00"), uint64(i))
}

// body returns a JSON document of about 1 KB that compresses as documents do.
func body(i int) []byte {
	r := kvtest.NewRand(uint64(i))
	var w strings.Builder
	fmt.Fprintf(&w, `{"type":"reading","sensor":"bridge-%d","at":"2026-11-21T%02d:%02d:%02d.%03dZ","values":[`,
		i%1000, r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000))
	for w.Len() < 600 {
		fmt.Fprintf(&w, `{"axis":"%c","mean":%.6f,"peak":%d},`, 'x'+rune(r.IntN(3)), r.NormFloat64(), r.IntN(100000))
	}
	w.WriteString(`null],"note":"`)
	words := []string{"nominal", "drift", "temperature", "calibrated", "vibration", "northern", "pylon", "overload", "wind"}
	for w.Len() < 1000 {
		w.WriteString(words[r.IntN(len(words))] + " ")
	}
	w.WriteString(`"}`)
	return []byte(w.String())
}

// putDoc writes the rows of document i.
func putDoc(t kv.Txn, i int, text []byte) error {
	small := kvtest.NewRand(uint64(i)).Bytes(60)
	for _, row := range []struct{ key, value []byte }{{headKey(i), small}, {bodyKey(i), text}, {feedKey(i), small}} {
		if err := t.Put(row.key, row.value); err != nil {
			return err
		}
	}
	return nil
}

// cpuSeconds returns the processor time of the process, background work included:
// it says more than the clock on a machine that does other things too.
func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(u.Utime) + seconds(u.Stime)
}

// residentMB returns the resident size of the process, 0 where that is unknown.
func residentMB(b *testing.B) float64 {
	runtime.GC()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kb); n == 1 {
			return kb / 1024
		}
	}
	return 0
}

// BenchmarkMany reads heads and bodies of documents that lie anywhere: one by one,
// by an iterator that goes from head to body, and each kind together.
func BenchmarkMany(b *testing.B) {
	const docs = 50_000
	e := open(b, Options{})
	ctx := context.Background()
	for at := 0; at < docs; at += 1000 {
		err := e.Update(ctx, func(t kv.Txn) error {
			for i := at; i < at+1000; i++ {
				if err := putDoc(t, i, body(i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := e.Compact(ctx, kv.Range{}); err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{2, 25, 100, 500} {
		for _, way := range []struct {
			name string
			read func(s kv.Snapshot, heads, bodies [][]byte) error
		}{{"gets", readByGets}, {"iterator", readByIterator}, {"many", readByMany}} {
			b.Run(fmt.Sprintf("%d/%s", n, way.name), func(b *testing.B) {
				r := kvtest.NewRand(1)
				b.ReportAllocs()
				begun := cpuSeconds(b)
				for b.Loop() {
					var heads, bodies [][]byte
					for range n {
						i := r.IntN(docs)
						heads, bodies = append(heads, headKey(i)), append(bodies, bodyKey(i))
					}
					if err := e.View(ctx, func(s kv.Snapshot) error { return way.read(s, heads, bodies) }); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric((cpuSeconds(b)-begun)*1e9/float64(b.N*n), "cpu-ns/document")
			})
		}
	}
}

func readByGets(s kv.Snapshot, heads, bodies [][]byte) error {
	for i := range heads {
		if _, err := s.Get(heads[i]); err != nil {
			return err
		}
		if _, err := s.Get(bodies[i]); err != nil {
			return err
		}
	}
	return nil
}

func readByIterator(s kv.Snapshot, heads, bodies [][]byte) error {
	heads = slices.Clone(heads)
	slices.SortFunc(heads, bytes.Compare)
	it, err := s.Iterate(kv.Prefix([]byte("\x01\x00\x00\x00\x00\x07d")), kv.IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	for _, key := range heads {
		for ok := it.Seek(key); ok; ok = false {
			if _, err := it.Borrow(); err != nil {
				return err
			}
			it.Next()
			if _, err := it.Value(); err != nil {
				return err
			}
		}
	}
	return it.Err()
}

func readByMany(s kv.Snapshot, heads, bodies [][]byte) error {
	if _, err := s.GetMany(heads); err != nil {
		return err
	}
	_, err := s.GetMany(bodies)
	return err
}
