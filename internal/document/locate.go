package document

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// maxShown is how much of a text an error shows.
const maxShown = 20

// Locate adds to an error that a text is not JSON the place where it stops being
// JSON: line, column and byte, from 1, and with show what is there. Other
// errors stay, and so does the error if the text is JSON: it is about another one.
func Locate(err error, text []byte, show bool) error {
	if !errors.Is(err, ErrNotJSON) {
		return err
	}
	var e *jsonscan.Error
	if _, wrong := jsonscan.Compact(text); !errors.As(wrong, &e) || e.Reason != jsonscan.NotJSON {
		return err
	}
	return dberr.Locate(err, location(text, min(e.At, len(text)), show))
}

// location describes the place of the byte at.
func location(text []byte, at int, show bool) string {
	before := text[:at]
	line := bytes.LastIndexByte(before, '\n') + 1
	where := "line " + strconv.Itoa(bytes.Count(before, []byte{'\n'})+1) + ", column " + strconv.Itoa(at-line+1) + ", byte " + strconv.Itoa(at+1)
	switch {
	case at == len(text):
		return where + ": the text ends there"
	case !show:
		return where
	}
	rest, more := text[at:], ""
	if len(rest) > maxShown {
		rest, more = rest[:maxShown], "…"
	}
	return where + ": " + strings.ToValidUTF8(string(rest), "\ufffd") + more
}
