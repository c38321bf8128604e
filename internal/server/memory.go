package server

import "runtime/debug"

// The collector runs when the heap has grown to three times what is in use, not
// to twice: requests leave little behind, so a collection costs more than the
// room does. The soft limit keeps that from mattering once much is in use.
const (
	collectAt   = 200       // percent over what is in use
	memoryLimit = 384 << 20 // bytes of the runtime's, the block cache apart when cgo is there
)

// tuneMemory sets the collector for a server, unless the environment has.
func tuneMemory(environment func(string) string) {
	if environment("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	if environment("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
