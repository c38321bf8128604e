package dynamoapi

import (
	"hash/crc32"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/outgoing"
	"github.com/sectional/sectional/internal/sigv4"
	"github.com/sectional/sectional/internal/web"
)

// Request is a request on its way.
type Request struct {
	web.Request
	api       *API
	action    *action         // nil for an operation that there is not
	key       *auth.AccessKey // that signed it; nil for an open server, and from within the process
	signature *sigv4.Signature
	signer    *auth.Caller // whose key it is, until the signature is verified
	body      []byte       // compact JSON
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
	if c := auth.CallerOf(r.Ctx()); c != nil {
		r.SetCaller(c)
		return nil
	}
	if r.api.Open {
		if !onLoopback(r.HTTP.Host) {
			return errForeignHost
		}
		r.SetCaller(&auth.Caller{Name: "local", Roles: []string{auth.AdminRole}, Handler: auth.SignatureHandler})
		return nil
	}
	r.Caller = &auth.Caller{}
	return r.findKey()
}

// errForeignHost refuses what a page in a browser sends that had the name of its own site
// point here (DNS rebinding): it needs no credentials.
var errForeignHost = dberr.New(dberr.Forbidden, accessDenied, "This server takes requests without credentials, for localhost only.")

// onLoopback reports whether a Host header names this machine as itself.
func onLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	return outgoing.ThisMachine(name)
}

// Admit implements web.Call. Which table the request is about is in its body, so the
// rights of the caller are asked for by the operation.
func (r *Request) Admit() error {
	switch {
	case r.Method == http.MethodGet && r.action == nil:
		return nil // clients and load balancers ask whether the server is there
	case r.Method != http.MethodPost || r.action == nil:
		return errUnknownOperation
	}
	return nil
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

// Complete implements web.Call.
func (r *Request) Complete(int) { r.Set("X-Amzn-Requestid", r.ID()) }
