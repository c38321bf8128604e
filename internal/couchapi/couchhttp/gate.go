package couchhttp

import (
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/peers"
	"github.com/sectional/sectional/internal/replicate/spec"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// replicatorDB is the database of replications that the server makes itself.
const replicatorDB = spec.DatabaseName

// AuthRequest returns auth its view of the request.
func (r *Request) AuthRequest() *auth.Request {
	defer r.onWire()()
	path, _ := web.TargetOf(r.HTTP)
	return &auth.Request{Method: r.HTTP.Method, Path: path, Header: r.HTTP.Header.Get, Peer: r.Peer(), Secure: r.HTTP.TLS != nil, Login: r.isLogin()}
}

// isLogin reports whether the request asks for a session, at one of the places
// where there is one.
func (r *Request) isLogin() bool {
	return r.Method == http.MethodPost && r.node != nil && strings.HasSuffix(r.node.Rows[0].Pattern, "/_session")
}

// Authenticate implements web.Call. A session that is running out
// is renewed, unless the handler sets a cookie of its own.
//
// A context that names a caller already comes from within the process, or from another server
// of the store.
func (r *Request) Authenticate() error {
	ctx, claims := r.API.Store.WithPreconditions(r.Ctx())
	r.SetContext(ctx)
	r.preconditions = claims
	if err := peers.Refused(r.Ctx()); err != nil {
		r.Caller = &auth.Caller{}
		return err
	}
	if c := auth.CallerOf(r.Ctx()); c != nil {
		r.Caller = c
		return nil
	}
	id, err := r.API.Auth.Authenticate(r.Ctx(), r.AuthRequest())
	if claims.Stale() { // an administrator is let in though the user document can't be read
		err = store.ErrStale
	}
	if err != nil {
		r.Caller = &auth.Caller{}
		return err
	}
	if id.SetCookie != "" {
		r.Set("Set-Cookie", id.SetCookie)
	}
	r.SetCaller(&id.Caller)
	return nil
}

// checkServer checks the rights that do not depend on a database.
func (r *Request) checkServer(row *Route) error {
	switch {
	case row.Rights == AdminOnly:
		return auth.RequireServerAdmin(r.Caller)
	case row.Rights == MetricsOnly:
		return auth.RequireMetrics(r.Caller)
	case row.Rights == User:
		return auth.RequireUser(r.Caller)
	case row.Rights == MemberOrHead && r.IsSystem():
		return auth.RequireServerAdmin(r.Caller)
	case r.namesDatabase() && strings.HasPrefix(r.args[0], "_") && !r.IsSystem():
		return auth.RequireServerAdmin(r.Caller) // a page of the server, if there were one
	}
	return nil
}

// IsSystem reports whether the lists and feeds of the database that the path names
// are for server administrators only.
func (r *Request) IsSystem() bool {
	return r.args[0] == replicatorDB || r.API.Auth.IsUsersDB(r.args[0])
}

// checkDatabase checks the rights that the database's _security gives. Whoever
// is let in by a rule for a partition sees no more than that partition from here
// on, whatever the handler does.
func (r *Request) checkDatabase(row *Route) error {
	if row.Rights == Anyone || row.Rights == AdminOnly || r.Caller.IsAdmin() {
		return nil
	}
	s, err := r.security()
	if err != nil {
		return err
	}
	need := auth.ReadAccess
	switch row.Rights {
	case PartitionLister:
		if !s.IsAdmin(r.Caller) && s.Rules(r.Caller) {
			r.Ruled = s // the handler lists what these let the caller see
			return nil
		}
		return s.Check(r.Caller, auth.Maintainer)
	case DbAdmin:
		return s.Check(r.Caller, auth.Maintainer)
	case DbOwner:
		return s.Check(r.Caller, auth.DatabaseAdmin)
	case Member:
		return s.Check(r.Caller, auth.Reader)
	case Securer:
		if s.MaySecure(r.Caller) {
			return nil
		}
		return s.Check(r.Caller, auth.DatabaseAdmin)
	case Writer:
		if s.MayWrite(r.Caller) || s.MayDesign(r.Caller) {
			return nil // the store's entry point tells the two apart, document by document
		}
		need = auth.WriteAccess
	}
	p := r.partitionOfPath()
	switch {
	case p == "" && need == auth.WriteAccess:
		return s.CheckWrite(r.Caller)
	case p == "", need == auth.ReadAccess && s.IsMember(r.Caller):
		return s.Check(r.Caller, auth.Reader)
	}
	if err := s.CheckPartition(r.Caller, p, need); err != nil {
		return err
	}
	r.Scope = r.DB.Within(p).Restrict() // narrow makes it the tenant's at that endpoint
	if need == auth.ReadAccess && !s.MayWriteTo(r.Caller, p) {
		r.Scope = r.Scope.ReadBy(r.Caller.Name)
	}
	return nil
}

// partitionOfPath returns the partition that the path is about: that of its endpoint,
// or that of the document it names; "" if it names none. It goes by the same
// segments as the handlers.
func (r *Request) partitionOfPath() document.Partition {
	switch {
	case !r.DB.Partitioned():
	case r.inPartition():
		if p, err := document.ParsePartition(r.args[1]); err == nil {
			return p
		}
	case len(r.node.Names) > 1 && r.node.Names[1] == "id":
		return document.ID(r.DocID()).Partition()
	}
	return ""
}

// TracedPartition implements web.Parted.
func (r *Request) TracedPartition() string {
	if r.DB == nil || r.route == nil {
		return ""
	}
	return string(r.partitionOfPath())
}

// inPartition reports whether the path leads through a partition's endpoint.
func (r *Request) inPartition() bool { return r.node.Rows[0].At&Inside != 0 }

// security returns the _security of the request's database, parsed.
func (r *Request) security() (*auth.Security, error) { return r.API.rules.Security(r.DB) }

// narrow makes the scope that of the partition, if the path names one.
func (r *Request) narrow() error {
	if !r.inPartition() {
		return nil
	}
	p, err := document.ParsePartition(r.args[1])
	if err != nil {
		return err
	}
	if !r.DB.Partitioned() {
		return dberr.New(dberr.Invalid, "bad_request", "database is not partitioned")
	}
	if !r.Scope.Restricted() { // a restricted reader has the partition's already
		r.Scope = r.DB.Within(p)
	}
	if r.node.Rows[0].At == AtTenant {
		r.Scope = r.Scope.AsTenant()
	}
	return nil
}

// navigates reports whether somebody went to the request's address with a browser, so
// that the answer fills its window. What pages and frames ask is not that, and
// neither is a login by a form, which asks for the password itself.
func (r *Request) navigates() bool {
	return r.Header("Sec-Fetch-Mode") == "navigate" && r.Header("Sec-Fetch-Dest") == "document" && !r.isLogin()
}

// RequireReader refuses who may write to the database and not read it:
// what the function answers may be made of documents.
func (r *Request) RequireReader() error {
	if r.Scope.Restricted() || r.Caller.IsAdmin() {
		return nil // he reads the partition to which he may write
	}
	s, err := r.security()
	if err != nil {
		return err
	}
	return s.Check(r.Caller, auth.Reader)
}
