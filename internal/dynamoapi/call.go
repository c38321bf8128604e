package dynamoapi

import (
	"hash/crc32"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/outgoing"
	"github.com/sectional/sectional/internal/sigv4"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// Request is a request on its way.
type Request struct {
	web.Request
	api           *API
	preconditions *store.Preconditions // what the key was found by, where other processes write to the store
	action        *action              // nil for an operation that there is not
	key           *auth.AccessKey      // that signed it; nil for an open server, a session, and from within the process
	signature     *sigv4.Signature
	signer        *auth.Caller // whose key it is, until the signature is verified
	body          []byte       // compact JSON
	session       bool         // the caller is whom CouchDB's API would find
	unconfirmed   bool         // the claims were left to what the operation reads first
}

var _ web.Call = (*Request)(nil)

// contentType is that of requests and answers.
const contentType = "application/x-amz-json-1.0"

// Route implements web.Call.
func (r *Request) Route() {
	if r.action = r.api.actions[r.Header("X-Amz-Target")]; r.action != nil {
		r.Action = r.action.frame
	}
}

// Authenticate implements web.Call: it looks at who claims to have signed. What the
// signature covers, the body among it, is not there yet, so the caller is nobody until
// Run has verified it, and what is held for the request is charged as nobody's.
func (r *Request) Authenticate() error {
	ctx, claims := r.api.Store.WithPreconditions(r.Ctx())
	r.SetContext(ctx)
	r.preconditions = claims
	if c := auth.CallerOf(r.Ctx()); c != nil {
		r.SetCaller(c)
		return nil
	}
	if r.session {
		return r.findSession()
	}
	if r.api.Open {
		if !onLoopback(r.HTTP.Host) || !fromLoopback(r.HTTP.Header["Origin"]) {
			return errForeignHost
		}
		r.SetCaller(&auth.Caller{Name: "local", Roles: []string{auth.AdminRole}, Handler: auth.SignatureHandler})
		return nil
	}
	r.Caller = &auth.Caller{}
	return r.findKey()
}

// findSession makes the caller the one who has logged in, by a cookie or in another way of
// CouchDB's API. Nothing that a page of another origin sends without asking first names an operation, for its
// header is none of a form's.
func (r *Request) findSession() error {
	path, _ := web.TargetOf(r.HTTP)
	id, err := r.api.Auth.Authenticate(r.Ctx(), &auth.Request{Method: r.HTTP.Method, Path: path, Header: r.HTTP.Header.Get, Peer: r.Peer(), Secure: r.HTTP.TLS != nil})
	r.Caller = &auth.Caller{}
	switch {
	case r.preconditions.Stale():
		return store.ErrStale
	case err != nil:
		return err
	case id.Caller.Anonymous():
		return refusedSignature(sigv4.ErrMissing)
	case id.SetCookie != "":
		r.Set("Set-Cookie", id.SetCookie)
	}
	r.SetCaller(&id.Caller)
	return nil
}

// errForeignHost refuses what pages of other sites send that a browser here shows, also of
// one that had its name point here (DNS rebinding): there are no credentials to be had.
var errForeignHost = dberr.New(dberr.Forbidden, accessDenied, "This server takes requests without credentials, for localhost only.")

// fromLoopback reports whether a request with such Origin headers comes from no page, or from one of this machine.
func fromLoopback(origins []string) bool {
	return !slices.ContainsFunc(origins, func(origin string) bool {
		u, err := url.Parse(origin)
		return origin != "" && (err != nil || u.Host == "" || !onLoopback(u.Host))
	})
}

// onLoopback reports whether a Host header names this machine as itself.
func onLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	return outgoing.ThisMachine(name)
}

// Admit implements web.Call. Which table the request is about is in its body, so the
// rights of the caller are asked for by the operation. The key was perhaps found in memory:
// whether it is still there is looked at before the body is taken, or, of a small one, together with
// what the operation reads first.
func (r *Request) Admit() error {
	switch {
	case r.Method == http.MethodGet && r.action == nil:
		return nil // clients and load balancers ask whether the server is there
	case r.Method != http.MethodPost || r.action == nil:
		return unknownOperation(r.Header("X-Amz-Target"))
	}
	if r.unconfirmed = r.action.reads && r.small(); r.unconfirmed {
		return nil
	}
	return r.preconditions.Confirm(r.Ctx())
}

// maxUnconfirmed is up to how many bytes a body may be taken, and kept, for somebody who was let in
// by what is remembered.
const maxUnconfirmed = 1 << 20

// small reports whether the body is small, of a known length and not packed; it is kept then as
// long as the request may have to begin again.
func (r *Request) small() bool {
	if n := r.HTTP.ContentLength; n < 0 || n > maxUnconfirmed || r.HTTP.Header["Content-Encoding"] != nil {
		return false
	}
	if r.api.Store.Shared() { // the table, which the body names, is claimed too
		r.KeepBody()
	}
	return true
}

// ShouldRetry implements web.Recaller: a key that is refused may have been made by another server.
func (r *Request) ShouldRetry(err error) bool {
	if !r.preconditions.IsStale(r.Ctx(), err) {
		return false
	}
	r.key, r.signer, r.signature, r.body = nil, nil, nil, nil
	return true
}

// Run implements web.Call.
func (r *Request) Run() error {
	if r.action == nil {
		return r.Bytes(http.StatusOK, "text/plain", []byte("healthy: "+r.Host()+"\n"))
	}
	raw, err := r.readBody()
	if err != nil {
		return err
	}
	if r.body, err = jsonscan.Compact(raw); err != nil || jsonscan.KindOf(r.body) != jsonscan.Object {
		return errNoObject
	}
	return r.action.run(r)
}

// answer sends the answer of an operation, JSON.
func (r *Request) answer(body []byte) error {
	r.sum(body)
	return r.Bytes(http.StatusOK, contentType, body)
}

// sum sets the header by which clients notice an answer that was damaged on its way.
func (r *Request) sum(body []byte) {
	r.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
}

// Complete implements web.Call. The frame has named the request already. What was answered without
// a read is looked at now.
func (r *Request) Complete(status int) {
	if !r.unconfirmed {
		return
	}
	if err := r.preconditions.Confirm(r.Ctx()); err != nil && (status < http.StatusBadRequest || r.preconditions.Stale()) {
		r.Withhold(err)
	}
}
