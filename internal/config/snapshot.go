package config

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Snapshot is the configuration at one moment; it never changes. Two snapshots
// are the same configuration if and only if they are the same pointer.
type Snapshot struct {
	values map[string]map[string]string
	shared uint64 // the version of what the servers share that is in it
}

// Get returns a value and whether it is set.
func (s *Snapshot) Get(section, key string) (string, bool) {
	v, ok := s.values[section][key]
	return v, ok
}

// is reports whether a setting has a value, "" standing for none.
func (s *Snapshot) is(want Setting) bool {
	v, _ := s.Get(want.Section, want.Key)
	return v == want.Value
}

// String returns a value, or or when it is not set.
func (s *Snapshot) String(section, key, or string) string {
	if v, ok := s.Get(section, key); ok {
		return v
	}
	return or
}

// Int returns a whole number, or or when it is not set or not a number.
// "infinity" is the largest number there is.
func (s *Snapshot) Int(section, key string, or int64) int64 {
	v, ok := s.Get(section, key)
	if !ok {
		return or
	}
	if v == "infinity" {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return or
	}
	return n
}

// Bool returns a truth value, or or when it is set to neither true nor false.
func (s *Snapshot) Bool(section, key string, or bool) bool {
	switch v, _ := s.Get(section, key); v {
	case "true":
		return true
	case "false":
		return false
	}
	return or
}

// Duration returns a span of time: a number of units, or a number with a unit of
// its own such as "90s". It returns or when the value is neither; a span too long
// for the type is the longest there is.
func (s *Snapshot) Duration(section, key string, unit, or time.Duration) time.Duration {
	v, ok := s.Get(section, key)
	if !ok {
		return or
	}
	if n := s.Int(section, key, math.MinInt64); n != math.MinInt64 {
		if n > math.MaxInt64/int64(unit) {
			return math.MaxInt64
		}
		return max(0, time.Duration(n)) * unit
	}
	if d, err := time.ParseDuration(v); err == nil {
		return d
	}
	return or
}

// List returns the parts of a value between commas, without the space around
// them and without empty parts.
func (s *Snapshot) List(section, key string) []string {
	v, _ := s.Get(section, key)
	var out []string
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// Sections returns the names of all sections with a value, sorted.
func (s *Snapshot) Sections() []string { return slices.Sorted(maps.Keys(s.values)) }

// Section returns a copy of the values of one section.
func (s *Snapshot) Section(name string) map[string]string {
	if keys := s.values[name]; keys != nil {
		return maps.Clone(keys)
	}
	return map[string]string{}
}

// Derived is a value computed from the configuration and kept until the
// configuration changes.
type Derived[T any] struct {
	config *Config
	derive func(*Snapshot) T
	last   atomic.Pointer[derivation[T]]
}

type derivation[T any] struct {
	from  *Snapshot
	value T
}

// Derive makes a Derived of f, which must depend on the snapshot alone.
func Derive[T any](c *Config, f func(*Snapshot) T) *Derived[T] {
	return &Derived[T]{config: c, derive: f}
}

// Value returns f of the current snapshot. Two goroutines that are the first to
// ask after a change may both compute it.
func (d *Derived[T]) Value() T {
	now := d.config.Snapshot()
	if last := d.last.Load(); last != nil && last.from == now {
		return last.value
	}
	next := &derivation[T]{from: now, value: d.derive(now)}
	d.last.Store(next)
	return next.value
}
