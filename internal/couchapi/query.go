package couchapi

import (
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/web"
)

// params is a table of the parameters that a handler knows: each sets its
// field of T. Parameters that are not in the table are ignored, as CouchDB does.
type params[T any] map[string]func(dst *T, value string) error

// read sets dst from q. Parameters are taken in the order of the request, so
// that the first bad one is the one that is told of.
func (ps params[T]) read(q web.Query, dst *T) error {
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

// boolParam makes a table entry for a truth value.
func boolParam[T any](field func(*T) *bool) func(*T, string) error {
	return func(dst *T, value string) error {
		b, err := parseBool(value)
		*field(dst) = b
		return err
	}
}

// countParam makes a table entry for a whole number from 0 up.
func countParam[T any](field func(*T) *int) func(*T, string) error {
	return func(dst *T, value string) error {
		n, err := parseCount(value)
		*field(dst) = n
		return err
	}
}

func queryError(reason string, args ...any) error {
	return dberr.New(dberr.Invalid, "query_parse_error", reason, args...)
}

// parseBool reads a truth value of a list or view parameter, with CouchDB's text.
func parseBool(s string) (bool, error) {
	switch {
	case strings.EqualFold(s, "true"):
		return true, nil
	case strings.EqualFold(s, "false"):
		return false, nil
	}
	return false, queryError("Invalid boolean parameter: \"%s\"", s)
}

// parseInt reads a whole number of a list or view parameter.
func parseInt(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, queryError("Invalid value for integer: \"%s\"", s)
	}
	return n, nil
}

// parseCount reads a whole number from 0 up; CouchDB calls it positive.
func parseCount(s string) (int, error) {
	n, err := parseInt(s)
	if err == nil && n < 0 {
		err = queryError("Invalid value for positive integer: \"%s\"", s)
	}
	return n, err
}
