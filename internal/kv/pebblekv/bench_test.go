package pebblekv

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// docs is how many documents the settings are measured with: 50,000 fit into
// the block cache, 1,000,000 do not.
var docs = flag.Int("docs", 50_000, "documents loaded by BenchmarkSettings")

// setting is a change of the default options.
type setting struct {
	name string
	o    Options
	tune func(*pebble.Options)
}

// settings are what docs/decisions/0001-pebble-settings.md compares.
var settings = []setting{
	{name: "chosen"},
	{name: "pebble-defaults", tune: func(p *pebble.Options) {
		*p = pebble.Options{FS: p.FS, Lock: p.Lock, Logger: p.Logger, EventListener: p.EventListener,
			FormatMajorVersion: p.FormatMajorVersion}
	}},
	{name: "no-bloom", tune: eachLevel(func(l *pebble.LevelOptions) { l.FilterPolicy = pebble.NoFilterPolicy })},
	{name: "cache-8M", o: Options{CacheBytes: 8 << 20}},
	{name: "cache-32M", o: Options{CacheBytes: 32 << 20}},
	{name: "cache-256M", o: Options{CacheBytes: 256 << 20}},
	{name: "memtable-4M", o: Options{MemTableBytes: 4 << 20}},
	{name: "memtable-64M", o: Options{MemTableBytes: 64 << 20}},
	{name: "block-4K", tune: eachLevel(func(l *pebble.LevelOptions) { l.BlockSize = 4 << 10 })},
	{name: "block-16K", tune: eachLevel(func(l *pebble.LevelOptions) { l.BlockSize = 16 << 10 })},
	{name: "block-32K", tune: eachLevel(func(l *pebble.LevelOptions) { l.BlockSize = 32 << 10 })},
	{name: "no-compression", tune: compression(block.NoCompression)},
	{name: "snappy", tune: compression(block.SnappyCompression)},
	{name: "minlz", tune: compression(block.MinLZCompression)},
	{name: "zstd", tune: compression(block.ZstdCompression)},
	{name: "rows", tune: func(p *pebble.Options) { p.FormatMajorVersion = pebble.FormatFlushableIngestExcises }},
	{name: "blob-files", tune: blobFiles},
	{name: "l0-4", tune: func(p *pebble.Options) { p.L0CompactionThreshold = 4; p.L0StopWritesThreshold = 12 }},
	{name: "compactions-1", tune: func(p *pebble.Options) { p.CompactionConcurrencyRange = nil }},
	{name: "wal-no-bytes-per-sync", tune: func(p *pebble.Options) { p.WALBytesPerSync = 0 }},
}

func eachLevel(change func(*pebble.LevelOptions)) func(*pebble.Options) {
	return func(p *pebble.Options) {
		for i := range p.Levels {
			change(&p.Levels[i])
		}
	}
}

func compression(profile *block.CompressionProfile) func(*pebble.Options) {
	return eachLevel(func(l *pebble.LevelOptions) {
		l.Compression = func() *block.CompressionProfile { return profile }
	})
}

func blobFiles(p *pebble.Options) {
	p.FormatMajorVersion = pebble.FormatValueSeparation
	p.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy {
		return pebble.ValueSeparationPolicy{Enabled: true, MinimumSize: 512, MaxBlobReferenceDepth: 10, TargetGarbageRatio: 0.2}
	}
}

// BenchmarkSettings loads rows like the store's and measures reads and writes
// under each setting. Three rows make a document: a head and a body beside it
// and a feed entry.
func BenchmarkSettings(b *testing.B) {
	for _, s := range settings {
		b.Run(s.name, func(b *testing.B) {
			s.o.tune = s.tune
			s.o.Dir = b.TempDir()
			e := open(b, s.o)
			defer e.Close()
			run := func(name string, bench func(*testing.B, *Engine)) {
				b.Run(name, func(b *testing.B) {
					b.ReportAllocs()
					before := cpuSeconds(b)
					bench(b, e)
					b.ReportMetric((cpuSeconds(b)-before)*1e6/float64(b.N), "cpu-µs/op")
				})
			}
			run("load", benchLoad)
			warm(b, e)
			run("get", benchGet)
			run("get-absent", benchGetAbsent)
			run("scan25", func(b *testing.B, e *Engine) { benchScan(b, e, 25) })
			run("scan100", func(b *testing.B, e *Engine) { benchScan(b, e, 100) })
			run("put32", func(b *testing.B, e *Engine) { benchPut(b, e, 32) })
		})
	}
}

// benchLoad loads all documents in transactions of 500, compacts and reports
// what they take. It runs once whatever b.N says.
func benchLoad(b *testing.B, e *Engine) {
	raw := load(b, e, *docs)
	b.StopTimer()
	b.ReportMetric(float64(*docs)/b.Elapsed().Seconds(), "docs/s")
	if err := e.Compact(context.Background(), kv.Range{}); err != nil {
		b.Fatal(err)
	}
	m := e.Metrics()
	b.ReportMetric(float64(m.TableBytes+m.BlobBytes)/float64(raw), "disk/raw")
	b.ReportMetric(float64(m.CompactionBytesWritten)/float64(raw), "compacted/raw")
	b.ReportMetric(residentMB(b), "MB-resident")
}

// load writes n documents and returns the bytes of their bodies.
func load(b *testing.B, e *Engine, n int) (raw int) {
	for from := 0; from < n; from += 500 {
		b.StopTimer()
		texts := make([][]byte, 500)
		for i := range texts {
			texts[i] = body((from + i) * 7919 % n) // ids in no order
			raw += len(texts[i])
		}
		b.StartTimer()
		update(b, e, func(t kv.Txn) error {
			for i, text := range texts {
				if err := putDoc(t, (from+i)*7919%n, text); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return raw
}

func benchGet(b *testing.B, e *Engine) {
	r := kvtest.NewRand(1)
	for b.Loop() {
		key := bodyKey(r.IntN(*docs))
		view(b, e, func(s kv.Snapshot) error {
			_, err := s.Get(key)
			return err
		})
	}
}

// warm reads everything once, so that the cache holds what it can.
func warm(b *testing.B, e *Engine) {
	view(b, e, func(s kv.Snapshot) error {
		it, err := s.Iterate(kv.Range{}, kv.IterOptions{})
		if err != nil {
			return err
		}
		defer it.Close()
		for it.Next() {
			if _, err := it.Value(); err != nil {
				return err
			}
		}
		return it.Err()
	})
}

func benchGetAbsent(b *testing.B, e *Engine) {
	r := kvtest.NewRand(2)
	for b.Loop() {
		key := append(bodyKey(r.IntN(*docs)), 'x')
		view(b, e, func(s kv.Snapshot) error {
			if _, err := s.Get(key); err != kv.ErrNotFound {
				return fmt.Errorf("absent key: %v", err)
			}
			return nil
		})
	}
}

// benchScan reads the heads and bodies of n neighbouring documents.
func benchScan(b *testing.B, e *Engine, n int) {
	r := kvtest.NewRand(3)
	for b.Loop() {
		start := headKey(r.IntN(*docs))
		view(b, e, func(s kv.Snapshot) error {
			it, err := s.Iterate(kv.Range{Start: start}, kv.IterOptions{})
			if err != nil {
				return err
			}
			defer it.Close()
			for i := 0; i < 2*n && it.Next(); i++ {
				if _, err := it.Value(); err != nil {
					return err
				}
			}
			return it.Err()
		})
	}
	b.ReportMetric(float64(2*n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// benchPut writes new documents, each in a synced Update, from some goroutines.
func benchPut(b *testing.B, e *Engine, workers int) {
	texts := make([][]byte, 1000)
	for i := range texts {
		texts[i] = body(i)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1))
				if i > b.N {
					return
				}
				update(b, e, func(t kv.Txn) error { return putDoc(t, 100_000_000+i, texts[i%len(texts)]) })
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
}

func update(b testing.TB, e *Engine, fn func(kv.Txn) error) {
	if err := e.Update(context.Background(), fn); err != nil {
		b.Error(err)
	}
}

func view(b testing.TB, e *Engine, fn func(kv.Snapshot) error) {
	if err := e.View(context.Background(), fn); err != nil {
		b.Error(err)
	}
}
