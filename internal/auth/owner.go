package auth

import (
	"encoding/json"
	"slices"
)

// WithOwner gives the object with a user named among administrators and
// members; the same one if both name him already.
func (s *Security) WithOwner(name string) *Security {
	if slices.Contains(s.admins.names, name) && slices.Contains(s.members.names, name) {
		return s
	}
	return s.regroup(func(names []string) []string {
		if slices.Contains(names, name) {
			return names
		}
		return append([]string{name}, names...)
	})
}

// WithoutOwner gives the object with a user named neither among administrators
// nor among members; the same one if neither names him. Of a database that would
// become everybody's by that, server administrators are the members.
func (s *Security) WithoutOwner(name string) *Security {
	if !slices.Contains(s.admins.names, name) && !slices.Contains(s.members.names, name) {
		return s
	}
	out := s.regroup(func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
	})
	if out.Public() {
		o, _ := parseObject(out.text)
		out.text = o.with("members", []byte(`{"roles":["_admin"]}`)).encode()
		out.members.roles = []string{AdminRole}
	}
	return out
}

// regroup changes the names of both groups and leaves the rest as it was.
func (s *Security) regroup(change func(names []string) []string) *Security {
	o, _ := parseObject(s.text) // it was parsed before
	out := *s
	for _, g := range []struct {
		name string
		of   *group
	}{{"admins", &out.admins}, {"members", &out.members}} {
		if g.of == &out.members && !o.has("members") && o.has("readers") {
			g.name = "readers"
		}
		names := change(g.of.names)
		if slices.Equal(names, g.of.names) {
			continue
		}
		g.of.names = names
		was, _ := parseObject(o.get(g.name)) // nil if there is none
		text, err := json.Marshal(names)
		if err != nil {
			panic(err) // strings always encode
		}
		o = o.with(g.name, was.with("names", text).encode())
	}
	out.text = o.encode()
	return &out
}
