package auth

import "slices"

// The roles that `cloudant` in _security gives to names. Those that are not
// here mean nothing to this server, but may be put.
const (
	readerRole     = "_reader"
	writerRole     = "_writer"
	replicatorRole = "_replicator"
	designRole     = "_design"
	securityRole   = "_security"
	// unnamed stands for whoever is not logged in.
	unnamed = "nobody"
)

var cloudantRoles = []string{AdminRole, readerRole, writerRole, replicatorRole, designRole, securityRole, "_db_updates", "_shards"}

// grants are roles in one database, by the name of the user.
type grants map[string][]string

// parseGrants reads `cloudant`. They are nil if there is none, or if
// couchdb_auth_only says that it does not count.
func parseGrants(o object) (grants, error) {
	only := false
	switch string(o.get("couchdb_auth_only")) {
	case "", "false":
	case "true":
		only = true
	default:
		return nil, badRequest("couchdb_auth_only must be true or false")
	}
	value := o.get("cloudant")
	if value == nil {
		return nil, nil
	}
	names, ok := parseObject(value)
	if !ok {
		return nil, badRequest("cloudant must be a JSON object")
	}
	g := grants{}
	for _, m := range names {
		roles, ok := texts(m.value)
		if !ok {
			return nil, badRequest("cloudant must give each name a JSON list of strings")
		}
		for _, r := range roles {
			if !slices.Contains(cloudantRoles, r) {
				return nil, badRequest("cloudant gives " + m.name + " the role " + r + ", which there is not")
			}
		}
		g[m.name] = roles
	}
	if only {
		return nil, nil
	}
	return g, nil
}

// granted reports whether `cloudant` gives the caller one of the roles.
func (s *Security) granted(c *Caller, roles ...string) bool {
	name := c.Name
	if c.Anonymous() {
		name = unnamed
	}
	return slices.ContainsFunc(s.grants[name], func(r string) bool { return slices.Contains(roles, r) })
}

// MayWrite reports whether the caller may write all ordinary documents of the
// database: members, and whom `cloudant` lets.
func (s *Security) MayWrite(c *Caller) bool {
	return s.IsAdmin(c) || s.Public() || s.members.has(c) || s.granted(c, writerRole)
}

// MayDesign reports whether the caller may write design documents.
func (s *Security) MayDesign(c *Caller) bool { return s.IsAdmin(c) || s.granted(c, designRole) }

// MaySecure reports whether the caller may read and write _security.
func (s *Security) MaySecure(c *Caller) bool { return s.IsAdmin(c) || s.granted(c, securityRole) }

// CheckWrite refuses a caller who may not write to the database.
func (s *Security) CheckWrite(c *Caller) error {
	const reason = "You are not allowed to write to this database."
	switch {
	case s.MayWrite(c):
		return nil
	case !s.IsMember(c):
		return s.Check(c, Reader)
	case c.Anonymous():
		return unauthorized(reason)
	}
	return forbidden(reason)
}

// CheckCheckpoints refuses a caller who may not write local documents of the
// database: besides writers, those may who replicate from it.
func (s *Security) CheckCheckpoints(c *Caller) error {
	if s.granted(c, replicatorRole) {
		return nil
	}
	return s.CheckWrite(c)
}
