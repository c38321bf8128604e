package couchapi

import (
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/replicate/spec"
	"github.com/sectional/sectional/internal/web"
)

// replicatorDB is the database of replications that the server makes itself.
const replicatorDB = spec.DatabaseName

// authRequest returns auth its view of the request.
func (r *request) authRequest() *auth.Request {
	path, _ := web.TargetOf(r.HTTP)
	return &auth.Request{Method: r.HTTP.Method, Path: path, Header: r.HTTP.Header.Get, Peer: r.Peer(), Secure: r.HTTP.TLS != nil, Login: r.isLogin()}
}

// isLogin reports whether the request asks for a session, at one of the places
// where there is one.
func (r *request) isLogin() bool {
	return r.Method == http.MethodPost && r.node != nil && strings.HasSuffix(r.node.Rows[0].pattern, "/_session")
}

// Authenticate implements web.Call. A session that is running out
// is renewed, unless the handler sets a cookie of its own.
//
// A context that names a caller already comes from within the process.
func (r *request) Authenticate() error {
	if c := auth.CallerOf(r.Ctx()); c != nil {
		r.Caller = c
		return nil
	}
	id, err := r.api.auth.Authenticate(r.Ctx(), r.authRequest())
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
func (r *request) checkServer(row *route) error {
	switch {
	case row.rights == adminOnly:
		return auth.RequireServerAdmin(r.Caller)
	case row.rights == metricsOnly:
		return auth.RequireMetrics(r.Caller)
	case row.rights == user:
		return auth.RequireUser(r.Caller)
	case row.rights == memberOrHead && r.isSystem():
		return auth.RequireServerAdmin(r.Caller)
	case r.namesDatabase() && strings.HasPrefix(r.args[0], "_") && !r.isSystem():
		return auth.RequireServerAdmin(r.Caller) // a page of the server, if there were one
	}
	return nil
}

// isSystem reports whether the lists and feeds of the database that the path names
// are for server administrators only.
func (r *request) isSystem() bool {
	return r.args[0] == replicatorDB || r.api.auth.IsUsersDB(r.args[0])
}

// checkDatabase checks the rights that the database's _security gives. Whoever
// is let in by a rule for a partition sees no more than that partition from here
// on, whatever the handler does.
func (r *request) checkDatabase(row *route) error {
	if row.rights == anyone || row.rights == adminOnly || r.Caller.IsAdmin() {
		return nil
	}
	s, err := r.security()
	if err != nil {
		return err
	}
	need := auth.ReadAccess
	switch row.rights {
	case partitionLister:
		if !s.IsAdmin(r.Caller) && s.Rules(r.Caller) {
			r.ruled = s // the handler lists what these let the caller see
			return nil
		}
		return s.Check(r.Caller, auth.Maintainer)
	case dbAdmin:
		return s.Check(r.Caller, auth.Maintainer)
	case dbOwner:
		return s.Check(r.Caller, auth.DatabaseAdmin)
	case member:
		return s.Check(r.Caller, auth.Reader)
	case securer:
		if s.MaySecure(r.Caller) {
			return nil
		}
		return s.Check(r.Caller, auth.DatabaseAdmin)
	case writer:
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
	r.scope = r.db.Within(p).Restrict() // narrow makes it the tenant's at that endpoint
	if need == auth.ReadAccess && !s.MayWriteTo(r.Caller, p) {
		r.scope = r.scope.ReadBy(r.Caller.Name)
	}
	return nil
}

// partitionOfPath returns the partition that the path is about: that of its endpoint,
// or that of the document it names; "" if it names none. It goes by the same
// segments as the handlers.
func (r *request) partitionOfPath() document.Partition {
	switch {
	case !r.db.Partitioned():
	case r.inPartition():
		if p, err := document.ParsePartition(r.args[1]); err == nil {
			return p
		}
	case len(r.node.Names) > 1 && r.node.Names[1] == "id":
		return document.ID(r.docID()).Partition()
	}
	return ""
}

// inPartition reports whether the path leads through a partition's endpoint.
func (r *request) inPartition() bool { return r.node.Rows[0].at&inside != 0 }

// security returns the _security of the request's database, parsed.
func (r *request) security() (*auth.Security, error) { return r.api.rules.Security(r.db) }

// narrow makes the scope that of the partition, if the path names one.
func (r *request) narrow() error {
	if !r.inPartition() {
		return nil
	}
	p, err := document.ParsePartition(r.args[1])
	if err != nil {
		return err
	}
	if !r.db.Partitioned() {
		return dberr.New(dberr.Invalid, "bad_request", "database is not partitioned")
	}
	if !r.scope.Restricted() { // a restricted reader has the partition's already
		r.scope = r.db.Within(p)
	}
	if r.node.Rows[0].at == atTenant {
		r.scope = r.scope.AsTenant()
	}
	return nil
}
