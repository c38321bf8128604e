//go:build !cgo || !linux

package pebblekv

// returnLargeBlocks does nothing where the block cache does not come from glibc.
func returnLargeBlocks() {}
