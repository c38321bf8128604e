package pebblekv

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// reserving is a file that notes how far it was reserved.
type reserving struct {
	vfs.File
	reserved int64
}

func (r *reserving) Preallocate(offset, length int64) error {
	r.reserved = max(r.reserved, offset+length)
	return r.File.Preallocate(offset, length)
}

// TestLogsAreReservedInSteps has Pebble ask for the room of a whole memtable: a
// log gets what it is about to need.
func TestLogsAreReservedInSteps(t *testing.T) {
	inner, err := vfs.NewMem().Create("000001.log", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	file := &reserving{File: inner}
	log := &vitalFile{File: file, fs: newFailStop(vfs.NewMem(), nil, &Options{}, func(error) {})}
	const all = 35 << 20
	if err := log.Preallocate(0, all); err != nil {
		t.Fatal(err)
	}
	for written := int64(0); written <= all; written += 1 << 20 {
		if behind := file.reserved - written; file.reserved < all && (behind < reserveStep/2 || behind > 2*reserveStep) {
			t.Fatalf("%d bytes are reserved when %d are written", file.reserved, written)
		}
		if _, err := log.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if file.reserved != all {
		t.Errorf("%d bytes were reserved, want %d", file.reserved, all)
	}
}
