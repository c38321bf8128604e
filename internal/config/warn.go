package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxNamed is how much of a name or a value a warning shows.
const maxNamed = 100

// Warning reports what is to be said of a setting that somebody gives: that nothing
// reads it, or that its value has no effect. It is "" for one that does what it says.
func Warning(s Setting) string {
	name := "[" + shortened(s.Section) + "] " + shortened(s.Key)
	if s.Value == "" {
		return ""
	}
	section, key := renamed(s.Section, s.Key)
	if k, ok := find(section, key); ok {
		if k.takes(s.Value) {
			return ""
		}
		return name + " takes " + k.Kind.expected() + ": what it is set to has no effect"
	}
	for _, i := range inert {
		if i.has(section, key) {
			return name + " has no effect here: " + i.Why
		}
	}
	if other := sectionWith(s.Key); other != "" {
		return name + " is not known and has no effect; [" + other + "] " + s.Key + " is"
	}
	return name + " is not known and has no effect"
}

// Warnings reports what is to be said of all settings, in their order.
func (s *Snapshot) Warnings() []string {
	var out []string
	for _, section := range s.Sections() {
		values := s.values[section]
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if w := Warning(Setting{section, key, values[key]}); w != "" {
				out = append(out, w)
			}
		}
	}
	return out
}

// shortened returns a name in printable ASCII, cut where it is too long.
func shortened(name string) string {
	quoted := strconv.QuoteToASCII(name[:min(len(name), maxNamed)])
	if quoted = quoted[1 : len(quoted)-1]; len(name) > maxNamed {
		quoted += "..."
	}
	return quoted
}

// renamed returns the names that a setting has now.
func renamed(section, key string) (string, string) {
	for _, a := range aliases {
		if a.old == section && a.covers(key) {
			return a.new, a.renames(key)
		}
	}
	return section, key
}

// sectionWith returns a section that has a key, "" if none does or its keys are free.
func sectionWith(key string) string {
	for _, k := range Table() {
		if k.Key == key {
			return k.Section
		}
	}
	return ""
}

// expected says which values there are.
func (k Kind) expected() string {
	switch {
	case k == count:
		return "a whole number"
	case k == byteSize, k == seconds, k == milliseconds:
		return "a whole number of " + string(k)
	case k == fraction:
		return "a number from " + string(k)
	case strings.Contains(string(k), ", "):
		return "one of " + string(k)
	}
	return string(k)
}

// takes reports whether a value is one that the code behind the setting
// understands.
func (k Known) takes(value string) bool {
	switch k.Kind {
	case text, list, networks, period:
		return true
	case hosts:
		_, err := ParseHosts(value)
		return err == nil
	case secureURL:
		return CheckSecureURL(value) == nil
	case challenges:
		for part := range strings.SplitSeq(value, ",") {
			if !slices.Contains([]string{"tls-alpn-01", "http-01"}, strings.TrimSpace(part)) {
				return false
			}
		}
		return true
	case count, byteSize, seconds, milliseconds:
		_, err := strconv.ParseInt(value, 10, 64)
		return err == nil || value == "infinity" || k.Kind.isSpan() && isSpan(value)
	case fraction:
		_, err := strconv.ParseFloat(value, 64)
		return err == nil
	}
	return slices.Contains(strings.Split(string(k.Kind), ", "), value)
}

func (k Kind) isSpan() bool { return k == seconds || k == milliseconds }

func isSpan(value string) bool {
	_, err := time.ParseDuration(value)
	return err == nil
}
