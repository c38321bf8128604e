package auth

import (
	"encoding/json"
	"slices"
)

// WithOwner returns the object with a user named among administrators and
// members; the same one if both name him already.
func (s *Security) WithOwner(name string) *Security {
	if s.admins.named(name) && s.members.named(name) {
		return s
	}
	return s.regroup(func(names []string) []string {
		if slices.Contains(names, name) {
			return names
		}
		return append([]string{name}, names...)
	})
}

// WithoutOwner returns the object with a user named neither among administrators
// nor among members; the same one if neither names him. Of a database that would
// become everybody's by that, server administrators are the members.
func (s *Security) WithoutOwner(name string) *Security {
	if !s.admins.named(name) && !s.members.named(name) {
		return s
	}
	out := s.regroup(func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
	})
	if out.Public() {
		o, _ := parseObject(out.text) // it was parsed before
		return reparsed(o.with("members", []byte(`{"roles":["_admin"]}`)))
	}
	return out
}

// regroup changes the names of both groups and leaves the rest as it was.
func (s *Security) regroup(change func(names []string) []string) *Security {
	o, _ := parseObject(s.text) // it was parsed before
	members := "members"
	if !o.has(members) && o.has("readers") {
		members = "readers"
	}
	for _, name := range []string{"admins", members} {
		of, _ := parseObject(o.get(name)) // nil if there is none
		was, _ := texts(of.get("names"))
		names := change(was)
		if slices.Equal(names, was) {
			continue
		}
		text, err := json.Marshal(names)
		if err != nil {
			panic(err) // strings always encode
		}
		o = o.with(name, of.with("names", text).encode())
	}
	return reparsed(o)
}

// reparsed returns what an object says of which a part was changed.
func reparsed(o object) *Security {
	s, err := ParseSecurity(o.encode())
	if err != nil {
		panic(err) // the rest was parsed before
	}
	return s
}
