package couchhttp

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
)

var ErrNotJSON = document.ErrNotJSON

// Object reads a body that must be a JSON object, and returns its members.
func (r *Request) Object() ([]document.Member, error) {
	raw, err := r.JSONBody()
	if err != nil {
		return nil, err
	}
	return MembersOf(raw)
}

// BodyMembers returns the members of a body that is a JSON object or nothing.
func (r *Request) BodyMembers() ([]document.Member, error) {
	_, members, err := r.RawMembers()
	return members, err
}

// RawMembers is bodyMembers and returns the body, too; nil for an empty one.
func (r *Request) RawMembers() (raw []byte, members []document.Member, err error) {
	raw, err = r.JSONBody()
	if err != nil || len(raw) == 0 {
		return nil, nil, err
	}
	members, err = MembersOf(raw)
	return raw, members, err
}

// StringsOf returns the elements of a JSON array of strings.
func StringsOf(raw []byte) (list []string, ok bool) {
	if jsonscan.KindOf(raw) != jsonscan.Array {
		return nil, false
	}
	list = []string{}
	for it := jsonscan.ElementsOf(raw); ; {
		e, more := it.Next()
		if !more {
			return list, true
		}
		if jsonscan.KindOf(e) != jsonscan.String {
			return nil, false
		}
		list = append(list, string(jsonscan.Text(nil, e)))
	}
}

// MembersOf returns the members of a JSON object, in order, their values as they
// came. It is for small bodies of settings and lists; documents go through
// document.Split.
func MembersOf(raw []byte) ([]document.Member, error) {
	if err := CheckJSON(raw); err != nil {
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

// CheckJSON refuses what is not JSON in UTF-8.
func CheckJSON(raw []byte) error {
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return ErrNotJSON
	}
	return nil
}

// MemberOf returns the value of a member, nil if there is none.
func MemberOf(members []document.Member, name string) []byte {
	for _, m := range members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}
