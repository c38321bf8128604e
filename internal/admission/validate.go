package admission

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	js "github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/store"
)

// Functions runs the functions of design documents.
type Functions interface {
	// Validate runs a design document's validate_doc_update over writes and
	// returns an error for each that it refuses.
	Validate(ctx context.Context, realm script.Realm, writes []script.Write) ([]error, error)
	// Check compiles functions, those of a tenant or a database, and returns an error
	// for the first that does not compile.
	Check(ctx context.Context, tenant bool, sources []script.Source) error
}

// ShownRevisions is how many revisions of a document's history functions see,
// as in CouchDB.
const ShownRevisions = 20

// errNoFunctions is what writes get that would have to be validated where
// nothing can run functions: none passes unseen.
var errNoFunctions = dberr.New(dberr.Unavailable, "", "Design functions can't be run at present.")

// Realm returns the JavaScript world of the functions other than map and reduce of a
// design document that was read in a scope: each database has worlds of its own,
// and each tenant. An error says that its language is not known.
func Realm(s store.Scope, design *store.Revision) (script.Realm, error) {
	if !document.IsJavaScript(design.Body) {
		language, _ := js.Member(design.Body, "language")
		return script.Realm{}, dberr.New(dberr.Internal, "unknown_query_language", "%s", string(js.Text(nil, language)))
	}
	database := strconv.FormatUint(s.Database().Number(), 10)
	if p := s.Tenant(); p != "" {
		database += "/" + string(p)
	}
	whole := couchwire.Revision{ID: design.ID, Rev: design.Rev, Body: design.Body, Attachments: design.Attachments}
	return script.Realm{
		Database: database,
		Tenant:   s.Tenant() != "",
		Design:   string(design.ID),
		Named:    script.Named{Database: s.Database().Name(), Design: string(s.Stored(design.ID))},
		Version:  design.Rev.String(),
		Document: couchwire.AppendDocument(nil, &whole, couchwire.Form{}),
	}, nil
}

// SecurityObject returns the JSON that functions of a scope see as secObj. It names
// other people; a tenant's functions, who may be anybody's, see an empty one.
func SecurityObject(s store.Scope) json.RawMessage {
	if s.Tenant() != "" {
		return json.RawMessage("{}")
	}
	return s.Database().Security()
}

// UserContext returns the JSON that functions see as userCtx; the server itself,
// nil, has an administrator's rights and no name.
func UserContext(c *auth.Caller, db string) json.RawMessage {
	if c == nil {
		c = &auth.Caller{Roles: []string{auth.AdminRole}}
	}
	return c.UserContext(db)
}

var _ store.Validation = (*Rules)(nil)

// Validate runs the validation functions of the design documents by, in order;
// the first refusal of a proposal counts. Administrators are asked about, too,
// and so is the server itself.
func (r *Rules) Validate(ctx context.Context, d *store.Database, by []*store.Revision, proposals []store.Proposal) ([]error, error) {
	if by = r.judging(d, by); len(by) == 0 {
		return make([]error, len(proposals)), nil
	}
	if r.o.Functions == nil {
		return nil, errNoFunctions
	}
	s := d.Whole()
	if p, _, theirs := by[0].ID.TenantDesign(); theirs {
		s = d.Tenant(p) // all of by are
	}
	user, security := UserContext(auth.CallerOf(ctx), s.Name()), SecurityObject(s)
	refusals := make([]error, len(proposals))
	all := make([]script.Write, len(proposals))
	for i := range proposals {
		all[i] = script.Write{New: newDocument(&proposals[i]), Old: oldDocument(&proposals[i]), User: user, Security: security}
	}
	for _, design := range by {
		var asked []int
		var writes []script.Write
		for i := range all {
			if refusals[i] == nil {
				asked, writes = append(asked, i), append(writes, all[i])
			}
		}
		errs, err := r.validateBy(ctx, s, s.Shows(design), writes)
		if err != nil {
			return nil, err
		}
		for i, err := range errs {
			refusals[asked[i]] = err
		}
	}
	return refusals, nil
}

// judging returns those of some design documents that have to be asked: not the one of a
// database of users that says what Admit has checked.
func (r *Rules) judging(d *store.Database, by []*store.Revision) []*store.Revision {
	if !r.o.Auth.IsUsersDB(d.Name()) {
		return by
	}
	return slices.DeleteFunc(slices.Clone(by), func(design *store.Revision) bool {
		return auth.IsDesign(string(design.ID), design.Body)
	})
}

// validateBy asks one design document. One in a language that is not known, which can't be written any more, refuses everything.
func (r *Rules) validateBy(ctx context.Context, s store.Scope, design *store.Revision, writes []script.Write) ([]error, error) {
	realm, err := Realm(s, design)
	if err == nil {
		return r.o.Functions.Validate(ctx, realm, writes)
	}
	refusals := make([]error, len(writes))
	for i := range refusals {
		refusals[i] = err
	}
	return refusals, nil
}

// newDocument returns the JSON of what is to be written. A new document has no
// revision; another one has the revision that it goes over.
func newDocument(p *store.Proposal) []byte { return documentJSON(&p.New, p.NewPath) }

// oldDocument returns the JSON of what is replaced, nil for nothing.
func oldDocument(p *store.Proposal) []byte {
	if p.Old == nil {
		return nil
	}
	return documentJSON(p.Old, p.OldPath)
}

func documentJSON(r *store.Revision, path []document.Rev) []byte {
	whole := couchwire.Revision{ID: r.ID, Rev: r.Rev, Deleted: r.Deleted, Body: r.Body, Attachments: r.Attachments, Path: path[:min(len(path), ShownRevisions)]}
	return couchwire.AppendDocument(make([]byte, 0, len(r.Body)+256), &whole, couchwire.Form{})
}
