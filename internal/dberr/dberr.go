// Package dberr owns the one error type of the project: an operation, a kind
// from a closed list, a reason for the public and a cause for the log.
//
// Every layer may import it. Errors are told apart by Kind (see Is), never by
// text. The APIs turn a kind and a code into a status and a body; nobody else
// knows about HTTP.
package dberr

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind says what sort of failure an error is. The list is closed: an API has
// one status for each.
type Kind uint8

const (
	Internal       Kind = iota // a fault of ours; the reason is not shown
	Invalid                    // the request is malformed or breaks a rule
	Unauthorized               // the caller is not known, or not well enough
	Forbidden                  // the caller is known and may not
	NotFound                   // the thing is not there (missing or deleted)
	Conflict                   // the thing has moved on since the caller read it
	Exists                     // the thing is there already
	Precondition               // a stated precondition does not hold
	TooLarge                   // over a size limit
	Unsupported                // the media type is not understood
	Timeout                    // not done within the time allowed
	NotImplemented             // known to the API, not built here
	Unavailable                // cannot be served at present
	SnapshotTooOld             // a snapshot outlived the engine's age limit
	UnknownOutcome             // a commit may or may not have happened
	Full                       // no room on the disk
)

// Error is the project's error.
type Error struct {
	Op     string // where it arose, "package.function"; may be empty
	Kind   Kind
	Code   string // the API's word, such as "illegal_docid"; empty: the API's word for the kind
	Reason string // a sentence for the caller
	Cause  error  // for the log; may be nil
	// RetryAfter is how long the caller should wait before asking again; 0: it
	// is not said.
	RetryAfter time.Duration
}

// Error returns the text for a log line: operation, code, reason, cause.
func (e *Error) Error() string {
	s := e.Reason
	if e.Code != "" {
		s = e.Code + ": " + s
	}
	if e.Op != "" {
		s = e.Op + ": " + s
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// maxShown is how many bytes of a reason a caller is told.
const maxShown = 4 << 10

// Shown returns the reason as a caller is told it: of a long one, which may quote what the
// caller sent, the beginning.
func (e *Error) Shown() string {
	if len(e.Reason) <= maxShown {
		return e.Reason
	}
	return strings.ToValidUTF8(e.Reason[:maxShown], "") + "…"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// New makes an error of kind k with the API word code and a public reason,
// formatted as by fmt.Sprintf when args are given.
func New(k Kind, code, reason string, args ...any) *Error {
	if len(args) > 0 {
		reason = fmt.Sprintf(reason, args...)
	}
	return &Error{Kind: k, Code: code, Reason: reason}
}

// After returns a copy of e that asks the caller to wait before asking again.
func (e *Error) After(wait time.Duration) *Error {
	later := *e
	later.RetryAfter = wait
	return &later
}

// Wrap says that op failed because of cause. It keeps the kind, code, reason
// and wait of a *Error within cause; any other cause becomes Internal.
func Wrap(op string, cause error) error {
	if cause == nil {
		return nil
	}
	var e *Error
	if errors.As(cause, &e) {
		return &Error{Op: op, Kind: e.Kind, Code: e.Code, Reason: e.Reason, RetryAfter: e.RetryAfter, Cause: cause}
	}
	return &Error{Op: op, Kind: Internal, Reason: "internal error", Cause: cause}
}

// Locate returns a copy of the *Error in err whose reason goes on with where, in
// parentheses: which of many things is meant, or where in a text. Other errors
// stay.
func Locate(err error, where string) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	located := *e
	located.Reason += " (" + where + ")"
	return &located
}

// KindOf returns the kind of the outermost *Error in err's chain, Internal if
// there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// Is reports whether err is an error of kind k.
func Is(err error, k Kind) bool { return err != nil && KindOf(err) == k }
