package store

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/document"
)

// A commit needs what is defined where it writes, and knows it, as a rule. If somebody else
// has changed it, reading it anew is a walk over ranges, for which other writers of the
// database would wait while the lane head is locked. So the commit is given up, the
// definitions are read in a snapshot of their own, and it is run again. It goes by what
// was read if that is of the version which its rows name.

// maxReloads is how often a commit is given up for that. Then definitions change faster than
// they are read, and it reads them itself.
const maxReloads = 3

// preloaded are definitions that were read for a commit.
type preloaded struct {
	reloads int
	tenants map[tenantOf]*definitions
}

type tenantOf struct {
	db     *Database
	tenant document.Partition
}

// unknown gives a commit up: it needs the definitions of a namespace, as they are now.
type unknown struct{ tenantOf }

func (*unknown) Error() string { return "store: definitions changed" }

// creates is the error with which a commit is given up that needs the definitions of a
// namespace; nil if it is to read them itself.
func (k *preloaded) creates(d *Database, tenant document.Partition) error {
	if k.reloads >= maxReloads {
		return nil
	}
	return &unknown{tenantOf{d, tenant}}
}

// look reads what a commit that ended with err was given up for; again says that it is to
// be run once more.
func (k *preloaded) look(ctx context.Context, err error) (again bool, _ error) {
	var of *unknown
	if !errors.As(err, &of) {
		return false, err
	}
	k.reloads++
	if of.tenant == "" {
		_, err := of.db.refresh(ctx) // if it was dropped the commit will find that
		return err == nil, err
	}
	var f definitions
	ns := of.db.Tenant(of.tenant)
	err = of.db.Whole().View(ctx, func(r *Reader) error {
		t, err := of.db.decodePartitionRow(r.v.Get(of.db.partitionKey(of.tenant)))
		if err == nil {
			f, err = ns.loadDefinitions(r.v, t.designs)
		}
		return err
	})
	if err != nil {
		return false, err
	}
	if k.tenants == nil {
		k.tenants = map[tenantOf]*definitions{}
	}
	k.tenants[of.tenantOf] = &f
	return true, nil
}

// of returns what was read of a tenant's definitions; nil for nothing.
func (k *preloaded) of(d *Database, tenant document.Partition) *definitions {
	return k.tenants[tenantOf{d, tenant}]
}
