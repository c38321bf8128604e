// Package auth owns who a caller is and what the caller may: passwords as
// CouchDB stores them, Basic, cookie, proxy and token authentication, the
// lock-out, the rules of _security and of the _users database, the keys of
// issuers of tokens, sessions and CORS.
//
// It promises that a credential is never accepted after the password changed,
// that secrets are compared in constant time, and that a flood of wrong
// passwords can't take all processors. It must know neither HTTP (headers come
// as strings) nor the store (user documents come through Users). Errors carry
// CouchDB's exact sentences.
//
// Begin reading at Authenticator.Authenticate; Security.Check,
// Security.CheckPartition and Authenticator.BeforeUserWrite are the other endpoints.
package auth

import (
	"encoding/json"
	"slices"

	"github.com/sectional/sectional/internal/dberr"
)

// AdminRole is the role of server administrators.
const AdminRole = "_admin"

// MetricsRole may read metrics without being an administrator.
const MetricsRole = "_metrics"

// Handler names a way of authentication, as _session shows it.
type Handler string

// The ways of authentication.
const (
	CookieHandler Handler = "cookie"
	BasicHandler  Handler = "default"
	ProxyHandler  Handler = "proxy"
	JWTHandler    Handler = "jwt"
	// SignatureHandler is the way of the DynamoDB API: requests signed with an access key.
	SignatureHandler Handler = "signature"
)

// Caller is whoever sent a request. The zero Caller is anonymous.
type Caller struct {
	Name    string // empty: anonymous
	Roles   []string
	Handler Handler // empty: not authenticated
	// Claims are those of the token, numbers as json.Number; nil for other
	// handlers.
	Claims map[string]any
	// Address is where the request came from; empty: from within the process.
	Address string
	// By is the administrator who asks to see what this caller sees, and may only read; nil:
	// the caller asks for himself.
	By *Caller
}

// Anonymous reports whether nobody vouches for the caller.
func (c *Caller) Anonymous() bool { return c.Name == "" }

// IsAdmin reports whether the caller is a server administrator.
func (c *Caller) IsAdmin() bool { return c.HasRole(AdminRole) }

// HasRole reports whether the caller has a role.
func (c *Caller) HasRole(role string) bool { return slices.Contains(c.Roles, role) }

// userContext is what validation functions and _session see of a caller.
type userContext struct {
	DB    string   `json:"db,omitempty"`
	Name  *string  `json:"name"`
	Roles []string `json:"roles"`
}

func (c *Caller) context(db string) userContext {
	u := userContext{DB: db, Roles: c.Roles}
	if u.Roles == nil {
		u.Roles = []string{}
	}
	if !c.Anonymous() {
		u.Name = &c.Name
	}
	return u
}

// UserContext returns the JSON object that validation functions get as userCtx.
func (c *Caller) UserContext(db string) json.RawMessage {
	b, err := json.Marshal(c.context(db))
	if err != nil {
		panic(err) // strings always marshal
	}
	return b
}

// RequireServerAdmin refuses callers who are not server administrators.
func RequireServerAdmin(c *Caller) error {
	if c.IsAdmin() {
		return nil
	}
	return unauthorized("You are not a server admin.")
}

// RequireUser refuses callers who have not said who they are.
func RequireUser(c *Caller) error {
	if c.Anonymous() && !c.IsAdmin() {
		return unauthorized("Authentication required.")
	}
	return nil
}

// RequireMetrics refuses callers who are neither server administrators nor
// readers of metrics.
func RequireMetrics(c *Caller) error {
	if c.IsAdmin() || c.HasRole(MetricsRole) {
		return nil
	}
	return unauthorized("You are not a server admin or read-only metrics user")
}

func unauthorized(reason string) error {
	return dberr.New(dberr.Unauthorized, "unauthorized", reason)
}

func forbidden(reason string) error {
	return &dberr.Error{Kind: dberr.Forbidden, Code: "forbidden", Reason: reason}
}

func badRequest(reason string) error {
	return &dberr.Error{Kind: dberr.Invalid, Code: "bad_request", Reason: reason}
}

// errWrongPassword is the one answer to every failed login.
func errWrongPassword() error { return unauthorized("Name or password is incorrect.") }
