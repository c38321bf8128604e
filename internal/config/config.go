// Package config owns the server's configuration: CouchDB's ini dialect, the
// layers of files it comes from, the built-in values, and the writing back of
// what is changed over HTTP: to a file, or to where several servers share it.
//
// It promises that reading is lock-free (a Snapshot is immutable), that a
// persistent change is on disk before it is effective, and that a reload shows
// what the files say. It must not know what a setting means: packages parse
// their own with Derive, and whoever sets an administrator's password hashes
// it first. Begin reading at Config.
package config

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sectional/sectional/internal/dberr"
)

// Setting is one value with its place.
type Setting struct {
	Section, Key, Value string
}

// Options say where the configuration comes from. The zero value gives the
// built-in values alone, with changes kept in memory.
type Options struct {
	// File is the operator's own file; it is read and never written. Empty:
	// none. It must exist when it is named.
	File string
	// Local is the file persistent changes go to. It need not exist.
	Local string
	// Overrides lie above all of these and survive a reload: what the command
	// line says.
	Overrides []Setting
	// Defaults go before the built-in values: what the server computes, as by the size of the machine.
	Defaults []Setting
}

// Config is the configuration of a running server.
//
// A value is looked up in layers, the highest first: changes that were not to
// be persisted, Options.Overrides, what the servers share, the local file, the
// operator's file, the built-in values. All layers are merged into one Snapshot whenever one of them
// changes; readers take the current Snapshot and pay a pointer load and two map
// look-ups. An empty value in a file hides the layers below it, as in CouchDB:
// that is how a deletion is persisted.
type Config struct {
	opts Options
	from Shared // nil where there is one server
	now  atomic.Pointer[Snapshot]

	state struct {
		sync.Mutex
		file        layer // the operator's
		local       *document
		shared      shared
		memory      layer
		subscribers map[int]func(*Snapshot)
		nextID      int
	}
}

// Open reads the files named by o.
func Open(o Options) (*Config, error) {
	c := &Config{opts: o}
	c.state.subscribers = map[int]func(*Snapshot){}
	if err := c.Reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// Snapshot returns the values as they are now.
func (c *Config) Snapshot() *Snapshot { return c.now.Load() }

// Get is Snapshot().Get.
func (c *Config) Get(section, key string) (string, bool) { return c.Snapshot().Get(section, key) }

// Set changes a value and returns the old one, "" if there was none. A value that
// is not to be persisted lasts until the next Reload. An empty value deletes.
// What CouchDB's dialect could not give back when read again is refused.
func (c *Config) Set(s Setting, persist bool) (old string, err error) {
	if s, err = checked(s); err != nil {
		return "", err
	}
	return c.change(s, persist, func(d *document) *document { return d.with(s) })
}

// Ensure sets a value and persists it unless there is one, and returns the one that
// there is then. Of servers that ensure a value at once all get the same.
func (c *Config) Ensure(s Setting) (value string, err error) {
	if s, err = checked(s); err != nil {
		return "", err
	}
	if value, _ = c.Get(s.Section, s.Key); value != "" {
		return value, nil
	}
	_, err = c.change(s, true, func(d *document) *document {
		if d.layer()[s.Section][s.Key] != "" {
			return d
		}
		return d.with(s)
	})
	value, _ = c.Get(s.Section, s.Key)
	return value, err
}

// Delete removes a value and returns the old one; where there is a built-in default,
// that takes its place, whatever a file says, for no part of the server is to be
// left without what it can't do without. A value that is not set is an error of kind
// NotFound.
func (c *Config) Delete(section, key string, persist bool) (old string, err error) {
	s, err := checked(Setting{Section: section, Key: key})
	if err != nil {
		return "", err
	}
	if _, ok := c.Get(section, key); !ok {
		return "", ErrUnknown
	}
	s.Value = c.opts.defaults()[section][key]
	return c.change(s, persist, func(d *document) *document { return c.reset(d, s) })
}

// reset returns the document that a setting is kept in without it; with its default in
// it, where a file below says something else.
func (c *Config) reset(d *document, s Setting) *document {
	next := d.without(s)
	below := c.state.file.clone()
	if c.from != nil && !OfMachine(s.Section, s.Key) {
		below.merge(c.state.local.layer())
	}
	below.merge(next.layer())
	if (&Snapshot{values: below.sections(c.opts.defaults())}).is(s) {
		return next
	}
	return next.with(s)
}

// ErrUnknown says that no such value is set.
var ErrUnknown error = dberr.New(dberr.NotFound, "not_found", "unknown_config_value")

// Reload reads the files again, and what the servers share, and drops what was set
// without persisting it. When a file can't be read the configuration stays as it was.
func (c *Config) Reload() error {
	c.state.Lock()
	file := layer{}
	if err := file.readFile(c.opts.File, true); err != nil {
		c.state.Unlock()
		return err
	}
	local, err := readDocument(c.opts.Local, false)
	if err != nil {
		c.state.Unlock()
		return err
	}
	c.state.file, c.state.local, c.state.memory = file, local, layer{}
	return c.rereadAndUnlock()
}

// Subscribe calls f with the new Snapshot after each change, from the goroutine
// that made it. The returned function ends that.
func (c *Config) Subscribe(f func(*Snapshot)) (cancel func()) {
	c.state.Lock()
	defer c.state.Unlock()
	id := c.state.nextID
	c.state.nextID++
	c.state.subscribers[id] = f
	return func() {
		c.state.Lock()
		defer c.state.Unlock()
		delete(c.state.subscribers, id)
	}
}

// change stores s, an empty value meaning a deletion. with gives the document that
// settings are kept in with the change.
func (c *Config) change(s Setting, persist bool, with func(*document) *document) (string, error) {
	c.state.Lock()
	old, _ := c.now.Load().Get(s.Section, s.Key)
	if persist {
		if err := c.persist(s, with); err != nil {
			c.state.Unlock()
			return "", dberr.Wrap("config.Set", err)
		}
		c.state.memory.remove(s)
	}
	if !persist || c.overridden(s) {
		c.state.memory.apply(s)
	}
	c.publishAndUnlock()
	return old, nil
}

// overridden reports whether an override would hide a value of the local file:
// such a change is held in memory too, so that it takes effect at once.
func (c *Config) overridden(s Setting) bool {
	return slices.ContainsFunc(c.opts.Overrides, func(o Setting) bool {
		return o.Section == s.Section && o.Key == s.Key
	})
}

// publishAndUnlock merges the layers, makes the result current, unlocks the
// state and tells the subscribers.
func (c *Config) publishAndUnlock() {
	m := c.state.file.clone()
	m.merge(c.state.local.layer())
	m.merge(c.state.shared.layer().withoutMachines())
	for _, o := range c.opts.Overrides {
		m.apply(o)
	}
	m.merge(c.state.memory)
	snapshot := &Snapshot{values: m.sections(c.opts.defaults()), shared: c.state.shared.version}
	c.now.Store(snapshot)
	ids := make([]int, 0, len(c.state.subscribers))
	for id := range c.state.subscribers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	told := make([]func(*Snapshot), len(ids))
	for i, id := range ids {
		told[i] = c.state.subscribers[id]
	}
	c.state.Unlock()
	for _, f := range told {
		f(snapshot)
	}
}
