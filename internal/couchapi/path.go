package couchapi

import (
	"net/http"
	"strings"
)

// maxParts bounds the segments of a path that a route may name. What lies
// beyond is part of an attachment's name and stays in the last one.
const maxParts = 16

// path is a request's path: its segments, decoded one by one, so that an
// escaped slash stays inside its segment. Empty segments are dropped, as
// CouchDB does: "//db/" is "db".
type path struct {
	parts [maxParts]string
	n     int
}

// split makes p, which is empty, the path of a request target.
func (p *path) split(target string, plus plusMeans) {
	for target != "" && p.n < maxParts {
		var part string
		if p.n == maxParts-1 {
			part, target = strings.Trim(target, "/"), ""
		} else {
			part, target, _ = strings.Cut(target, "/")
		}
		if part == "" {
			continue
		}
		p.parts[p.n] = unquote(part, plus)
		if p.n++; p.n == 1 && len(p.parts[0]) != len(part) {
			p.splitEndpoint()
		}
	}
}

// rest joins the segments from i on.
func (p *path) rest(i int) string {
	if i == p.n-1 {
		return p.parts[i]
	}
	return strings.Join(p.parts[i:p.n], "/")
}

// targetOf returns the escaped path and the query of a request as they came on
// the wire. Request.URL is not used for them: it has lost the difference
// between "/" and "%2F" for some paths and costs an allocation to restore.
func targetOf(r *http.Request) (path, query string) {
	if strings.HasPrefix(r.RequestURI, "/") {
		path, query, _ = strings.Cut(r.RequestURI, "?")
		return path, query
	}
	return r.URL.EscapedPath(), r.URL.RawQuery
}

// plusMeans says what "+" stands for in escaped text: a space, or itself.
type plusMeans byte

const (
	plusIsSpace plusMeans = ' '
	plusIsPlus  plusMeans = '+'
)

// unquote decodes %XX, and "+" as it is meant: CouchDB takes it for a space in paths
// too, unless it is told otherwise. An escape that is none stays as it is.
func unquote(s string, plus plusMeans) string {
	if strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '+') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '+':
			b = append(b, byte(plus))
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			b = append(b, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c >= 'a':
		return c - 'a' + 10
	}
	return c - 'A' + 10
}

// appendQuotedPath appends s as one segment of a path: everything but letters,
// digits, "-", ".", "_", "~" and, as CouchDB writes it, ":" is escaped.
func appendQuotedPath(dst []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isPlain(c) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		}
	}
	return dst
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~' || c == ':'
}
