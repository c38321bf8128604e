package couchhttp

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/web"
)

// noTime is a header value that most answers share. It must never be changed.
var noTime = []string{"0"}

// Complete implements web.Call: the headers that every answer of CouchDB has.
func (r *Request) Complete(status int) {
	if err := r.preconditions.Confirm(r.Ctx()); err != nil && (status < http.StatusBadRequest || r.preconditions.Stale()) {
		r.Withhold(err) // the endpoint has read nothing, or went on after it was told so: see Route.Reads
	}
	h := r.Answer()
	if r.Wrote > 0 && status < http.StatusBadRequest {
		r.Set(SeqHeader, r.Scope.FormatSeq(r.Wrote))
	}
	h["X-Couchdb-Body-Time"] = noTime
	if took := r.BodyTime(); took > 0 {
		r.Set("X-Couchdb-Body-Time", strconv.FormatInt(took.Milliseconds(), 10))
	}
	if prefer := r.HTTP.Header["Prefer"]; prefer != nil && prefer[0] == "return=minimal" {
		minimize(h)
	}
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

// EtagOf sets the ETag header to a revision.
func (r *Request) EtagOf(rev document.Rev) {
	b := append(make([]byte, 0, 64), '"')
	r.Set("Etag", string(append(rev.AppendText(b), '"')))
}

// Location sets the Location header to the address of what lies below the
// request's endpoint.
func (r *Request) Location(parts ...string) { r.Set("Location", r.Address(parts...)) }

// JSON answers with a body of JSON; the newline that CouchDB ends its answers
// with is added, so that small answers leave in one packet with their header. The body may be reused afterwards.
func (r *Request) JSON(status int, body []byte) error {
	return r.Bytes(status, web.JSON, append(body, '\n'))
}

// Build answers with the JSON that f appends to a buffer of the frame's.
func (r *Request) Build(status int, f func(b []byte) []byte) error {
	buf := web.TakeBuffer()
	defer web.GiveBuffer(buf)
	*buf = f((*buf)[:0])
	return r.JSON(status, *buf)
}

// Marshal answers with a value in JSON, for answers that need not be fast.
func (r *Request) Marshal(status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return r.JSON(status, b)
}

// OK answers {"ok":true}.
func (r *Request) OK(status int) error { return r.JSON(status, []byte(`{"ok":true}`)) }

// AppendString appends s as a JSON string.
func AppendString(dst []byte, s string) []byte { return jsonscan.AppendQuoted(dst, s) }

// AppendMember appends ,"name": with the comma left out directly after "{".
func AppendMember(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(AppendString(dst, name), ':')
}

// AppendStart appends the time since when there is what a scope shows: a replicator
// that sees it change knows that it no longer writes to the database it began with.
func AppendStart(b []byte, made time.Time) []byte {
	b = strconv.AppendInt(append(b, '"'), made.UnixMilli(), 10)
	return append(b, '"')
}

// AppendCount appends a name and the number that comes after it.
func AppendCount(b []byte, name string, n uint64) []byte {
	return strconv.AppendUint(append(b, name...), n, 10)
}

// PolicyHeader tells browsers what the content of an answer may do.
const PolicyHeader = "Content-Security-Policy"

// AppendStrings appends a list of strings.
func AppendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(b, s)
	}
	return append(b, ']')
}
