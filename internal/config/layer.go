package config

import (
	"cmp"
	"maps"
	"slices"
)

// layer holds values by section and key. An empty value marks a key that hides
// what lies below.
type layer map[string]map[string]string

// aliases are names of old versions, of CouchDB's and of ours, that are still read when
// what replaced them is not given.
var aliases = []alias{
	{"httpd", "chttpd", []string{"allow_jsonp", "changes_timeout", "config_whitelist", "enable_cors", "enable_xframe_options",
		"max_http_request_size", "rewrite_limit", "secure_rewrites", "WWW-Authenticate", "x_forwarded_host", "x_forwarded_proto", "x_forwarded_ssl"}, ""},
	{"couch_httpd_auth", "chttpd_auth", nil, ""},
	{"sectional", "sectional", []string{"keep_beaten"}, "keep_superseded"},
}

type alias struct {
	old, new string   // sections
	keys     []string // none: all
	key      string   // the new name of a key; "" where it stays
}

func (a alias) covers(key string) bool { return len(a.keys) == 0 || slices.Contains(a.keys, key) }

// renames returns the name that a key has now.
func (a alias) renames(key string) string { return cmp.Or(a.key, key) }

func (l layer) apply(s Setting) {
	if l[s.Section] == nil {
		l[s.Section] = map[string]string{}
	}
	l[s.Section][s.Key] = s.Value
}

func (l layer) remove(s Setting) { delete(l[s.Section], s.Key) }

func (l layer) clone() layer {
	out := make(layer, len(l))
	for section, keys := range l {
		out[section] = maps.Clone(keys)
	}
	return out
}

// merge lays above over l.
func (l layer) merge(above layer) {
	for section, keys := range above {
		for key, value := range keys {
			l.apply(Setting{section, key, value})
		}
	}
}

func (l layer) readFile(name string, must bool) error {
	d, err := readDocument(name, must)
	if err != nil {
		return err
	}
	l.merge(d.layer())
	return nil
}

// sections returns what readers see of the settings that are given: old section names
// applied, defaults below, hidden keys and empty sections gone. all are the defaults, which become what is returned.
func (l layer) sections(all layer) map[string]map[string]string {
	l.applyAliases()
	all.merge(l)
	out := make(map[string]map[string]string, len(all))
	for section, keys := range all {
		for key, value := range keys {
			if value == "" {
				continue
			}
			if out[section] == nil {
				out[section] = make(map[string]string, len(keys))
			}
			out[section][key] = value
		}
	}
	return out
}

// applyAliases copies values of old sections to the new ones where nobody says
// anything.
func (l layer) applyAliases() {
	for _, a := range aliases {
		for key, value := range l[a.old] {
			if _, said := l[a.new][a.renames(key)]; value != "" && !said && a.covers(key) {
				l.apply(Setting{a.new, a.renames(key), value})
			}
		}
	}
}
