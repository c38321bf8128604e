package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// secretHeaders prove who asks and may change from one day to the next: they are
// no part of an id.
var secretHeaders = []string{"Authorization", "Cookie", "Proxy-Authorization", "X-Auth-Couchdb-Token", "X-Api-Key"}

// Subject is what an id depends on besides the Replication itself.
type Subject struct {
	Server string // the server's uuid
	Caller string // who asks: local endpoints are seen with that user's rights
	Code   string // of the filter function, so that a changed one begins anew
}

// BaseID returns the id of the checkpoints: equal for what carries the same
// documents between the same endpoints, whatever the password.
func (r *Replication) BaseID(s Subject) string {
	parts := []any{s.Server, r.Source.identity(s.Caller), r.Target.identity(s.Caller)}
	switch {
	case r.DocIDs != nil:
		parts = append(parts, "doc_ids", r.DocIDs)
	case r.Selector != nil:
		parts = append(parts, "selector", string(r.Selector))
	case r.Filter != "":
		parts = append(parts, "filter", r.Filter, s.Code, r.Params)
	}
	if r.WinnersOnly {
		parts = append(parts, "winning_revs_only")
	}
	if r.SinceSeq != "" {
		parts = append(parts, "since_seq", r.SinceSeq)
	}
	text, err := json.Marshal(parts)
	if err != nil {
		panic(err) // strings and lists of them
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// FullID returns the id that people see for the id of checkpoints: it shows how
// the replication runs, too.
func (r *Replication) FullID(base string) string {
	if r.Continuous {
		base += "+continuous"
	}
	if r.CreateTarget {
		base += "+create_target"
	}
	return base
}

// NormalizeID returns an id as FullID writes it, of one whose plus was not escaped
// in a URL.
func NormalizeID(id string) string { return strings.ReplaceAll(id, " ", "+") }

// identity is what tells an endpoint from another one, password or no password.
func (e *Endpoint) identity(caller string) []string {
	if e.Local != "" {
		user := caller
		if e.HasCredentials() {
			user = e.User
		}
		return append([]string{"local", e.Local, user}, e.plainHeaders()...)
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		return []string{"remote", e.URL} // it was parsed before
	}
	port := u.Port()
	if port == "5984" || port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" {
		port = ""
	}
	return append([]string{"remote", strings.ToLower(u.Hostname()), port, u.EscapedPath(), e.User}, e.plainHeaders()...)
}

func (e *Endpoint) plainHeaders() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(e.Header)) {
		if !slices.Contains(secretHeaders, name) {
			list = append(list, name, e.Header[name])
		}
	}
	return list
}
