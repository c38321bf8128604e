package document

import (
	"errors"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// ErrNotJSON refuses a text that is not JSON in UTF-8, in CouchDB's words.
var ErrNotJSON = dberr.New(dberr.Invalid, "bad_request", "invalid UTF-8 JSON")

// Member is a member of a JSON object: its name decoded, its value as raw JSON.
type Member = jsonscan.Special

// Split validates a document, makes it compact and takes the members whose names
// begin with an underscore out of it, in order, as [jsonscan.Split] does; which of
// them are legal is decided elsewhere. Errors: Invalid bad_request "invalid UTF-8
// JSON", "Document must be a JSON object", and sentences of our own about depth and
// duplicate members.
func Split(raw []byte) (body []byte, special []Member, err error) {
	body, special, err = jsonscan.Split(raw)
	return body, special, refusal(err)
}

// Compact validates any JSON value by Split's rules and makes it compact.
func Compact(raw []byte) ([]byte, error) {
	v, err := jsonscan.Compact(raw)
	return v, refusal(err)
}

// refusal returns the error that a request is answered with for a *jsonscan.Error.
func refusal(err error) error {
	var e *jsonscan.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Reason {
	case jsonscan.TooDeep:
		return dberr.New(dberr.Invalid, "bad_request", "JSON is nested too deeply")
	case jsonscan.Duplicate:
		return dberr.New(dberr.Invalid, "bad_request", `Duplicate member "%s" in a JSON object`, e.Name)
	case jsonscan.NotObject:
		return notObject()
	}
	return ErrNotJSON
}

func notObject() error {
	return dberr.New(dberr.Invalid, "bad_request", "Document must be a JSON object")
}
