package couchhttp

import (
	"errors"
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/web"
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
	dberr.Timeout:        {http.StatusInternalServerError, "timeout"},
	dberr.NotImplemented: {http.StatusNotImplemented, "not_implemented"},
	dberr.Unavailable:    {http.StatusServiceUnavailable, "service_unavailable"},
	dberr.SnapshotTooOld: {http.StatusInternalServerError, "timeout"},
	dberr.UnknownOutcome: {http.StatusInternalServerError, "unknown_outcome"},
	dberr.Full:           {http.StatusInsufficientStorage, "insufficient_storage"},
}

// statuses are those of the words that are HTTP's own: no kind stands for them.
var statuses = map[string]int{
	web.TooManyRequests:  http.StatusTooManyRequests,
	"gone":               http.StatusGone,
	"method_not_allowed": http.StatusMethodNotAllowed,
	"not_acceptable":     http.StatusNotAcceptable,
	OutOfRange:           http.StatusRequestedRangeNotSatisfiable,
}

// OutOfRange is the word for bytes that an attachment does not have.
const OutOfRange = "requested_range_not_satisfiable"

// Words returns status, word and reason of an error, as they go to the client:
// for whole answers and for the items of _bulk_docs and _bulk_get alike. Of a long reason it is the beginning. An
// internal error says nothing of its cause.
func Words(err error) (status int, word, reason string) {
	var e *dberr.Error
	if !errors.As(err, &e) {
		w := wires[dberr.Internal]
		return w.status, w.word, "The server could not process the request."
	}
	w := wires[e.Kind]
	status, word, reason = w.status, w.word, e.Shown()
	if e.Code != "" {
		word = e.Code
	}
	if special, ok := statuses[e.Code]; ok {
		status = special
	}
	if errors.Is(err, web.ErrEncoding) {
		word = "bad_ctype"
	}
	if e.Kind == dberr.Internal && e.Code == "" {
		reason = "The server could not process the request."
	}
	return status, word, reason
}

// AppendFailure appends {"error":…,"reason":…} for an error. The reason is as
// words returns it, but for a design function that gave none in words: then it is
// the JSON that the function gave.
func AppendFailure(dst []byte, err error) []byte {
	_, word, reason := Words(err)
	var thrown *script.Thrown
	if !errors.As(err, &thrown) {
		return AppendError(dst, word, reason)
	}
	dst = AppendString(append(dst, `{"error":`...), word)
	dst = append(append(dst, `,"reason":`...), thrown.Reason...)
	return append(dst, '}')
}

// AppendError appends {"error":…,"reason":…}.
func AppendError(dst []byte, word, reason string) []byte {
	dst = append(dst, `{"error":`...)
	dst = AppendString(dst, word)
	dst = append(dst, `,"reason":`...)
	return append(AppendString(dst, reason), '}')
}

// Render implements web.Call.
func (r *Request) Render(err error) web.Failure {
	err = r.Located(err)
	status, _, reason := Words(err)
	f := web.Failure{Type: web.JSON, Body: append(AppendFailure(nil, err), '\n'), Unlogged: errors.Is(err, errNotSeen)}
	if status == http.StatusMethodNotAllowed && r.node != nil && r.Answer()["Allow"] == nil {
		r.Set("Allow", r.node.Allowed())
	}
	if e := (*dberr.Error)(nil); errors.As(err, &e) && (e.Kind == dberr.Internal || e.Kind == dberr.Timeout) && e.Code != "" {
		f.Public = true // a design function's fault
	}
	if f.Status = status; status == http.StatusUnauthorized {
		f.Status = r.challenge(reason)
	}
	return f
}

// jsonParams are the parameters whose values are JSON.
var jsonParams = map[string]bool{
	"key": true, "keys": true, "startkey": true, "start_key": true, "endkey": true, "end_key": true,
	"open_revs": true, "atts_since": true, "doc_ids": true,
}

// Located returns an error that something is not JSON its place: in the body, or in
// a parameter. What may hold a password is not shown.
func (r *Request) Located(err error) error {
	if !errors.Is(err, document.ErrNotJSON) {
		return err
	}
	show := r.DB != nil && !r.API.IsSystemName(r.DB.Name()) && !r.Scope.Redacted()
	if r.Raw != nil || r.HTTP.ContentLength == 0 && r.Method != http.MethodGet {
		if found := document.Locate(err, r.Raw, show); found != err {
			return found
		}
	}
	for _, p := range r.Query {
		if jsonParams[p.Name] {
			if found := document.Locate(err, []byte(p.Value), true); found != err {
				return dberr.Locate(err, "parameter "+p.Name+": "+shortened(p.Value))
			}
		}
	}
	return err
}

// shortened returns the beginning of a text that the client sent.
func shortened(s string) string {
	const most = 40
	if len(s) <= most {
		return Valid(s)
	}
	return Valid(s[:most]) + "…"
}

// challenge sets the headers that go with a 401, which may make a redirection
// of it, and returns the status.
func (r *Request) challenge(reason string) int {
	accept := r.Header("Accept")
	c := r.API.Auth.Challenge(auth.Refused{
		Path:        r.HTTP.RequestURI,
		Reason:      reason,
		Wanted:      r.Header("X-Couchdb-Www-Authenticate"),
		AcceptsJSON: web.Accepts(accept, "application/json"),
		AcceptsHTML: web.Accepts(accept, "text/html"),
		Navigates:   r.navigates(),
	})
	if c.WWWAuthenticate != "" {
		r.Set("Www-Authenticate", c.WWWAuthenticate)
	}
	if c.Location == "" {
		return http.StatusUnauthorized
	}
	// A space is written as in a path: the login page reads it so.
	r.Set("Location", r.Host()+strings.ReplaceAll(c.Location, "+", "%20"))
	return http.StatusFound
}
