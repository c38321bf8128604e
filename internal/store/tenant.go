package store

import (
	"sync"

	"github.com/sectional/sectional/internal/document"
)

// tenants remembers the definitions of the tenants that were asked for last. What
// it remembers is durable.
type tenants struct {
	sync.Mutex
	by    map[document.Partition]*definitions
	bytes int // of all of them, about
}

// rememberedTenants is how many tenants' definitions of a database stay in memory,
// and rememberedBytes how much they take together.
const (
	rememberedTenants = 1000
	rememberedBytes   = 16 << 20
)

// get returns what is remembered of a tenant; nil for nothing.
func (o *tenants) get(p document.Partition) *definitions {
	o.Lock()
	defer o.Unlock()
	return o.by[p]
}

// put remembers what a tenant has defined; nil for nothing.
func (o *tenants) put(p document.Partition, d *definitions) {
	o.Lock()
	defer o.Unlock()
	o.forget(p)
	if d == nil {
		return
	}
	if o.by == nil {
		o.by = map[document.Partition]*definitions{}
	}
	o.bytes += d.bytes()
	for old := range o.by { // any will do: it can be read again
		if len(o.by) < rememberedTenants && o.bytes <= rememberedBytes {
			break
		}
		o.forget(old)
	}
	o.by[p] = d
}

// forget lets the definitions of a tenant go. The tenants are locked.
func (o *tenants) forget(p document.Partition) {
	if d := o.by[p]; d != nil {
		o.bytes -= d.bytes()
		delete(o.by, p)
	}
}
