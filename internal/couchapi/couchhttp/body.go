package couchhttp

import (
	"mime"

	"github.com/sectional/sectional/internal/dberr"
)

// RequireJSON refuses bodies of another content type.
func (r *Request) RequireJSON() error { return r.RequireType("application/json") }

// RequireType refuses bodies that are neither of a type, nor JSON, nor a form
// that counts as JSON.
func (r *Request) RequireType(wanted string) error {
	switch kind, _, _ := mime.ParseMediaType(r.Header("Content-Type")); {
	case kind == wanted, kind == "application/json", kind == "application/x-www-form-urlencoded" && r.formIsJSON():
		return nil
	}
	return dberr.New(dberr.Unsupported, "bad_content_type", "Content-Type must be "+wanted)
}

// JSONBody reads a body that must be JSON by its content type.
func (r *Request) JSONBody() ([]byte, error) {
	if err := r.RequireJSON(); err != nil {
		return nil, err
	}
	return r.Body(nil)
}

// UploadBuffer is what an upload holds once it is under way: a page of the store's and
// the state of the packer.
const UploadBuffer = 2 << 20

// SnapshotBuffer is what the loading of a snapshot holds: the window of the unpacker and
// a page of documents.
const SnapshotBuffer = 24 << 20

// EmptyOrJSON asks for the content type of JSON and forgets the body.
func (r *Request) EmptyOrJSON() error {
	if err := r.RequireJSON(); err != nil {
		return err
	}
	return r.Drain()
}
