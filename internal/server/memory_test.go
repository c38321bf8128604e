package server

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/kv/pebblekv"
)

// TestMemoryLimit has the limit leave room above whatever is in use.
func TestMemoryLimit(t *testing.T) {
	for used, want := range map[uint64]int64{
		0: 384, 35 * mb: 384, 256 * mb: 384, 257 * mb: 416, 320 * mb: 480, 400 * mb: 608, 4096 * mb: 6144,
	} {
		if got := memoryLimit(used, noCeiling); got != want*mb {
			t.Errorf("of %d MB in use: %d MB, want %d", used/mb, got/mb, want)
		}
	}
	for used := uint64(0); used < 2048*mb; used += 10*mb + 1 {
		limit := memoryLimit(used, noCeiling)
		if limit < int64(used+used/2) || limit%limitStep != 0 || limit > memoryLimit(used+1, noCeiling) {
			t.Errorf("of %d in use: %d", used, limit)
		}
	}
}

// TestSizes has defaults for machines from a small container up: together they fit, what nobody can tell is as it was, and
// the collector begins before the process is killed.
func TestSizes(t *testing.T) {
	for memory, want := range map[int64]sizes{
		0:         {bodies: 512 * mb, writes: 128 * mb, texts: 512 * mb, builds: 384 * mb, function: 256 * mb},
		4096 * mb: {memory: 4096 * mb, bodies: 512 * mb, writes: 128 * mb, texts: 512 * mb, builds: 384 * mb, function: 256 * mb},
		512 * mb:  {memory: 512 * mb, bodies: 64 * mb, writes: 32 * mb, texts: 64 * mb, builds: 128 * mb, function: 64 * mb, cache: min(64*mb, pebblekv.DefaultCache), memTable: 8 * mb},
		64 << 30:  {memory: 64 << 30, bodies: 2048 * mb, writes: 128 * mb, texts: 2048 * mb, builds: 384 * mb, function: 256 * mb},
	} {
		if d := cmp.Diff(want, sizesFor(memory), cmp.AllowUnexported(sizes{})); d != "" {
			t.Errorf("%d MB: %s", memory/mb, d)
		}
	}
	for memory := int64(256 * mb); memory <= 64<<30; memory *= 2 {
		s := sizesFor(memory)
		if all := s.bodies + s.writes + s.texts + s.builds + s.cache + 4*int64(s.memTable); all > memory*4/5 {
			t.Errorf("%d MB: %d MB are given away", memory/mb, all/mb)
		}
		if limit := memoryLimit(1<<40, s.ceiling()); limit > memory*3/4 || limit < memory/4 {
			t.Errorf("%d MB: a limit of %d MB", memory/mb, limit/mb)
		}
	}
}

// TestMemoryInUse reads the runtime's figures: what is alive counts, and what has
// been let go of does not.
func TestMemoryInUse(t *testing.T) {
	samples := useSamples()
	read := func() uint64 {
		runtime.GC()
		metrics.Read(samples)
		for _, s := range samples {
			if s.Value.Kind() != metrics.KindUint64 {
				t.Fatalf("the runtime does not tell %s", s.Name)
			}
		}
		return inUse(samples)
	}
	const size = 64 << 20
	before := read()
	held := make([]byte, size)
	with := read()
	runtime.KeepAlive(held)
	after := read()
	if with < before+size*3/4 || after > with-size*3/4 {
		t.Errorf("%d before, %d with %d more, %d after", before, with, size, after)
	}
}
