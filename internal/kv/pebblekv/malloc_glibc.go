//go:build cgo && linux

package pebblekv

/*
#include <malloc.h>

static void sectional_large_blocks(void) {
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 48 << 10);
#endif
}
*/
import "C"

// returnLargeBlocks makes the C allocator, from which Pebble takes the memory
// of its block cache, give large blocks back when they are freed. Each 64-KB
// chunk of an attachment is a block of its own; glibc would keep such memory in
// its arenas, and reading one gigabyte left the process twice the cache's size.
// Ordinary blocks are smaller and stay with the arenas.
func returnLargeBlocks() { C.sectional_large_blocks() }
