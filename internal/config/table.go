package config

import (
	"slices"
	"strings"
)

// Known is a setting that the server reads, as the reference docs/settings.md
// shows it.
//
// The table of all of them is the one place that knows which settings there are:
// the defaults, the warnings about what is given and the reference follow from it,
// and internal/lint holds it against the code that reads settings.
type Known struct {
	Section string
	Key     string // may begin with anyName
	Default string // "" for none
	Kind    Kind
	AtStart bool   // it is read when the server starts, and not again
	Meaning string // a sentence
}

// Kind says which values a setting can have: a unit, or the words themselves,
// between commas.
type Kind string

const (
	boolean      Kind = "true, false"
	count        Kind = "number"
	byteSize     Kind = "bytes"
	seconds      Kind = "seconds"
	milliseconds Kind = "milliseconds"
	fraction     Kind = "0 to 1"
	list         Kind = "list"
	networks     Kind = "networks"
	text         Kind = "text"
	period       Kind = "seconds, or such as 30d"
	hosts        Kind = "names of hosts"
	secureURL    Kind = "URL of https"
	challenges   Kind = "list of challenges"
)

// What Known.AtStart says.
const (
	atOnce  = false
	atStart = true
)

// anyName stands for what the operator chooses, at the beginning of a key.
const anyName = "NAME"

// Table returns all settings that the server reads, by section, in the order of
// the reference.
func Table() []Known {
	return slices.Concat(serverTable, callerTable, documentTable, ownTable, replicatorTable)
}

// find returns the row of a setting.
func find(section, key string) (Known, bool) {
	if strings.HasPrefix(section, "cors:") { // rules for one of the server's names
		section = "cors"
	}
	for _, k := range Table() {
		if k.Section == section && k.names(key) {
			return k, true
		}
	}
	return Known{}, false
}

// names reports whether a key is the row's.
func (k Known) names(key string) bool {
	suffix, free := strings.CutPrefix(k.Key, anyName)
	switch {
	case !free:
		return k.Key == key
	case suffix != "":
		return len(key) > len(suffix) && strings.HasSuffix(key, suffix)
	}
	// In [jwt_issuers] a dot is between the name and what is said of it.
	return k.Section != "jwt_issuers" || !strings.Contains(key, ".")
}

// defaults returns a fresh layer of what counts unless somebody says otherwise.
func (o Options) defaults() layer {
	l := defaults()
	for _, s := range o.Defaults {
		l.apply(s)
	}
	return l
}

// defaults returns a fresh layer of the built-in values. _config shows them, so
// everything that counts unless somebody says otherwise has one in the table; what
// means something only when it is given has none.
func defaults() layer {
	l := layer{}
	for _, k := range Table() {
		if k.Default != "" {
			l.apply(Setting{k.Section, k.Key, k.Default})
		}
	}
	return l
}
