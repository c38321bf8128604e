package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Request is what a signature covers of a request.
type Request struct {
	Method string
	Path   string // as it came, escaped
	Query  string // as it came, without the "?"
	Host   string
	// Header returns all values of a header.
	Header func(name string) []string
	// Payload is the digest of the body as it came, so before it is unpacked.
	Payload [sha256.Size]byte
}

// errMismatch is AWS's sentence for a signature that is not the one of the request.
var errMismatch = &Invalid{"The request signature we calculated does not match the signature you provided. " +
	"Check your AWS Secret Access Key and signing method. Consult the service documentation for details."}

// Verify refuses the signature with Invalid unless the secret makes it of the request.
// The comparison takes the same time wherever the two differ.
func (s *Signature) Verify(secret string, r *Request) error {
	return s.verify(s.key(secret), r)
}

func digest(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// appendToSign appends the text that is signed: of the request only its digest.
func (s *Signature) appendToSign(b []byte, r *Request) []byte {
	var room [1024]byte
	sum := sha256.Sum256(s.appendCanonical(room[:0], r))
	b = append(append(b, algorithm+"\n"...), s.stamp...)
	for _, part := range [...]string{"\n", s.Day, "/", s.Region, "/", s.Service, "/" + terminator + "\n"} {
		b = append(b, part...)
	}
	return hex.AppendEncode(b, sum[:])
}

// appendCanonical appends the request in the one form that both sides make of it.
func (s *Signature) appendCanonical(b []byte, r *Request) []byte {
	b = append(append(b, r.Method...), '\n')
	b = append(appendEscaped(b, r.Path), '\n')
	b = append(append(b, canonicalQuery(r.Query)...), '\n')
	for name := range strings.SplitSeq(s.signed, ";") {
		b = append(append(b, name...), ':')
		b = append(s.appendHeader(b, r, name), '\n')
	}
	b = append(append(append(b, '\n'), s.signed...), '\n')
	return hex.AppendEncode(b, r.Payload[:])
}

// appendHeader appends the values of a header with single spaces, one after the other.
func (s *Signature) appendHeader(dst []byte, r *Request, name string) []byte {
	if name == "host" || name == ":authority" {
		return append(dst, r.Host...)
	}
	for i, v := range r.Header(name) {
		if i > 0 {
			dst = append(dst, ',')
		}
		if isSpaced(v) {
			dst = append(dst, v...)
		} else {
			dst = append(dst, strings.Join(strings.Fields(v), " ")...)
		}
	}
	return dst
}

// isSpaced reports whether a text surely has single spaces between its words already, and
// nothing else about them.
func isSpaced(text string) bool {
	last := byte(' ')
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c >= 0x7f || c == ' ' && last == ' ' {
			return false
		}
		last = c
	}
	return last != ' ' || text == ""
}

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"

// appendEscaped appends a path that is escaped already, escaped once more: so do all
// services but S3.
func appendEscaped(dst []byte, path string) []byte {
	if path == "" {
		return append(dst, '/')
	}
	for i := range len(path) {
		if c := path[i]; strings.IndexByte(unreserved, c) >= 0 {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
		}
	}
	return dst
}

// canonicalQuery returns the parameters in the order of their names and values.
func canonicalQuery(query string) string {
	if query == "" {
		return ""
	}
	pairs := strings.Split(query, "&")
	for i, p := range pairs {
		if !strings.Contains(p, "=") {
			pairs[i] = p + "="
		}
	}
	slices.SortFunc(pairs, func(a, b string) int {
		an, av, _ := strings.Cut(a, "=")
		bn, bv, _ := strings.Cut(b, "=")
		if c := strings.Compare(an, bn); c != 0 {
			return c
		}
		return strings.Compare(av, bv)
	})
	return strings.Join(pairs, "&")
}
