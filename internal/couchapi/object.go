package couchapi

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// membersOf gives the members of a JSON object, in order, their values as they
// came. It is for small bodies of settings and lists; documents go through
// document.Split.
func membersOf(raw []byte) ([]document.Member, error) {
	if err := checkJSON(raw); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, dberr.New(dberr.Invalid, "bad_request", "Request body must be a JSON object")
	}
	members := []document.Member{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, errNotJSON
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, errNotJSON
		}
		members = append(members, document.Member{Name: name.(string), Value: value})
	}
	return members, nil
}

// checkJSON refuses what is not JSON in UTF-8.
func checkJSON(raw []byte) error {
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return errNotJSON
	}
	return nil
}

// memberOf gives the value of a member, nil if there is none.
func memberOf(members []document.Member, name string) []byte {
	for _, m := range members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}
