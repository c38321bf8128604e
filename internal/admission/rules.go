package admission

import (
	"cmp"
	"context"
	"strings"
	"sync"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/replicate/spec"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/table"
)

// Options join the rules to the rest of the server.
type Options struct {
	Auth *auth.Authenticator
	// Functions runs design functions; without it nothing passes that they
	// would have to see.
	Functions Functions
	// Replications returns the settings of [replicator]; nil: CouchDB's.
	Replications func() *spec.Settings
	// Replicating returns what somebody has of replications, with the documents of a database (schedule.Scheduler.Held); nil:
	// nobody's are counted.
	Replicating func(ctx context.Context, d *store.Database, who spec.Charge) (spec.Usage, error)
	// Cloudant reports whether Cloudant's limits hold for design documents; nil:
	// they do not.
	Cloudant func() bool
	// TenantDesigns says who may write design documents of partitions; nil:
	// nobody.
	TenantDesigns func() Writers
	// TenantDesignSize returns how many bytes such a document may have, 0 for no
	// limit; nil: no limit.
	TenantDesignSize func() int
}

// Writers says who may write the design documents that belong to partitions.
type Writers string

// The writers that there may be.
const (
	NoWriters Writers = "none"
	Admins    Writers = "admins"  // administrators of the database
	Views     Writers = "views"   // whoever may write to the partition, but only administrators of the database other functions than those of views
	Members   Writers = "members" // whoever may write to the partition
)

// Rules admits edits. It implements store.Admission and store.Validation.
type Rules struct {
	o        Options
	security sync.Map // name of a database → *parsedSecurity
}

var (
	_ store.Admission      = (*Rules)(nil)
	_ store.LocalAdmission = (*Rules)(nil)
	_ store.BodyAdmission  = (*Rules)(nil)
	_ store.Counting       = (*Rules)(nil)
)

// New makes the rules.
func New(o Options) *Rules {
	if o.Cloudant == nil {
		o.Cloudant = func() bool { return false }
	}
	if o.TenantDesignSize == nil {
		o.TenantDesignSize = func() int { return 0 }
	}
	if o.TenantDesigns == nil {
		o.TenantDesigns = func() Writers { return NoWriters }
	}
	if o.Replications == nil {
		settings := spec.ParseSettings(&config.Snapshot{})
		o.Replications = func() *spec.Settings { return settings }
	}
	return &Rules{o: o}
}

// Admit checks an edit and may change it: a user's password becomes its
// verifier, and a replication its author's.
func (r *Rules) Admit(ctx context.Context, d *store.Database, e *document.Edit, old func() (*store.Revision, error)) error {
	if err := r.admitCaller(ctx, d, e.ID); err != nil {
		return err
	}
	switch {
	case e.ID.IsDesign():
		return r.admitDesign(ctx, d, e, old)
	case e.ID.Designs(d.Partitioned()):
		return r.admitTenantDesign(ctx, d, e, old)
	case r.o.Auth.IsUsersDB(d.Name()):
		return r.admitUser(ctx, d, e, old)
	case spec.IsReplicator(d.Name()):
		return r.admitReplication(ctx, d, e, old)
	}
	return nil
}

// JudgesBody implements store.BodyAdmission.
func (r *Rules) JudgesBody(d *store.Database, id document.ID) bool {
	return id.IsDesign() || id.Designs(d.Partitioned()) || r.o.Auth.IsUsersDB(d.Name()) || spec.IsReplicator(d.Name())
}

// AdmitID refuses what Admit would refuse whatever the edit of this stored id holds, so
// that a caller need not send it.
func (r *Rules) AdmitID(ctx context.Context, d *store.Database, id document.ID) error {
	if err := r.admitCaller(ctx, d, id); err != nil {
		return err
	}
	switch {
	case id.IsDesign():
		return r.requireAdmin(ctx, d)
	case !id.Designs(d.Partitioned()) || r.o.TenantDesigns() == Members || r.o.TenantDesigns() == Views:
		return nil
	}
	err := r.requireAdmin(ctx, d) // who may delete them in any case
	if err != nil && r.o.TenantDesigns() != Admins {
		return errNoTenantDesigns
	}
	return err
}

// admitCaller lets members write everything, and others what a rule of
// _security lets them: documents of a partition.
func (r *Rules) admitCaller(ctx context.Context, d *store.Database, id document.ID) error {
	c := auth.CallerOf(ctx)
	if c == nil || c.IsAdmin() {
		return nil
	}
	s, err := r.Security(d)
	switch {
	case err != nil:
		return err
	case s.MayWrite(c), id.IsDesign() && s.MayDesign(c):
		return nil
	case d.Partitioned() && id.Partition() != "":
		return s.CheckPartition(c, id.Partition(), auth.WriteAccess)
	case id.IsDesign() && s.HasRules():
		return nil // it needs more than that, which admitDesign asks for
	}
	return s.CheckWrite(c)
}

// AdmitLocal lets members write local documents, and others those of a partition
// that a rule lets them write to. Where a rule lets them read alone they have
// their own, for the checkpoints of whoever replicates from it.
func (r *Rules) AdmitLocal(ctx context.Context, scope store.Scope) error {
	c := auth.CallerOf(ctx)
	if c == nil || c.IsAdmin() {
		return nil
	}
	s, err := r.Security(scope.Database())
	p := cmp.Or(scope.Partition(), scope.Tenant())
	switch {
	case err != nil:
		return err
	case p == "":
		return s.CheckCheckpoints(c)
	}
	need := auth.WriteAccess
	if scope.OwnLocals() || s.IsMember(c) {
		need = auth.ReadAccess
	}
	return s.CheckPartition(c, p, need)
}

// admitDesign lets database administrators write design documents that are
// well formed.
func (r *Rules) admitDesign(ctx context.Context, d *store.Database, e *document.Edit, old func() (*store.Revision, error)) error {
	if err := r.requireAdmin(ctx, d); err != nil || e.Deleted {
		return err
	}
	if err := checkDesign(e.Body, d.Partitioned()); err != nil {
		return err
	}
	if e.ID == table.DesignID {
		if err := admitTable(d, e.Body, old); err != nil {
			return err
		}
	}
	if r.o.Cloudant() {
		return checkCloudant(ctx, d, e.ID, e.Body)
	}
	return nil
}

// requireAdmin refuses callers who do not administer the database.
func (r *Rules) requireAdmin(ctx context.Context, d *store.Database) error {
	c := auth.CallerOf(ctx)
	if c == nil || c.IsAdmin() {
		return nil
	}
	s, err := r.Security(d)
	if err != nil {
		return err
	}
	if s.MayDesign(c) {
		return nil
	}
	if s.HasRules() && !s.IsMember(c) {
		return errNotAdmin // a restricted reader, who may write other documents
	}
	return s.Check(c, auth.DatabaseAdmin)
}

var errNotAdmin = dberr.New(dberr.Forbidden, "forbidden", "You are not a db or server admin.")

// admitUser applies the rules for user documents. That an edit is a conflict is told
// before what its rules say, as in CouchDB: somebody who signs up is told that the
// name is taken.
func (r *Rules) admitUser(ctx context.Context, d *store.Database, e *document.Edit, old func() (*store.Revision, error)) error {
	s, err := r.Security(d)
	if err != nil {
		return err
	}
	w := auth.UserWrite{DB: d.Name(), ID: string(e.ID), Body: e.Body, Deleted: e.Deleted, Security: s, Caller: auth.CallerOf(ctx)}
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
	if w.Conflict, err = conflict(ctx, d, e); err != nil {
		return err
	}
	body, err := r.o.Auth.BeforeUserWrite(ctx, w)
	if err != nil {
		return err
	}
	e.Body = body
	return nil
}

// conflict returns the refusal that an ordinary edit meets in the present state of its document, nil
// for none.
func conflict(ctx context.Context, d *store.Database, e *document.Edit) (refusal, err error) {
	if e.Path != nil {
		return nil, nil
	}
	err = d.Whole().View(ctx, func(r *store.Reader) error {
		refusal = nil
		doc, err := r.Doc(e.ID)
		if dberr.Is(err, dberr.NotFound) {
			doc, err = &store.Doc{}, nil
		}
		if err == nil {
			_, refusal = doc.Tree.Parent(e.Parent, e.Deleted)
		}
		return err
	})
	return refusal, err
}

// parsedSecurity is a _security object and the text that it was read from.
type parsedSecurity struct {
	text   string
	parsed *auth.Security
}

// Security returns the _security of a database, parsed. What it remembers counts
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
