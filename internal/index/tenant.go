package index

import "github.com/sectional/sectional/internal/store"

// What is different about the indexes of tenants: nothing follows them in the
// background, of which there may be thousands. They are built when they are defined,
// and brought up to date by the queries that read them.

// mostTenantBuilds is how many indexes of tenants are built by the background, or wait
// for it, at a time. Others are built by the first query that needs them.
const mostTenantBuilds = 64

// definedTenant begins the builds that the indexes of a tenant need. One that is
// interrupted goes on with the first query. x.tasks is locked.
func (x *Indexes) definedTenant(ns store.Scope) {
	if x.tasks.tenants >= mostTenantBuilds {
		return
	}
	x.work.Go(func() {
		s, _, err := x.now(x.ctx, ns)
		if err != nil {
			return // the first query finds the same and can say so
		}
		x.tasks.Lock()
		defer x.tasks.Unlock()
		for _, ix := range s.Indexes {
			if ix.State == Building && !ix.Manual && !x.tasks.closed {
				x.begin(ns.Database(), ix)
			}
		}
	})
}
