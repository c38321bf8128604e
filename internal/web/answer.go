package web

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// JSON is the content type of answers in JSON.
const JSON = "application/json"

// Header values that every answer shares. They must never be changed: a map of
// headers holds these very slices, so that no answer allocates them.
var (
	jsonType       = []string{JSON}
	mustRevalidate = []string{"must-revalidate"}
	noSniff        = []string{"nosniff"}
)

// Set sets a header of the answer. The name must be in canonical form. The
// first values lie in the request, so that they cost no allocations.
func (r *Request) Set(name, value string) {
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

// Answer returns the header of the answer.
func (r *Request) Answer() http.Header { return r.w.Header() }

// SetType sets the content type of the answer.
func (r *Request) SetType(contentType string) {
	if contentType == JSON {
		r.w.Header()["Content-Type"] = jsonType
	} else {
		r.Set("Content-Type", contentType)
	}
}

// Etag sets the ETag header to the quoted value.
func (r *Request) Etag(value string) { r.Set("Etag", `"`+value+`"`) }

// Vary adds a header of requests to those on which the answer depends.
func (r *Request) Vary(name string) {
	h := r.w.Header()
	h["Vary"] = append(slices.Clip(h["Vary"]), name)
}

// Unmodified answers 304 if the request's If-None-Match names the ETag that
// Etag set last.
func (r *Request) Unmodified() bool {
	etag := r.w.Header()["Etag"]
	if etag == nil || !matchesETag(r.Header("If-None-Match"), etag[0]) {
		return false
	}
	r.Begin(http.StatusNotModified, 0)
	return true
}

// Bytes answers with a body.
func (r *Request) Bytes(status int, contentType string, body []byte) error {
	r.SetType(contentType)
	r.Begin(status, len(body))
	if r.Head {
		return nil
	}
	return r.Write(body)
}

// Begin sends status and headers. length is the body's, -1 if it is not known.
func (r *Request) Begin(status, length int) {
	h := r.w.Header()
	if length >= 0 && status != http.StatusNotModified && status != http.StatusNoContent {
		r.Set("Content-Length", strconv.Itoa(length))
	}
	if h["Cache-Control"] == nil {
		h["Cache-Control"] = mustRevalidate
	}
	h["X-Content-Type-Options"] = noSniff // a browser must not take what is stored for a page or a script
	r.call.Complete(status)
	r.writeAuditEntry(status)
	r.status = status
	r.leaveBody()
	r.w.WriteHeader(status)
}

// BodyTime is how long reads of the body have taken so far.
func (r *Request) BodyTime() time.Duration { return r.bodyTime }

// Write sends a part of the body of an answer whose head Begin sent. The error is the connection's.
func (r *Request) Write(b []byte) error {
	n, err := r.w.Write(b)
	r.sent += int64(n)
	r.work.Moved()
	return err
}

// Copy sends what a reader has as a part of the body.
func (r *Request) Copy(from io.Reader) error {
	n, err := io.Copy(r.w, from)
	r.sent += n
	return err
}

// Flush passes on to the client what was sent.
func (r *Request) Flush() error { return http.NewResponseController(r.w).Flush() }

// matchesETag reports whether an If-None-Match header names the tag.
func matchesETag(header, tag string) bool {
	return header != "" && (header == tag || header == "*" || header == tag[1:len(tag)-1])
}
