package spec

import (
	"net/url"
	"strings"

	js "github.com/sectional/sectional/internal/jsonscan"
)

// StripURL takes the credentials out of a URL. One that can't be read loses
// everything up to its last at sign, so that nothing of a password is left.
func StripURL(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || !strings.Contains(rest, "@") {
		return s
	}
	if u, err := url.Parse(s); err == nil {
		authority := rest
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			authority = rest[:i]
		}
		if u.User == nil {
			return s
		}
		return scheme + "://" + rest[strings.LastIndex(authority, "@")+1:]
	}
	return scheme + "://" + rest[strings.LastIndex(rest, "@")+1:]
}

// Strip returns the body of a replication document as those may see it who neither
// own it nor administer its database: without passwords, headers and tokens, and
// without the owner's roles. The order of members stays.
func Strip(body []byte) []byte {
	out := append(make([]byte, 0, len(body)), '{')
	for m := js.MembersOf(body); ; {
		quoted, v, ok := m.Next()
		if !ok {
			return append(out, '}')
		}
		switch string(js.Text(nil, quoted)) {
		case OwnerMember:
			continue
		case "source", "target", "proxy", "source_proxy", "target_proxy":
			v = stripEndpoint(v)
		}
		out = js.AppendMember(out, quoted, v)
	}
}

func stripEndpoint(v []byte) []byte {
	if s, ok := text(v); ok {
		return js.AppendQuoted(nil, StripURL(s))
	}
	if js.KindOf(v) != js.Object {
		return v
	}
	out := []byte{'{'}
	for m := js.MembersOf(v); ; {
		quoted, member, ok := m.Next()
		if !ok {
			return append(out, '}')
		}
		switch string(js.Text(nil, quoted)) {
		case "headers", "auth":
			continue
		case "url":
			member = stripEndpoint(member)
		}
		out = js.AppendMember(out, quoted, member)
	}
}

// ShownEndpoint returns what Endpoint.Shown would for a document's member that may
// not be parsed, "" if it is none.
func ShownEndpoint(v []byte) string {
	if js.KindOf(v) == js.Object {
		v, _ = js.Member(v, "url")
	}
	s, _ := text(v)
	if strings.Contains(s, "://") {
		return strings.TrimRight(StripURL(s), "/") + "/"
	}
	return s
}
