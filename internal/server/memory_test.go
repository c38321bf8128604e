package server

import (
	"runtime"
	"runtime/metrics"
	"testing"
)

// TestMemoryLimit has the limit leave room above whatever is in use.
func TestMemoryLimit(t *testing.T) {
	const mb = 1 << 20
	for used, want := range map[uint64]int64{
		0: 384, 35 * mb: 384, 256 * mb: 384, 257 * mb: 416, 320 * mb: 480, 400 * mb: 608, 4096 * mb: 6144,
	} {
		if got := memoryLimit(used); got != want*mb {
			t.Errorf("of %d MB in use: %d MB, want %d", used/mb, got/mb, want)
		}
	}
	for used := uint64(0); used < 2048*mb; used += 10*mb + 1 {
		limit := memoryLimit(used)
		if limit < int64(used+used/2) || limit%limitStep != 0 || limit > memoryLimit(used+1) {
			t.Errorf("of %d in use: %d", used, limit)
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
