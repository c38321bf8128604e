package auth

import (
	"encoding/json"
	"slices"

	"github.com/sectional/sectional/internal/document"
)

// Right is what a caller wants to do with a database.
type Right uint8

// The rights that _security gives. They differ in who has them and in the
// sentence and status of the refusal.
const (
	// Reader may read: members. They may write ordinary documents too, but for
	// those whom `cloudant` lets read alone; see CheckWrite.
	Reader Right = iota
	// DatabaseAdmin may write design documents and settings.
	DatabaseAdmin
	// Maintainer may compact and clean up: database administrators too, but a
	// refusal is always 401.
	Maintainer
)

// Security is a database's _security object. It never changes.
type Security struct {
	text    json.RawMessage
	admins  group
	members group
	rules   []rule
	// ruled says that there are rules for partitions, if only an empty list:
	// then a database without members is not open to everybody.
	ruled bool
	// grants are those of `cloudant`; not nil, if only empty: as with rules.
	grants grants
}

// group is whom lists of names and roles let in. Both are sorted: each request is held
// against them, and either side may be long.
type group struct {
	names, roles []string
}

// ParseSecurity reads a _security object. Members it does not know are kept.
func ParseSecurity(text []byte) (*Security, error) {
	if !validJSON(text) {
		return nil, document.ErrNotJSON
	}
	o, ok := parseObject(text)
	if !ok {
		return nil, badRequest("Request body must be a JSON object")
	}
	s := &Security{text: o.encode()}
	var err error
	if s.admins, err = parseGroup(o.get("admins")); err != nil {
		return nil, err
	}
	members := o.get("members")
	if members == nil {
		members = o.get("readers") // their name before CouchDB 1.2
	}
	if s.members, err = parseGroup(members); err != nil {
		return nil, err
	}
	if s.grants, err = parseGrants(o); err != nil {
		return nil, err
	}
	if rules := o.get("partitions"); rules != nil {
		s.ruled = true
		if s.rules, err = parseRules(rules); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func parseGroup(value json.RawMessage) (g group, err error) {
	if value == nil {
		return group{}, nil
	}
	o, ok := parseObject(value)
	if !ok {
		return group{}, badRequest("admins or members must be a JSON object")
	}
	g, wrong := groupOf(o)
	if wrong != "" {
		return group{}, badRequest(wrong)
	}
	return g, nil
}

// groupOf reads the names and roles of an object, which may lack either; what is wrong
// with them comes as a sentence.
func groupOf(o object) (g group, wrong string) {
	var ok bool
	if g.names, ok = sortedTexts(o.get("names")); !ok {
		return g, "names must be a JSON list of strings"
	}
	if g.roles, ok = sortedTexts(o.get("roles")); !ok {
		return g, "roles must be a JSON list of strings"
	}
	return g, ""
}

func sortedTexts(value json.RawMessage) (list []string, ok bool) {
	if value == nil {
		return nil, true
	}
	list, ok = texts(value)
	slices.Sort(list)
	return list, ok
}

// DefaultSecurity returns the _security of a new database, for the value of
// [couchdb] default_security: "everyone" opens it, and so does "admin_local", which
// in CouchDB closes what only its port for single nodes shows. Anything else is for
// server administrators only.
func DefaultSecurity(setting string) *Security {
	if setting == "everyone" || setting == "admin_local" {
		return &Security{text: json.RawMessage(`{}`)}
	}
	admin := group{roles: []string{AdminRole}}
	return &Security{
		text:    json.RawMessage(`{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}`),
		admins:  admin,
		members: admin,
	}
}

// JSON returns the object as it was put, compact at its top level.
func (s *Security) JSON() json.RawMessage { return s.text }

// Public reports whether everybody is a member: nobody is named as one, and
// there are neither rules for partitions nor roles of `cloudant`, which would mean
// nothing then.
func (s *Security) Public() bool {
	return !s.ruled && s.grants == nil && len(s.members.names) == 0 && len(s.members.roles) == 0
}

// HasRules reports whether somebody is let into partitions by rules.
func (s *Security) HasRules() bool { return len(s.rules) > 0 }

// IsAdmin reports whether the caller is an administrator of the database; server
// administrators are.
func (s *Security) IsAdmin(c *Caller) bool {
	return c.IsAdmin() || s.admins.has(c) || s.granted(c, AdminRole)
}

// IsMember reports whether the caller may read all of the database.
func (s *Security) IsMember(c *Caller) bool {
	return s.IsAdmin(c) || s.Public() || s.members.has(c) || s.granted(c, readerRole, replicatorRole)
}

func (g group) has(c *Caller) bool {
	return !c.Anonymous() && g.named(c.Name) || slices.ContainsFunc(c.Roles, func(r string) bool { return holds(g.roles, r) })
}

// named reports whether the names have one.
func (g group) named(name string) bool { return holds(g.names, name) }

// holds reports whether a sorted list has a text.
func holds(sorted []string, text string) bool {
	_, found := slices.BinarySearch(sorted, text)
	return found
}

// Check refuses a caller without the right. Whoever may not even read is told
// so, whatever was asked for.
func (s *Security) Check(c *Caller, r Right) error {
	switch {
	case !s.IsMember(c) && c.Anonymous():
		return unauthorized("You are not authorized to access this db.")
	case !s.IsMember(c):
		return forbidden("You are not allowed to access this db.")
	case r == Reader || s.IsAdmin(c):
		return nil
	case r == Maintainer:
		return unauthorized("You are not a server or db admin.")
	case c.Anonymous():
		return unauthorized("You are not a db or server admin.")
	}
	return forbidden("You are not a db or server admin.")
}
