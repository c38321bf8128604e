//go:build cgo

package pebblekv

// CacheOnHeap reports whether the block cache and the memtables lie on Go's heap,
// where the collector counts them: they do in a build without cgo.
const CacheOnHeap = false

// DefaultCache is the size of the block cache where nobody says another.
const DefaultCache = 96 << 20
