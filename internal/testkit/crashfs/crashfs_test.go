package crashfs

import (
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestLinksWhileItCrashes links files while the power fails again and again.
func TestLinksWhileItCrashes(t *testing.T) {
	fs := New()
	if _, err := fs.Create("a", vfs.WriteCategoryUnspecified); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			for n := range 2000 {
				if err := fs.Link("a", fmt.Sprintf("%d-%d", i, n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 500 {
		fs.CrashClone(vfs.CrashCloneCfg{})
	}
	wait.Wait()
	if names, err := fs.List(""); len(names) != 8001 || err != nil {
		t.Errorf("%d files, %v", len(names), err)
	}
}
