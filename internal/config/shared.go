package config

import (
	"errors"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
)

// Shared is where the servers of one store keep what is set over HTTP, so that all of
// them have it: the text of one ini file. Store.Configuration implements it.
type Shared interface {
	// Read returns the text and its version, which is a larger one after each change;
	// "" and 0 where nothing was ever written.
	Read() (text string, version uint64, err error)
	// Version is the second of what Read returns, for less.
	Version() (uint64, error)
	// Write makes text that of the next version, if version still is the last one; else the
	// error is ErrChanged, and nothing is written. When it returns nil the text is on disk.
	Write(text string, version uint64) error
}

// ErrChanged says that somebody else has written in the meantime.
var ErrChanged error = dberr.New(dberr.Conflict, "conflict", "The configuration was changed in the meantime.")

// ofMachine are the settings that are a machine's own, so that no server has them from
// another: addresses, files, and what follows from the machine's size.
var ofMachine = map[string][]string{
	"chttpd":              {"bind_address", "port"},
	"ssl":                 nil, // all of the section
	"engine":              nil,
	"audit":               nil,
	"couchdb":             {"maintenance_mode"},
	"quickjs":             {"memory_limit_bytes"},
	"query_server_config": {"os_process_limit"},
	"replicator":          {"ssl_trusted_certificates_file", "cert_file", "key_file"},
	"sectional": {"max_bodies_memory", "text_cache", "text_cache_disk", "max_connections", "max_connections_per_address",
		"min_free", "reserve", "node", "node_address"},
}

// OfMachine reports whether a setting is a machine's own, and not one of all servers
// over a store.
func OfMachine(section, key string) bool {
	keys, some := ofMachine[section]
	return some && (keys == nil || slices.Contains(keys, key))
}

// withoutMachines returns the layer without settings that are a machine's own. Nobody
// writes such to the servers' text, and who did would take all of them down.
func (l layer) withoutMachines() layer {
	out := l.clone()
	for section, keys := range out {
		for key := range keys {
			if OfMachine(section, key) {
				delete(keys, key)
			}
		}
	}
	return out
}

// shared is the servers' text at a version.
type shared struct {
	*document
	version uint64
}

func readShared(from Shared) (shared, error) {
	if from == nil {
		return shared{document: &document{}}, nil
	}
	text, version, err := from.Read()
	return shared{document: parse(text), version: version}, err
}

// write writes next where s was read. Another who wrote since is an ErrChanged.
func (s shared) write(to Shared, next *document) (shared, error) {
	if err := to.Write(strings.Join(next.lines, "\n"), s.version); err != nil {
		return s, err
	}
	return shared{document: next, version: s.version + 1}, nil
}

// Share makes the configuration one that the servers of a store share: persistent changes go
// there from now on, but for what is a machine's own (OfMachine), and what is there counts.
// It is called before anybody else uses the configuration.
func (c *Config) Share(from Shared) error {
	c.from = from
	return c.Reload()
}

// SharedVersion is the version of what the servers share that is in effect here.
func (c *Config) SharedVersion() uint64 { return c.Snapshot().shared }

// Refresh takes over what other servers have set. It reads no more than a number as long
// as there is nothing.
func (c *Config) Refresh() error {
	if c.from == nil {
		return nil
	}
	version, err := c.from.Version()
	if err != nil {
		return err
	}
	if c.SharedVersion() >= version {
		return nil
	}
	c.state.Lock()
	if c.SharedVersion() >= version { // others were here first
		c.state.Unlock()
		return nil
	}
	return c.rereadAndUnlock()
}

// rereadAndUnlock reads the servers' text, makes it current and unlocks the state.
func (c *Config) rereadAndUnlock() error {
	s, err := readShared(c.from)
	if err != nil {
		c.state.Unlock()
		return err
	}
	c.state.shared = s
	c.publishAndUnlock()
	return nil
}

// persist writes the change of a setting to where it belongs: change gives a document
// with it. Where several servers write at once, each writes to what the others wrote. The
// state is locked.
func (c *Config) persist(s Setting, change func(*document) *document) error {
	if c.from == nil || OfMachine(s.Section, s.Key) {
		next := change(c.state.local)
		if err := next.write(c.opts.Local); err != nil {
			return err
		}
		c.state.local = next
		return nil
	}
	for {
		written, err := c.state.shared.write(c.from, change(c.state.shared.document))
		if err == nil {
			c.state.shared = written
		}
		if !errors.Is(err, ErrChanged) {
			return err
		}
		if c.state.shared, err = readShared(c.from); err != nil {
			return err
		}
	}
}
