package couchapi

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
)

// membersOf returns the members of a JSON object, in order, their values as they
// came. It is for small bodies of settings and lists; documents go through
// document.Split.
func membersOf(raw []byte) ([]document.Member, error) {
	if err := checkJSON(raw); err != nil {
		return nil, err
	}
	if raw = jsonscan.Trim(raw); jsonscan.KindOf(raw) != jsonscan.Object {
		return nil, dberr.New(dberr.Invalid, "bad_request", "Request body must be a JSON object")
	}
	members := []document.Member{}
	for it := jsonscan.MembersOf(raw); ; {
		quoted, value, ok := it.Next()
		if !ok {
			return members, nil
		}
		members = append(members, document.Member{Name: string(jsonscan.Text(nil, quoted)), Value: value})
	}
}

// checkJSON refuses what is not JSON in UTF-8.
func checkJSON(raw []byte) error {
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return errNotJSON
	}
	return nil
}

// memberOf returns the value of a member, nil if there is none.
func memberOf(members []document.Member, name string) []byte {
	for _, m := range members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}
