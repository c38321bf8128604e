package couchapi

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
)

// Header values that every answer shares. They must never be changed: a map of
// headers holds these very slices, so that no answer allocates them.
var (
	jsonType       = []string{"application/json"}
	mustRevalidate = []string{"must-revalidate"}
	noTime         = []string{"0"}
)

// set sets a header of the answer. The name must be in canonical form. The
// first values lie in the request, so that they cost no allocations.
func (r *request) set(name, value string) {
	values := []string(nil)
	if r.used < len(r.values) {
		values = r.values[r.used : r.used+1 : r.used+1]
		r.used++
	} else {
		values = make([]string, 1)
	}
	values[0] = value
	r.w.Header()[name] = values
}

// etag sets the ETag header to the quoted value.
func (r *request) etag(value string) { r.set("Etag", `"`+value+`"`) }

// etagOf sets the ETag header to a revision.
func (r *request) etagOf(rev document.Rev) {
	b := append(make([]byte, 0, 64), '"')
	r.set("Etag", string(append(rev.AppendText(b), '"')))
}

// vary adds a header of requests to those on which the answer depends.
func (r *request) vary(name string) {
	h := r.w.Header()
	h["Vary"] = append(slices.Clip(h["Vary"]), name)
}

// location sets the Location header to the address of what lies below the
// request's endpoint.
func (r *request) location(parts ...string) { r.set("Location", r.place(parts...)) }

// unmodified answers 304 if the request's If-None-Match names the ETag that
// etag gave last.
func (r *request) unmodified() bool {
	etag := r.w.Header()["Etag"]
	if etag == nil || !matchesETag(r.header("If-None-Match"), etag[0]) {
		return false
	}
	r.begin(http.StatusNotModified, 0)
	return true
}

// json answers with a body of JSON; the newline that CouchDB ends its answers
// with is added. The body may be reused afterwards.
func (r *request) json(status int, body []byte) error {
	r.w.Header()["Content-Type"] = jsonType
	r.begin(status, len(body)+1)
	if r.head {
		return nil
	}
	// One write, so that small answers leave in one packet with their header.
	return r.write(append(body, '\n'))
}

// build answers with the JSON that f appends to a buffer of the frame's.
func (r *request) build(status int, f func(b []byte) []byte) error {
	buf := takeBuffer()
	defer giveBuffer(buf)
	*buf = f((*buf)[:0])
	return r.json(status, *buf)
}

// ok answers {"ok":true}.
func (r *request) ok(status int) error { return r.json(status, []byte(`{"ok":true}`)) }

// bytes answers with a body that is not JSON.
func (r *request) bytes(status int, contentType string, body []byte) error {
	r.set("Content-Type", contentType)
	r.begin(status, len(body))
	if r.head {
		return nil
	}
	return r.write(body)
}

// begin sends status and headers. length is the body's, -1 if it is not known.
func (r *request) begin(status, length int) {
	h := r.w.Header()
	if length >= 0 && status != http.StatusNotModified && status != http.StatusNoContent {
		r.set("Content-Length", strconv.Itoa(length))
	}
	if h["Cache-Control"] == nil {
		h["Cache-Control"] = mustRevalidate
	}
	if r.wrote > 0 && status < http.StatusBadRequest {
		r.set(seqHeader, r.scope.FormatSeq(r.wrote))
	}
	h["X-Couchdb-Body-Time"] = noTime
	if r.bodyTime > 0 {
		r.set("X-Couchdb-Body-Time", strconv.FormatInt(r.bodyTime.Milliseconds(), 10))
	}
	if prefer := r.http.Header["Prefer"]; prefer != nil && prefer[0] == "return=minimal" {
		minimize(h)
	}
	r.status = status
	r.w.WriteHeader(status)
}

// minimal are the headers that stay when the client wants no others.
var minimal = map[string]bool{
	"Cache-Control": true, "Content-Length": true, "Content-Range": true, "Content-Type": true, "Etag": true,
	"Server": true, "Transfer-Encoding": true, "Vary": true,
}

func minimize(h http.Header) {
	for name := range h {
		if !minimal[name] {
			delete(h, name)
		}
	}
}

func (r *request) write(b []byte) error {
	n, err := r.w.Write(b)
	r.sent += int64(n)
	return err
}

// matchesETag reports whether an If-None-Match header names the tag.
func matchesETag(header, tag string) bool {
	return header != "" && (header == tag || header == "*" || header == tag[1:len(tag)-1])
}

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte { return jsonscan.AppendQuoted(dst, s) }

// appendMember appends ,"name": with the comma left out directly after "{".
func appendMember(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(appendString(dst, name), ':')
}
