package couchapi

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/web"
)

// noTime is a header value that most answers share. It must never be changed.
var noTime = []string{"0"}

// Complete implements web.Call: the headers that every answer of CouchDB has.
func (r *request) Complete(status int) {
	h := r.Answer()
	if r.wrote > 0 && status < http.StatusBadRequest {
		r.Set(seqHeader, r.scope.FormatSeq(r.wrote))
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

// etagOf sets the ETag header to a revision.
func (r *request) etagOf(rev document.Rev) {
	b := append(make([]byte, 0, 64), '"')
	r.Set("Etag", string(append(rev.AppendText(b), '"')))
}

// location sets the Location header to the address of what lies below the
// request's endpoint.
func (r *request) location(parts ...string) { r.Set("Location", r.place(parts...)) }

// json answers with a body of JSON; the newline that CouchDB ends its answers
// with is added, so that small answers leave in one packet with their header. The body may be reused afterwards.
func (r *request) json(status int, body []byte) error {
	return r.Bytes(status, web.JSON, append(body, '\n'))
}

// build answers with the JSON that f appends to a buffer of the frame's.
func (r *request) build(status int, f func(b []byte) []byte) error {
	buf := web.TakeBuffer()
	defer web.GiveBuffer(buf)
	*buf = f((*buf)[:0])
	return r.json(status, *buf)
}

// marshal answers with a value in JSON, for answers that need not be fast.
func (r *request) marshal(status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return r.json(status, b)
}

// ok answers {"ok":true}.
func (r *request) ok(status int) error { return r.json(status, []byte(`{"ok":true}`)) }

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte { return jsonscan.AppendQuoted(dst, s) }

// appendMember appends ,"name": with the comma left out directly after "{".
func appendMember(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(appendString(dst, name), ':')
}
