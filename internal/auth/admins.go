package auth

import (
	"maps"
	"slices"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
)

// parseAdmins parses the section [admins]. Lines that are not hashed yet let
// nobody in: see HashAdmins.
func parseAdmins(lines map[string]string) map[string]*User {
	out := make(map[string]*User, len(lines))
	for name, line := range lines {
		v, _ := parseAdminLine(line)
		out[name] = &User{Name: name, Roles: []string{AdminRole}, Verifier: v}
	}
	return out
}

// IsHashed reports whether a value of the section [admins] is a hash.
func IsHashed(line string) bool {
	_, ok := parseAdminLine(line)
	return ok
}

// HashAdmin returns the line of [admins] for a clear password, hashed as the
// configuration says. A line that is hashed already is given back as it is.
func HashAdmin(s *config.Snapshot, password string) (string, error) {
	if IsHashed(password) {
		return password, nil
	}
	v, err := parseHashing(s).hash(password)
	if err != nil {
		return "", dberr.Wrap("auth.HashAdmin", err)
	}
	return v.adminLine(), nil
}

// HashAdmins replaces each clear password of [admins] by its hash, on disk too.
func HashAdmins(c *config.Config) error {
	lines := c.Snapshot().Section("admins")
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		if IsHashed(lines[name]) {
			continue
		}
		line, err := HashAdmin(c.Snapshot(), lines[name])
		if err != nil {
			return err
		}
		if _, err := c.Set(config.Setting{Section: "admins", Key: name, Value: line}, true); err != nil {
			return err
		}
	}
	return nil
}

// SetAdmin makes name a server administrator with this password. Where that
// is so already nothing is written, so that sessions survive a restart.
func SetAdmin(c *config.Config, name, password string) (changed bool, err error) {
	if err := CheckName(name); err != nil {
		return false, err
	}
	line, _ := c.Get("admins", name)
	if v, ok := parseAdminLine(line); ok {
		right, err := v.matches(password)
		if err != nil || right {
			return false, err
		}
	}
	v, err := parseHashing(c.Snapshot()).hash(password)
	if err != nil {
		return false, dberr.Wrap("auth.SetAdmin", err)
	}
	_, err = c.Set(config.Setting{Section: "admins", Key: name, Value: v.adminLine()}, true)
	return err == nil, err
}

// EnsureSecret sets a random secret for cookies where none is set. The server
// calls it at its start, so that cookies survive the next one, and those of one
// server are known to the others of its store.
func EnsureSecret(c *config.Config) error {
	_, err := c.Ensure(config.Setting{Section: section, Key: "secret", Value: newSalt()})
	return err
}
