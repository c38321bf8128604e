package couchapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/script"
)

// wire is how a kind of error looks over HTTP: its status, and the word for
// errors that bring none of their own.
type wire struct {
	status int
	word   string
}

// wires has one row for each kind of dberr.
var wires = map[dberr.Kind]wire{
	dberr.Internal:       {http.StatusInternalServerError, "internal_server_error"},
	dberr.Invalid:        {http.StatusBadRequest, "bad_request"},
	dberr.Unauthorized:   {http.StatusUnauthorized, "unauthorized"},
	dberr.Forbidden:      {http.StatusForbidden, "forbidden"},
	dberr.NotFound:       {http.StatusNotFound, "not_found"},
	dberr.Conflict:       {http.StatusConflict, "conflict"},
	dberr.Exists:         {http.StatusPreconditionFailed, "file_exists"},
	dberr.Precondition:   {http.StatusPreconditionFailed, "precondition_failed"},
	dberr.TooLarge:       {http.StatusRequestEntityTooLarge, "too_large"},
	dberr.Unsupported:    {http.StatusUnsupportedMediaType, "bad_content_type"},
	dberr.NotAcceptable:  {http.StatusNotAcceptable, "not_acceptable"},
	dberr.Method:         {http.StatusMethodNotAllowed, "method_not_allowed"},
	dberr.Range:          {http.StatusRequestedRangeNotSatisfiable, "requested_range_not_satisfiable"},
	dberr.Expectation:    {http.StatusExpectationFailed, "expectation_failed"},
	dberr.Timeout:        {http.StatusInternalServerError, "timeout"},
	dberr.NotImplemented: {http.StatusNotImplemented, "not_implemented"},
	dberr.Unavailable:    {http.StatusServiceUnavailable, "service_unavailable"},
	dberr.SnapshotTooOld: {http.StatusInternalServerError, "timeout"},
	dberr.UnknownOutcome: {http.StatusInternalServerError, "unknown_outcome"},
	dberr.Full:           {http.StatusInsufficientStorage, "insufficient_storage"},
}

// errTempView brings the word "gone", for which words has a status of its own: no
// kind stands for it.
var errTempView = dberr.New(dberr.NotFound, "gone", "Temporary views are not supported in CouchDB")

// words returns status, word and reason of an error, as they go to the client:
// for whole answers and for the items of _bulk_docs and _bulk_get alike. An
// internal error tells nothing of its cause.
func words(err error) (status int, word, reason string) {
	var e *dberr.Error
	if !errors.As(err, &e) {
		w := wires[dberr.Internal]
		return w.status, w.word, "The server could not process the request."
	}
	w := wires[e.Kind]
	status, word, reason = w.status, w.word, e.Reason
	if e.Code != "" {
		word = e.Code
	}
	if e.Code == "gone" {
		status = http.StatusGone
	}
	if e.Kind == dberr.Internal && e.Code == "" {
		reason = "The server could not process the request."
	}
	return status, word, reason
}

// appendFailure appends {"error":…,"reason":…} for an error. The reason is as
// words returns it, but for a design function that gave none in words: then it is
// the JSON that the function gave.
func appendFailure(dst []byte, err error) []byte {
	_, word, reason := words(err)
	var thrown *script.Thrown
	if !errors.As(err, &thrown) {
		return appendError(dst, word, reason)
	}
	dst = appendString(append(dst, `{"error":`...), word)
	dst = append(append(dst, `,"reason":`...), thrown.Reason...)
	return append(dst, '}')
}

// appendError appends {"error":…,"reason":…}.
func appendError(dst []byte, word, reason string) []byte {
	dst = append(dst, `{"error":`...)
	dst = appendString(dst, word)
	dst = append(dst, `,"reason":`...)
	return append(appendString(dst, reason), '}')
}

// fail renders the error of a handler: as the whole answer if nothing went
// out yet, else as a last line, after which the connection is cut, so that
// nobody takes the half for the whole.
func (r *request) fail(err error) {
	err = r.located(err)
	status, _, reason := words(err)
	r.logFailure(status, err)
	if r.out != nil && !r.out.abandon() || r.out == nil && r.status != 0 {
		if !r.head && r.ctx().Err() == nil {
			line := append(appendFailure([]byte("\n"), err), '\n')
			_ = r.write(line) // the client may be gone; the connection is cut in any case
			_ = http.NewResponseController(r.w).Flush()
		}
		panic(http.ErrAbortHandler)
	}
	h := r.w.Header()
	delete(h, "Etag")
	delete(h, "Location")
	if status == http.StatusMethodNotAllowed && r.node != nil && h["Allow"] == nil {
		r.set("Allow", r.node.allowed())
	}
	if status == http.StatusUnauthorized {
		status = r.challenge(reason)
	}
	if wait := retryAfter(err); wait > 0 {
		r.set("Retry-After", strconv.Itoa(wait))
	}
	_ = r.json(status, appendFailure(nil, err)) // nobody is left to tell
}

// jsonParams are the parameters whose values are JSON.
var jsonParams = map[string]bool{
	"key": true, "keys": true, "startkey": true, "start_key": true, "endkey": true, "end_key": true,
	"open_revs": true, "atts_since": true, "doc_ids": true,
}

// located returns an error that something is not JSON its place: in the body, or in
// a parameter. What may hold a password is not shown.
func (r *request) located(err error) error {
	if !errors.Is(err, document.ErrNotJSON) {
		return err
	}
	show := r.db != nil && !r.api.isSystemName(r.db.Name()) && !r.scope.Redacted()
	if r.raw != nil || r.http.ContentLength == 0 && r.method != http.MethodGet {
		if found := document.Locate(err, r.raw, show); found != err {
			return found
		}
	}
	for _, p := range r.query {
		if jsonParams[p.name] {
			if found := document.Locate(err, []byte(p.value), true); found != err {
				return dberr.Locate(err, "parameter "+p.name+": "+shortened(p.value))
			}
		}
	}
	return err
}

// shortened returns the beginning of a text that the client sent.
func shortened(s string) string {
	const most = 40
	if len(s) <= most {
		return valid(s)
	}
	return valid(s[:most]) + "…"
}

// retryAfter returns the seconds after which the client should ask again, at
// least one; 0: the error does not say.
func retryAfter(err error) int {
	var e *dberr.Error
	if !errors.As(err, &e) || e.RetryAfter <= 0 {
		return 0
	}
	return int((e.RetryAfter + time.Second - 1) / time.Second)
}

// challenge sets the headers that go with a 401, which may make a redirection
// of it, and gives the status.
func (r *request) challenge(reason string) int {
	accept := r.header("Accept")
	c := r.api.auth.Challenge(auth.Refused{
		Path:        r.http.RequestURI,
		Reason:      reason,
		Wanted:      r.header("X-Couchdb-Www-Authenticate"),
		AcceptsJSON: accepts(accept, "application/json"),
		AcceptsHTML: accepts(accept, "text/html"),
		Navigates:   r.navigates(),
	})
	if c.WWWAuthenticate != "" {
		r.set("Www-Authenticate", c.WWWAuthenticate)
	}
	if c.Location == "" {
		return http.StatusUnauthorized
	}
	// A space is written as in a path: the login page reads it so.
	r.set("Location", r.host()+strings.ReplaceAll(c.Location, "+", "%20"))
	return http.StatusFound
}

// logFailure logs what the operator should know of: faults of ours, not the
// client's, and not clients that went away.
func (r *request) logFailure(status int, err error) {
	if status < 500 || status == http.StatusNotImplemented || errors.Is(err, context.Canceled) || errors.Is(err, errNotSeen) ||
		status == http.StatusInsufficientStorage { // the engine says when that begins and ends
		return
	}
	if line := (*net.OpError)(nil); r.status != 0 && errors.As(err, &line) {
		return // the client left, or did not read
	}
	level := slog.LevelError
	if e := (*dberr.Error)(nil); errors.As(err, &e) && (e.Kind == dberr.Internal || e.Kind == dberr.Timeout) && e.Code != "" {
		level = slog.LevelInfo // a design function's fault, which the client is told in full
	}
	r.api.log.LogAttrs(r.ctx(), level, "request failed",
		slog.String("method", r.http.Method), slog.String("path", r.http.URL.Path),
		slog.Int("status", status), slog.String("request", string(r.id[:])), slog.Any("cause", err))
}
