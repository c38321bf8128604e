package server

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/sectional/sectional/internal/kv/pebblekv"
)

// The collector runs when the heap has grown to five times what is in use, not
// to twice: requests leave little behind, so a collection costs more than the
// room does. The soft limit keeps that from mattering once much is in use.
//
// The limit must leave room itself: where more than it is in use, ten thousand
// feeds for one, the runtime collects without an end, with half of the
// processors. So it follows what is in use, half as much above it, up to a ceiling: where the process may
// have no more, collecting is better than being killed.
const (
	collectAt   = 400       // percent over what is in use
	collectSoon = 50        // the same where the block cache is part of it
	leastLimit  = 384 << 20 // bytes of the runtime's, the block cache apart when cgo is there
	limitStep   = 32 << 20  // the limit is a multiple: setting it halts the process for a moment
	lookAtUse   = time.Second

	noCeiling = math.MaxInt64
)

// tuneMemory sets the collector for a server, unless the environment has. The
// limit is followed, up to a ceiling, until stop is called.
func tuneMemory(environment func(string) string, ceiling int64) (stop func()) {
	if environment("GOGC") == "" {
		percent := collectAt
		if pebblekv.CacheOnHeap {
			percent = collectSoon
		}
		debug.SetGCPercent(percent)
	}
	if environment("GOMEMLIMIT") != "" {
		return func() {}
	}
	debug.SetMemoryLimit(memoryLimit(0, ceiling))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		followMemory(ctx, ceiling)
	}()
	return func() { cancel(); <-ended }
}

// followMemory sets the limit by what is in use, until ctx ends.
func followMemory(ctx context.Context, ceiling int64) {
	tick := time.NewTicker(lookAtUse)
	defer tick.Stop()
	samples, set := useSamples(), memoryLimit(0, ceiling)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		metrics.Read(samples)
		if next := memoryLimit(inUse(samples), ceiling); next != set {
			debug.SetMemoryLimit(next)
			set = next
		}
	}
}

// memoryLimit returns the limit for so many bytes in use.
func memoryLimit(used uint64, ceiling int64) int64 {
	return min(ceiling, max(leastLimit, int64(used+used/2+limitStep-1)/limitStep*limitStep))
}

// useSamples names what inUse reads.
func useSamples() []metrics.Sample {
	return []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/heap/live:bytes"},
	}
}

// inUse returns what a collection would leave of the memory that the limit is
// about: all that the runtime holds, but of the heap only what the last one found
// alive.
func inUse(s []metrics.Sample) uint64 {
	rest := s[0].Value.Uint64()
	for _, gone := range s[1:5] {
		rest -= min(rest, gone.Value.Uint64()) // they are not read at one moment
	}
	return rest + s[5].Value.Uint64()
}
