package admission

import (
	"context"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	js "github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
)

// errNoTenantDesigns is what those get who write a design document of a partition
// where there are to be none.
var errNoTenantDesigns = dberr.New(dberr.Forbidden, "forbidden",
	"Design documents of partitions are switched off: `[sectional] owner_design_docs = none` in the server's configuration. It can be `views`, `members` or `admins`.")

// admitTenantDesign lets those write design documents of partitions whom the
// setting names. Administrators of the database may delete them whatever it says:
// what was written while it said something else still holds.
//
// They are checked like those of an ordinary database, which a partition is to its
// tenant. Cloudant's limits are for partitioned design documents only.
func (r *Rules) admitTenantDesign(ctx context.Context, d *store.Database, e *document.Edit, old func() (*store.Revision, error)) error {
	if err := r.admitDesigner(ctx, d, e, old); err != nil || e.Deleted {
		return err
	}
	if most := r.o.TenantDesignSize(); most > 0 && len(e.Body) > most {
		return dberr.New(dberr.Forbidden, "forbidden",
			"A design document of a partition can have %d bytes: `[sectional] owner_max_design_size`.", most)
	}
	return checkDesign(e.Body, false)
}

// admitDesigner refuses callers whom the setting does not let write this design
// document of a partition.
func (r *Rules) admitDesigner(ctx context.Context, d *store.Database, e *document.Edit, old func() (*store.Revision, error)) error {
	switch w := r.o.TenantDesigns(); {
	case w == Members || auth.CallerOf(ctx) == nil:
		return nil
	case w == Views:
		return r.admitViews(ctx, d, e, old)
	case w == Admins || e.Deleted:
		return r.requireAdmin(ctx, d)
	}
	return errNoTenantDesigns
}

// admitViews lets everybody who may write to the partition define views and indexes.
// Functions that render, filter, update or validate are for administrators of the
// database, and so is taking them away.
func (r *Rules) admitViews(ctx context.Context, d *store.Database, e *document.Edit, old func() (*store.Revision, error)) error {
	name := furtherFunction(e.Body)
	if e.Deleted {
		name = ""
	}
	if name == "" {
		before, err := old()
		if err != nil {
			return err
		}
		if before != nil && !before.Deleted {
			name = furtherFunction(before.Body)
		}
	}
	if name == "" || r.requireAdmin(ctx, d) == nil {
		return nil
	}
	return dberr.New(dberr.Forbidden, "forbidden",
		"Only administrators of the database can write a design document of a partition that has `%s`: `[sectional] owner_design_docs = views` lets others define views and indexes. "+
			"With `members` in the server's configuration everybody can who may write to the partition.", name)
}

// furtherFunctions are the members of a design document that are run for requests
// other than queries.
var furtherFunctions = []string{"validate_doc_update", "filters", "updates", "shows", "lists", "rewrites"}

// furtherFunction names a member of a design document that holds functions other
// than those of views; "" if there is none.
func furtherFunction(body []byte) string {
	for _, name := range furtherFunctions {
		value, ok := js.Member(body, name)
		if ok && !empty(value) {
			return name
		}
	}
	return ""
}

// empty reports whether a value is an object or list without members: tools write
// those where there is nothing.
func empty(value []byte) bool {
	switch js.KindOf(value) {
	case js.Object:
		m := js.MembersOf(value)
		_, _, ok := m.Next()
		return !ok
	case js.Array:
		it := js.ElementsOf(value)
		_, ok := it.Next()
		return !ok
	}
	return false
}
