package store

import (
	"fmt"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// TestRememberedTenantsAreBounded remembers the definitions of many tenants, small and
// large: neither their number nor what they take goes beyond its bound, and the last
// one is there.
func TestRememberedTenantsAreBounded(t *testing.T) {
	testrun.Sequential(t)
	var o tenants
	for i := range 5 * rememberedTenants {
		p := document.Partition(fmt.Sprint("p", i%(2*rememberedTenants)))
		d := &definitions{version: uint64(i + 1), validators: []*Revision{{Body: make([]byte, i%7*(64<<10))}}}
		if o.put(p, d); o.get(p) != d {
			t.Fatalf("the definitions of %s are not remembered", p)
		}
		if len(o.by) > rememberedTenants || o.bytes > rememberedBytes {
			t.Fatalf("%d tenants are remembered, with %d bytes", len(o.by), o.bytes)
		}
	}
	for p := range o.by {
		o.put(p, nil)
	}
	if o.bytes != 0 {
		t.Errorf("%d bytes of nobody are remembered", o.bytes)
	}
}
