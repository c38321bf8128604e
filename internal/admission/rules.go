package admission

import (
	"context"
	"strings"
	"sync"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// UsersDB is the database whose documents are users.
const UsersDB = "_users"

// Options join the rules to the rest of the server.
type Options struct {
	Auth *auth.Authenticator
	// Functions runs design functions; without it nothing passes that they
	// would have to see.
	Functions Functions
	// Cloudant tells whether Cloudant's limits hold for design documents; nil:
	// they do not.
	Cloudant func() bool
}

// Rules admits edits. It implements store.Admission and store.Validation.
type Rules struct {
	o        Options
	security sync.Map // name of a database → *parsedSecurity
}

var _ store.Admission = (*Rules)(nil)

// New makes the rules.
func New(o Options) *Rules {
	if o.Cloudant == nil {
		o.Cloudant = func() bool { return false }
	}
	return &Rules{o: o}
}

// Admit checks an edit and may change it: a user's password becomes its
// verifier.
func (r *Rules) Admit(ctx context.Context, d *store.Database, e *document.Edit, old func() (*store.Revision, error)) error {
	isUsers := d.Name() == UsersDB
	if !isUsers && !e.ID.IsDesign() {
		return nil
	}
	if e.ID.IsDesign() {
		return r.admitDesign(ctx, d, e)
	}
	return r.admitUser(ctx, d, e, old)
}

// admitDesign lets database administrators write design documents that are
// well formed.
func (r *Rules) admitDesign(ctx context.Context, d *store.Database, e *document.Edit) error {
	if c := Caller(ctx); c != nil && !c.IsAdmin() {
		s, err := r.Security(d)
		if err != nil {
			return err
		}
		if err := s.Check(c, auth.DatabaseAdmin); err != nil {
			return err
		}
	}
	if e.Deleted {
		return nil
	}
	if err := checkDesign(e.Body, d.Partitioned()); err != nil {
		return err
	}
	if r.o.Cloudant() {
		if err := checkCloudant(ctx, d, e.ID, e.Body); err != nil {
			return err
		}
	}
	return r.checkFunctions(ctx, e.Body)
}

// admitUser applies the rules of _users.
func (r *Rules) admitUser(ctx context.Context, d *store.Database, e *document.Edit, old func() (*store.Revision, error)) error {
	s, err := r.Security(d)
	if err != nil {
		return err
	}
	w := auth.UserWrite{ID: string(e.ID), Body: e.Body, Deleted: e.Deleted, Security: s, Caller: Caller(ctx)}
	if w.Caller == nil {
		w.Caller = &auth.Caller{Roles: []string{auth.AdminRole}}
	}
	before, err := old()
	if err != nil {
		return err
	}
	if before != nil && !before.Deleted {
		w.Old = before.Body
	}
	body, err := r.o.Auth.BeforeUserWrite(ctx, w)
	if err != nil {
		return err
	}
	e.Body = body
	return nil
}

// parsedSecurity is a _security object and the text that it was read from.
type parsedSecurity struct {
	text   string
	parsed *auth.Security
}

// Security gives the _security of a database, parsed. What it remembers counts
// only while the stored text is the same, so nothing has to be forgotten when
// the object changes.
func (r *Rules) Security(d *store.Database) (*auth.Security, error) {
	text := d.Security()
	if v, ok := r.security.Load(d.Name()); ok {
		if p := v.(*parsedSecurity); p.text == string(text) {
			return p.parsed, nil
		}
	}
	parsed, err := auth.ParseSecurity(text)
	if err != nil {
		// It was checked when it was set; one that is broken opens nothing.
		return nil, &dberr.Error{Op: "admission.Security", Kind: dberr.Internal, Reason: "The _security object can't be read.", Cause: err}
	}
	r.security.Store(strings.Clone(d.Name()), &parsedSecurity{string(text), parsed})
	return parsed, nil
}
