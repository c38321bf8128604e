package server

import (
	"runtime/debug"

	"github.com/sectional/sectional/internal/kv/pebblekv"
)

// The collector runs when the heap has grown to five times what is in use, not
// to twice: requests leave little behind, so a collection costs more than the
// room does. The soft limit keeps that from mattering once much is in use.
const (
	collectAt   = 400       // percent over what is in use
	collectSoon = 50        // the same where the block cache is part of it
	memoryLimit = 384 << 20 // bytes of the runtime's, the block cache apart when cgo is there
)

// tuneMemory sets the collector for a server, unless the environment has.
func tuneMemory(environment func(string) string) {
	if environment("GOGC") == "" {
		percent := collectAt
		if pebblekv.CacheOnHeap {
			percent = collectSoon
		}
		debug.SetGCPercent(percent)
	}
	if environment("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
