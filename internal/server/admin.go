package server

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/outgoing"
)

// The digest in the configuration of an administrator whose password the server
// made up: a hash of the line in [admins]. It stops counting when the password
// is changed.
const (
	digestSection    = "sectional"
	digestKey        = "generated_admin"
	defaultAdminName = "admin"
)

var errHalfAdmin = errors.New("set COUCHDB_USER and COUCHDB_PASSWORD together, or neither")

// ensureAdmin makes sure that there is an administrator: the one that the
// environment names, else one that was set before, else makeUpAdmin makes one up. A
// server whose password was made up is for this machine alone.
func (a *instance) ensureAdmin() error {
	if (a.o.User == "") != (a.o.Password == "") {
		return errHalfAdmin
	}
	if strings.Contains(a.o.User, ":") {
		return fmt.Errorf("an administrator %s could not log in: a colon ends the name where HTTP sends name and password", a.o.User)
	}
	if a.o.User != "" {
		if _, err := auth.SetAdmin(a.config, a.o.User, a.o.Password); err != nil {
			return err
		}
	}
	if err := auth.HashAdmins(a.config); err != nil {
		return err
	}
	if a.noAdmin() || a.onlyMadeUp() {
		return a.refuseBeyondLoopback()
	}
	return nil
}

func (a *instance) noAdmin() bool { return len(a.config.Snapshot().Section("admins")) == 0 }

// makeUpAdmin makes an administrator where there is none, and prints the password,
// once: when the server is sure to come up, since its address is taken.
func (a *instance) makeUpAdmin() error {
	if !a.noAdmin() {
		return nil
	}
	var b [15]byte
	rand.Read(b[:]) // never fails
	password := hex.EncodeToString(b[:])
	line, err := auth.HashAdmin(a.config.Snapshot(), password)
	if err != nil {
		return err
	}
	kept, err := a.config.Ensure(config.Setting{Section: "admins", Key: defaultAdminName, Value: line})
	if err != nil || kept != line {
		return err // another server of the store made one up at the same time
	}
	digest := config.Setting{Section: digestSection, Key: digestKey, Value: digestOf(line)}
	if _, err := a.config.Set(digest, true); err != nil {
		return err
	}
	a.o.User, a.o.Password = defaultAdminName, password
	_, err = fmt.Fprintf(a.o.Out, "An administrator was made. The password is shown this once; only its hash is kept.\n"+
		"  user: %s\n  password: %s\n", defaultAdminName, password)
	return err
}

func digestOf(line string) string {
	sum := sha256.Sum256([]byte(line))
	return hex.EncodeToString(sum[:8])
}

// onlyMadeUp reports whether the one administrator still has the password that
// the server made up.
func (a *instance) onlyMadeUp() bool {
	s := a.config.Snapshot()
	admins := s.Section("admins")
	names := slices.Collect(maps.Keys(admins))
	return len(names) == 1 && names[0] == defaultAdminName && s.String(digestSection, digestKey, "") == digestOf(admins[defaultAdminName])
}

// refuseBeyondLoopback fails unless every address is reachable from this
// machine only.
func (a *instance) refuseBeyondLoopback() error {
	for _, address := range a.addresses() {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("%s is not an address to listen on: %w", address, err)
		}
		if !outgoing.ThisMachine(host) {
			return fmt.Errorf("refusing to listen on %s, which other machines can reach, with a password that was made up: "+
				"name an administrator by COUCHDB_USER and COUCHDB_PASSWORD, or listen on 127.0.0.1", address)
		}
	}
	return nil
}
