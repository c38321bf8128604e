package couchapi

import (
	"net"
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/replicate/spec"
)

// replicatorDB is the database of replications that the server makes itself.
const replicatorDB = spec.DatabaseName

// authRequest returns auth its view of the request.
func (r *request) authRequest() *auth.Request {
	path, _ := targetOf(r.http)
	return &auth.Request{Method: r.http.Method, Path: path, Header: r.http.Header.Get, Peer: r.peer(), Secure: r.http.TLS != nil, Login: r.isLogin()}
}

// peer returns the address of the client, without the port: whom the connection
// comes from, or whom a trusted proxy speaks for.
func (r *request) peer() string {
	host, _, err := net.SplitHostPort(r.http.RemoteAddr)
	if err != nil {
		host = r.http.RemoteAddr
	}
	return r.api.auth.Client(host, r.http.Header["X-Forwarded-For"])
}

// isLogin reports whether the request asks for a session, at one of the places
// where there is one.
func (r *request) isLogin() bool {
	return r.method == http.MethodPost && r.node != nil && strings.HasSuffix(r.node.rows[0].pattern, "/_session")
}

// authenticate finds out who sends the request. A session that is running out
// is renewed, unless the handler sets a cookie of its own.
//
// A context that names a caller already comes from within the process.
func (r *request) authenticate() error {
	if c := admission.Caller(r.ctx()); c != nil {
		r.caller = c
		return nil
	}
	id, err := r.api.auth.Authenticate(r.ctx(), r.authRequest())
	if err != nil {
		r.caller = &auth.Caller{}
		return err
	}
	if id.SetCookie != "" {
		r.set("Set-Cookie", id.SetCookie)
	}
	r.remember(&id)
	return nil
}

// answerCORS sets the headers for pages of other origins, and answers the
// question that browsers ask before such a request.
func (r *request) answerCORS() (done bool, err error) {
	origin := r.http.Header["Origin"]
	if origin == nil {
		return false, nil
	}
	cors := r.api.settings.Value().cors.For(r.http.Host)
	answer := cors.Decide(auth.CORSRequest{
		Method:           r.http.Method,
		Origin:           origin[0],
		RequestedMethod:  r.header("Access-Control-Request-Method"),
		RequestedHeaders: r.header("Access-Control-Request-Headers"),
	})
	for _, h := range answer.Headers {
		r.w.Header()[http.CanonicalHeaderKey(h[0])] = []string{h[1]}
	}
	if answer.Preflight {
		r.begin(http.StatusNoContent, 0)
	}
	return answer.Preflight, nil
}

// checkServer checks the rights that do not depend on a database.
func (r *request) checkServer(row *route) error {
	switch {
	case row.rights == adminOnly:
		return auth.RequireServerAdmin(r.caller)
	case row.rights == metricsOnly:
		return auth.RequireMetrics(r.caller)
	case row.rights == user:
		return auth.RequireUser(r.caller)
	case row.rights == memberOrHead && r.isSystem():
		return auth.RequireServerAdmin(r.caller)
	case r.namesDatabase() && strings.HasPrefix(r.args[0], "_") && !r.isSystem():
		return auth.RequireServerAdmin(r.caller) // a page of the server, if there were one
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
	if row.rights == anyone || row.rights == adminOnly || r.caller.IsAdmin() {
		return nil
	}
	s, err := r.security()
	if err != nil {
		return err
	}
	need := auth.ReadAccess
	switch row.rights {
	case partitionLister:
		if !s.IsAdmin(r.caller) && s.Rules(r.caller) {
			r.ruled = s // the handler lists what these let the caller see
			return nil
		}
		return s.Check(r.caller, auth.Maintainer)
	case dbAdmin:
		return s.Check(r.caller, auth.Maintainer)
	case dbOwner:
		return s.Check(r.caller, auth.DatabaseAdmin)
	case member:
		return s.Check(r.caller, auth.Reader)
	case securer:
		if s.MaySecure(r.caller) {
			return nil
		}
		return s.Check(r.caller, auth.DatabaseAdmin)
	case writer:
		if s.MayWrite(r.caller) || s.MayDesign(r.caller) {
			return nil // the store's entry point tells the two apart, document by document
		}
		need = auth.WriteAccess
	}
	p := r.partitionOfPath()
	switch {
	case p == "" && need == auth.WriteAccess:
		return s.CheckWrite(r.caller)
	case p == "", need == auth.ReadAccess && s.IsMember(r.caller):
		return s.Check(r.caller, auth.Reader)
	}
	if err := s.CheckPartition(r.caller, p, need); err != nil {
		return err
	}
	r.scope = r.db.Within(p).Restrict() // narrow makes it the tenant's at that endpoint
	if need == auth.ReadAccess && !s.MayWriteTo(r.caller, p) {
		r.scope = r.scope.ReadBy(r.caller.Name)
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
	case len(r.node.names) > 1 && r.node.names[1] == "id":
		return document.ID(r.docID()).Partition()
	}
	return ""
}

// inPartition reports whether the path leads through a partition's endpoint.
func (r *request) inPartition() bool { return r.node.at&inside != 0 }

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
	if r.node.at == atTenant {
		r.scope = r.scope.AsTenant()
	}
	return nil
}
