package snapshot

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
)

// diskStore opens a store on the disk.
func diskStore(b *testing.B) *store.Store {
	e, err := pebblekv.Open(pebblekv.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	s, err := store.Open(context.Background(), e, store.Options{Idle: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close(); e.Close() })
	return s
}

// filled makes a partitioned database with documents of 800 bytes.
func filled(b *testing.B, documents int) store.Scope {
	d, err := diskStore(b).Create(context.Background(), "db", store.Creation{Partitioned: true})
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	raw := make([]byte, 370)
	var edits []document.Edit
	for n := range documents {
		for i := range raw {
			raw[i] = byte(r.Uint32())
		}
		body := append(hex.AppendEncode(fmt.Appendf(nil, `{"type":"reading","number":%d,"fill":"`, n), raw), `"}`...)
		edits = append(edits, document.Edit{ID: document.ID(fmt.Sprintf("p%06d:d%08d", n/25, n)), Body: body})
		if len(edits) == 2000 || n == documents-1 {
			if _, err := d.Whole().Write(context.Background(), edits, store.WriteOptions{}); err != nil {
				b.Fatal(err)
			}
			edits = edits[:0]
		}
	}
	return d.Whole()
}

const benchDocuments = 50_000

func BenchmarkSend(b *testing.B) {
	s := filled(b, benchDocuments)
	for _, encoding := range []string{"", Gzip, Zstd} {
		b.Run("encoding="+encoding, func(b *testing.B) {
			var out countingWriter
			for b.Loop() {
				p, err := NewPacker(encoding, &out)
				if err != nil {
					b.Fatal(err)
				}
				src, err := Open(context.Background(), s, "uuid", "")
				if err == nil {
					_, err = src.Send(context.Background(), p, 0)
				}
				if err == nil {
					err = p.Close()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N)/benchDocuments, "µs/doc")
			b.ReportMetric(float64(out)/float64(b.N)/benchDocuments, "bytes/doc")
		})
	}
}

type countingWriter int64

func (c *countingWriter) Write(p []byte) (int, error) {
	*c += countingWriter(len(p))
	return len(p), nil
}

func BenchmarkLoad(b *testing.B) {
	s := filled(b, benchDocuments)
	var packed bytes.Buffer
	p, err := NewPacker(Zstd, &packed)
	if err != nil {
		b.Fatal(err)
	}
	src, err := Open(context.Background(), s, "uuid", "")
	if err == nil {
		_, err = src.Send(context.Background(), p, 0)
	}
	if err == nil {
		err = p.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		d, err := diskStore(b).Create(context.Background(), "db", store.Creation{Partitioned: true})
		b.StartTimer()
		if err != nil {
			b.Fatal(err)
		}
		in, err := NewUnpacker(Zstd, bytes.NewReader(packed.Bytes()))
		if err != nil {
			b.Fatal(err)
		}
		if p, err := Load(context.Background(), d.Whole(), in, LoadOptions{}); err != nil || !p.Whole || p.Refused > 0 {
			b.Fatal(p, err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N)/benchDocuments, "µs/doc")
}
