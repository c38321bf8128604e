package web

import (
	"net/http"
	"strings"
)

// MaxParts bounds the segments of a path that a route may name. What lies
// beyond stays in the last one.
const MaxParts = 16

// Path is a request's path: its segments, decoded one by one, so that an
// escaped slash stays inside its segment. Empty segments are dropped: "//db/" is "db".
type Path struct {
	parts [MaxParts]string
	n     int
}

// Split makes p, which is empty, the path of a request target.
func (p *Path) Split(target string, plus PlusMeans) {
	for target != "" && p.n < MaxParts {
		var part string
		if p.n == MaxParts-1 {
			part, target = strings.Trim(target, "/"), ""
		} else {
			part, target, _ = strings.Cut(target, "/")
		}
		if part == "" {
			continue
		}
		p.parts[p.n] = Unquote(part, plus)
		p.n++
	}
}

// Parts are the segments.
func (p *Path) Parts() []string { return p.parts[:p.n] }

// Expand puts several segments in the place of the first, which was their escaped form. What MaxParts has no room for
// joins the last one.
func (p *Path) Expand(first ...string) {
	all := append(first, p.parts[1:p.n]...)
	if len(all) > MaxParts {
		all[MaxParts-1] = strings.Join(all[MaxParts-1:], "/")
		all = all[:MaxParts]
	}
	p.n = copy(p.parts[:], all)
}

// Rest joins the segments from i on.
func (p *Path) Rest(i int) string {
	if i == p.n-1 {
		return p.parts[i]
	}
	return strings.Join(p.parts[i:p.n], "/")
}

// TargetOf returns the escaped path and the query of a request as they came on
// the wire. Request.URL is not used for them: it has lost the difference
// between "/" and "%2F" for some paths and costs an allocation to restore.
func TargetOf(r *http.Request) (path, query string) {
	if strings.HasPrefix(r.RequestURI, "/") {
		path, query, _ = strings.Cut(r.RequestURI, "?")
		return path, query
	}
	return r.URL.EscapedPath(), r.URL.RawQuery
}

// PlusMeans says what "+" stands for in escaped text: a space, or itself.
type PlusMeans byte

const (
	PlusIsSpace PlusMeans = ' '
	PlusIsPlus  PlusMeans = '+'
)

// Unquote decodes %XX, and "+" as it is meant. An escape that is none stays as it is.
func Unquote(s string, plus PlusMeans) string {
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

// AppendQuotedPath appends s as one segment of a path: everything but letters,
// digits, "-", ".", "_", "~" and ":" is escaped.
func AppendQuotedPath(dst []byte, s string) []byte {
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
