package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/dberr"
)

// Failure is an error as a client sees it.
type Failure struct {
	Status int
	Type   string // the content type of Body
	Body   []byte
	// Public says that the client receives in full what went wrong, and that it is nobody's fault here: the log has it as
	// information. Unlogged: the log does not have it.
	Public, Unlogged bool
}

// Fail answers with an error: with the whole answer if nothing went out yet, else with its body as a last line, after which the
// connection is cut, so that nobody takes the half for the whole.
func (r *Request) Fail(err error) {
	if r.out != nil && !r.out.abandon() || r.out == nil && r.status != 0 {
		r.breakOff(err)
	}
	if other := r.writeError(err); other != nil {
		r.instead = true
		_ = r.writeError(other) // which is not withheld
	}
}

// breakOff ends an answer of which a part is out.
func (r *Request) breakOff(err error) {
	f := r.call.Render(err)
	r.LogFailure(f, err)
	if !r.Head && (r.Ctx().Err() == nil || r.work.Over()) {
		_ = r.Write(append([]byte("\n"), f.Body...)) // the client may be gone; the connection is cut in any case
		_ = r.Flush()
	}
	panic(http.ErrAbortHandler)
}

// writeError answers with an error. If the answer is withheld it returns the error to tell instead.
func (r *Request) writeError(err error) (instead error) {
	defer catchRedacted(&instead)
	h := r.w.Header()
	delete(h, "Etag")
	delete(h, "Location")
	f := r.call.Render(err)
	r.LogFailure(f, err)
	if wait := retryAfter(err); wait > 0 {
		r.Set("Retry-After", strconv.Itoa(wait))
	}
	_ = r.Bytes(f.Status, f.Type, f.Body) // nobody is left to tell
	return nil
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

// LogFailure logs what the operator should know of: faults of ours, not the
// client's, and not clients that went away.
func (r *Request) LogFailure(f Failure, err error) {
	if f.Unlogged || f.Status < 500 || f.Status == http.StatusNotImplemented || errors.Is(err, context.Canceled) ||
		f.Status == http.StatusInsufficientStorage { // the engine says when that begins and ends
		return
	}
	if line := (*net.OpError)(nil); r.status != 0 && errors.As(err, &line) {
		return // the client left, or did not read
	}
	level, cause := slog.LevelError, slog.Any("cause", err)
	if e := (*dberr.Error)(nil); f.Public && errors.As(err, &e) {
		level, cause = slog.LevelInfo, slog.String("error", e.Code) // the rest may quote a document
	}
	r.frame.Log.LogAttrs(r.Ctx(), level, "request failed", append(r.about(), slog.Int("status", f.Status), cause)...)
}
