package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	js "github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/replicate/spec"
	"github.com/sectional/sectional/internal/store"
)

// admitReplication applies the rules of _replicator databases. A document is
// somebody's, whom its member owner names: the replication runs with that
// user's rights. So nobody but a server administrator may write in another one's
// name, or change what another one wrote; the administrators of the database may
// delete it. The server itself writes what became of a replication.
func (r *Rules) admitReplication(ctx context.Context, d *store.Database, e *document.Edit, old func() (*store.Revision, error)) error {
	c := auth.CallerOf(ctx)
	if c == nil {
		return nil
	}
	before, err := old()
	if err != nil {
		return err
	}
	w := replicationWrite{caller: c, edit: e}
	if before != nil && !before.Deleted {
		w.before = before.Body
	}
	if err := r.checkOwner(d, w); err != nil || e.Deleted {
		return err
	}
	if state, _ := js.Member(e.Body, "_replication_state"); js.NameIs(state, "failed") && w.keepsState() {
		return nil // nothing runs, and it may well be malformed
	}
	parsed, err := spec.ParseDocument(e.Body, r.o.Replications())
	if err != nil {
		return forbiddenBy(err)
	}
	if c.IsAdmin() {
		return nil
	}
	if !w.keepsState() {
		return forbidden("Only the replicator may set `_replication_…` members.")
	}
	return checkUserContext(c, parsed.UserContext)
}

// Counted implements store.Counting: replications are counted of whoever is not a server administrator.
func (r *Rules) Counted(ctx context.Context, d *store.Database) string {
	c := auth.CallerOf(ctx)
	if c == nil || c.IsAdmin() || r.o.Replicating == nil || !spec.IsReplicator(d.Name()) {
		return ""
	}
	return "replications/" + c.VouchedBy() + "/" + c.Name
}

// Count implements store.Counting. What the same request deletes still counts.
func (r *Rules) Count(ctx context.Context, d *store.Database, edits []*document.Edit) ([]error, error) {
	c := auth.CallerOf(ctx)
	held, err := r.o.Replicating(ctx, d, spec.ChargeOf(c.Name, c.VouchedBy()))
	if err != nil {
		return nil, err
	}
	refused := make([]error, len(edits))
	for i, e := range edits {
		if !e.Deleted && !e.ID.IsDesign() && !spec.Over(e.Body) {
			refused[i] = held.Add(e.ID, int64(len(e.Body)), r.o.Replications())
		}
	}
	return refused, nil
}

// replicationWrite is an edit of a replication document.
type replicationWrite struct {
	caller *auth.Caller
	edit   *document.Edit
	before []byte // nil: there was none
}

// checkOwner refuses who may not write the document, and makes a new one the
// caller's.
func (r *Rules) checkOwner(d *store.Database, w replicationWrite) error {
	if w.caller.IsAdmin() {
		return w.own()
	}
	if w.before != nil && !isOwner(w.before, w.caller) {
		if !w.edit.Deleted {
			return errOtherOwner
		}
		s, err := r.Security(d)
		if err != nil {
			return err
		}
		if !s.IsAdmin(w.caller) {
			return errOtherOwner
		}
		return nil
	}
	if w.edit.Deleted {
		return nil
	}
	if owner := w.owner(); owner != nil && !isName(owner, w.caller) {
		return errOtherOwner
	}
	return w.own()
}

// owner returns the member of that name, nil for none and null.
func (w *replicationWrite) owner() []byte {
	owner, ok := js.Member(w.edit.Body, "owner")
	if !ok || js.KindOf(owner) == js.Null {
		return nil
	}
	return owner
}

// own writes the caller's name into a document without an owner, and how the
// server knows the caller into what is the caller's. A replicated edit stays as it
// is, since it has its revision already: what is not an administrator's must say
// all of that itself.
func (w *replicationWrite) own() error {
	owner := w.owner()
	context, _ := js.Member(w.edit.Body, spec.OwnerMember)
	switch {
	case w.edit.Deleted || w.edit.Path != nil && w.caller.IsAdmin():
		return nil // without an owner it runs in nobody's name
	case w.edit.Path != nil:
		if owner == nil || !bytes.Equal(context, ownerContext(w.caller)) {
			return errOtherOwner
		}
		return nil
	case owner == nil && w.caller.Anonymous():
		w.edit.Body = js.With(w.edit.Body, "owner", []byte("null"))
	case owner == nil:
		w.edit.Body = js.With(w.edit.Body, "owner", js.AppendQuoted(nil, w.caller.Name))
	case w.caller.IsAdmin() && !isName(owner, w.caller):
		w.keepContext(owner)
		return nil
	}
	if w.caller.IsAdmin() && w.caller.VouchedBy() == auth.ByPassword {
		w.keepContext(owner)
		return nil
	}
	w.edit.Body = js.With(w.edit.Body, spec.OwnerMember, ownerContext(w.caller))
	return nil
}

// keepContext leaves a document that an administrator changes its owner's, as the
// server knew that one: else a token's name would become that of a user, or of an
// administrator.
func (w *replicationWrite) keepContext(owner []byte) {
	was, _ := js.Member(w.before, "owner")
	context, ok := js.Member(w.before, spec.OwnerMember)
	if _, given := js.Member(w.edit.Body, spec.OwnerMember); ok && !given && owner != nil && bytes.Equal(was, owner) {
		w.edit.Body = js.With(w.edit.Body, spec.OwnerMember, context)
	}
}

// ownerContext returns how the server knows a caller, as a document says it; nil
// for nobody, and for administrators by password: rights that no document shows
// are asked for at each moment.
func ownerContext(c *auth.Caller) []byte {
	if c.Anonymous() || c.IsAdmin() && c.VouchedBy() == auth.ByPassword {
		return nil
	}
	text, err := json.Marshal(spec.OwnerContext{From: c.VouchedBy(), Roles: append([]string{}, c.Roles...)})
	if err != nil {
		panic(err) // strings always marshal
	}
	return text
}

// isOwner reports whether a document is the caller's: by the name, and by who
// vouches for it. What nobody owns is nobody's.
func isOwner(body []byte, c *auth.Caller) bool {
	owner, _ := js.Member(body, "owner")
	from := auth.ByPassword
	if context, ok := js.Member(body, spec.OwnerMember); ok {
		known, ok := spec.ParseOwnerContext(context)
		if !ok {
			return false
		}
		from = known.From
	}
	return isName(owner, c) && from == c.VouchedBy()
}

// isName reports whether an owner has the caller's name.
func isName(owner []byte, c *auth.Caller) bool {
	return !c.Anonymous() && js.KindOf(owner) == js.String && js.NameIs(owner, c.Name)
}

// keepsState reports whether the document's _replication_… members are those that
// it had, or fewer.
func (w *replicationWrite) keepsState() bool {
	if w.caller.IsAdmin() {
		return true
	}
	for m := js.MembersOf(w.edit.Body); ; {
		quoted, v, ok := m.Next()
		if !ok {
			return true
		}
		name := string(js.Text(nil, quoted))
		if !strings.HasPrefix(name, "_replication_") {
			continue
		}
		if was, ok := js.Member(w.before, name); !ok || !bytes.Equal(was, v) {
			return false
		}
	}
}

// checkUserContext lets users ask for rights that they have.
func checkUserContext(c *auth.Caller, u *spec.UserContext) error {
	if u == nil {
		return nil
	}
	if u.Name != c.Name {
		return forbidden("The given `user_ctx.name` is not valid")
	}
	for _, role := range u.Roles {
		if !slices.Contains(c.Roles, role) {
			return forbidden("Invalid role (`" + role + "`) in the `user_ctx`")
		}
	}
	return nil
}

// VisibleReplication returns what a caller may see of a replication document: its
// owner and the administrators of its database see all of it, others no
// credentials.
func (r *Rules) VisibleReplication(c *auth.Caller, d *store.Database, rev *store.Revision) ([]byte, error) {
	if rev.ID.IsDesign() || c == nil || c.IsAdmin() || isOwner(rev.Body, c) {
		return rev.Body, nil
	}
	s, err := r.Security(d)
	if err != nil {
		return nil, err
	}
	if s.IsAdmin(c) {
		return rev.Body, nil
	}
	return spec.Strip(rev.Body), nil
}

var errOtherOwner = forbidden("Can't update replication documents from other users.")

func forbidden(reason string) error { return dberr.New(dberr.Forbidden, "forbidden", "%s", reason) }

// forbiddenBy makes a refusal of an error that says what is wrong.
func forbiddenBy(err error) error {
	var e *dberr.Error
	if errors.As(err, &e) && e.Kind == dberr.Invalid {
		return forbidden(e.Reason)
	}
	return err
}
