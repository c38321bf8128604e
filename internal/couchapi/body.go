package couchapi

import (
	"mime"

	"github.com/sectional/sectional/internal/dberr"
)

// requireJSON refuses bodies of another content type.
func (r *request) requireJSON() error { return r.requireType("application/json") }

// requireType refuses bodies that are neither of a type, nor JSON, nor a form
// that counts as JSON.
func (r *request) requireType(wanted string) error {
	switch kind, _, _ := mime.ParseMediaType(r.Header("Content-Type")); {
	case kind == wanted, kind == "application/json", kind == "application/x-www-form-urlencoded" && r.formIsJSON():
		return nil
	}
	return dberr.New(dberr.Unsupported, "bad_content_type", "Content-Type must be "+wanted)
}

// jsonBody reads a body that must be JSON by its content type.
func (r *request) jsonBody() ([]byte, error) {
	if err := r.requireJSON(); err != nil {
		return nil, err
	}
	return r.Body(nil)
}

// uploadBuffer is what an upload holds once it is under way: a page of the store's and
// the state of the packer.
const uploadBuffer = 2 << 20

// snapshotBuffer is what the loading of a snapshot holds: the window of the unpacker and
// a page of documents.
const snapshotBuffer = 24 << 20
