package couchhttp

import (
	"strconv"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/web"
)

// TextParam makes a table entry for a text.
func TextParam[T any](field func(*T) *string) func(*T, string) error {
	return func(dst *T, value string) error {
		*field(dst) = value
		return nil
	}
}

// TrueParam makes a table entry for a truth value that is true if it is "true", and false otherwise.
func TrueParam[T any](field func(*T) *bool) func(*T, string) error {
	return func(dst *T, value string) error {
		*field(dst) = value == "true"
		return nil
	}
}

// Milliseconds converts a number of milliseconds, however large.
func Milliseconds(n int) time.Duration {
	const most = int(time.Hour / time.Millisecond)
	return time.Duration(max(0, min(n, most))) * time.Millisecond
}

// Flag makes a table entry for a parameter that is set by "true" and left
// alone by everything else.
func Flag[T any](field func(*T) *bool) func(*T, string) error {
	return func(dst *T, value string) error {
		if value == "true" {
			*field(dst) = true
		}
		return nil
	}
}

// Params is a table of the parameters that a handler knows: each sets its
// field of T. Parameters that are not in the table are ignored, as CouchDB does.
type Params[T any] map[string]func(dst *T, value string) error

// Read sets dst from q. Parameters are taken in the order of the request, so
// that the first bad one is the one that is told of.
func (ps Params[T]) Read(q web.Query, dst *T) error {
	for _, p := range q {
		set := ps[p.Name]
		if set == nil {
			continue
		}
		if err := set(dst, p.Value); err != nil {
			return err
		}
	}
	return nil
}

// BoolParam makes a table entry for a truth value.
func BoolParam[T any](field func(*T) *bool) func(*T, string) error {
	return func(dst *T, value string) error {
		b, err := ParseBool(value)
		*field(dst) = b
		return err
	}
}

// CountParam makes a table entry for a whole number from 0 up.
func CountParam[T any](field func(*T) *int) func(*T, string) error {
	return func(dst *T, value string) error {
		n, err := ParseCount(value)
		*field(dst) = n
		return err
	}
}

// QueryError makes the error of a parameter, with a reason.
func QueryError(reason string, args ...any) error {
	return dberr.New(dberr.Invalid, "query_parse_error", reason, args...)
}

// ParseBool reads a truth value of a list or view parameter, with CouchDB's text.
func ParseBool(s string) (bool, error) {
	switch {
	case strings.EqualFold(s, "true"):
		return true, nil
	case strings.EqualFold(s, "false"):
		return false, nil
	}
	return false, QueryError("Invalid boolean parameter: \"%s\"", s)
}

// parseInt reads a whole number of a list or view parameter.
func parseInt(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, QueryError("Invalid value for integer: \"%s\"", s)
	}
	return n, nil
}

// ParseCount reads a whole number from 0 up; CouchDB calls it positive.
func ParseCount(s string) (int, error) {
	n, err := parseInt(s)
	if err == nil && n < 0 {
		err = QueryError("Invalid value for positive integer: \"%s\"", s)
	}
	return n, err
}
