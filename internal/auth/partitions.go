package auth

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/sectional/sectional/internal/document"
)

// Access is what a caller may do with the documents of one partition.
type Access uint8

// The kinds of access; each includes those before it.
const (
	NoAccess Access = iota
	ReadAccess
	WriteAccess
)

// String gives the word that rules have for it.
func (a Access) String() string { return [...]string{"none", "read", "write"}[a] }

// rule is an element of the member "partitions" of _security: it lets somebody
// into a partition who need be no member of the database.
type rule struct {
	who       who
	partition pattern
	access    Access
}

// who says whom a rule is about.
type who struct {
	all   bool // everybody who is logged in
	group      // names and roles
	claim string
}

// pattern names partitions: those of the caller's name, of the values of a
// claim of his, or one for all.
type pattern struct {
	of      patternKind
	literal string
}

type patternKind uint8

const (
	ofLiteral patternKind = iota
	ofName
	ofClaim
)

// ruleError says which rule it is about, so that one finds it in a long list.
func ruleError(i int, reason string) error {
	return badRequest(fmt.Sprintf("partitions[%d]: %s", i, reason))
}

// parseRules reads the member "partitions". Whatever it does not understand is
// refused: a rule that is half understood would open what nobody meant, or keep
// closed what somebody relies on.
func parseRules(value json.RawMessage) ([]rule, error) {
	var list []json.RawMessage
	if value[0] != '[' || json.Unmarshal(value, &list) != nil {
		return nil, badRequest("partitions must be a JSON list of rules")
	}
	rules := make([]rule, len(list))
	for i, text := range list {
		var reason string
		if rules[i], reason = parseRule(text); reason != "" {
			return nil, ruleError(i, reason)
		}
	}
	return rules, nil
}

// parseRule reads one rule; what is wrong with it comes as a sentence.
func parseRule(text json.RawMessage) (r rule, wrong string) {
	o, ok := parseObject(text)
	if !ok {
		return r, "a rule must be a JSON object"
	}
	for _, name := range []string{"who", "partition", "access"} {
		if !o.has(name) {
			return r, name + " is missing"
		}
	}
	if rest := o.without("who", "partition", "access"); len(rest) > 0 {
		return r, "a rule has no member " + string(quote(rest[0].name))
	}
	if r.who, wrong = parseWho(o.get("who")); wrong != "" {
		return r, wrong
	}
	if r.partition, wrong = parsePattern(o.get("partition")); wrong != "" {
		return r, wrong
	}
	if r.partition.of == ofClaim && r.who.claim == "" {
		return r, "partition can be {claim} only where who names a claim"
	}
	switch access, _ := o.text("access"); access {
	case ReadAccess.String():
		r.access = ReadAccess
	case WriteAccess.String():
		r.access = WriteAccess
	default:
		return r, `access must be "read" or "write"`
	}
	return r, ""
}

func parseWho(value json.RawMessage) (w who, wrong string) {
	const form = `who must be "*" or an object with names, roles or claim`
	if s, ok := textOf(value); ok && s == "*" {
		return who{all: true}, ""
	}
	o, ok := parseObject(value)
	if !ok || len(o) == 0 {
		return w, form
	}
	if rest := o.without("names", "roles", "claim"); len(rest) > 0 {
		return w, "who has no member " + string(quote(rest[0].name))
	}
	if w.names, ok = textsOrNone(o.get("names")); !ok {
		return w, "names must be a JSON list of strings"
	}
	if w.roles, ok = textsOrNone(o.get("roles")); !ok {
		return w, "roles must be a JSON list of strings"
	}
	if o.has("claim") {
		if w.claim, ok = o.text("claim"); !ok || w.claim == "" {
			return w, "claim must be the name of a claim"
		}
	}
	return w, ""
}

func parsePattern(value json.RawMessage) (p pattern, wrong string) {
	s, ok := textOf(value)
	if !ok {
		return p, "partition must be a string"
	}
	switch s {
	case "{name}":
		return pattern{of: ofName}, ""
	case "{claim}":
		return pattern{of: ofClaim}, ""
	}
	if braces.MatchString(s) {
		return p, "partition must be {name}, {claim} or the name of a partition without braces"
	}
	if _, err := document.ParsePartition(s); err != nil {
		return p, "partition can't be the name of a partition: it is empty, begins with an underscore or has a colon"
	}
	return pattern{literal: s}, ""
}

// braces are left for patterns to come; as part of a name they would be a
// misspelled pattern more often than a name.
var braces = regexp.MustCompile(`[{}]`)

// access gives what the rules let a caller do in a partition. Nobody gets
// anything of them who is not logged in.
func (s *Security) access(c *Caller, p document.Partition) Access {
	if _, err := document.ParsePartition(string(p)); err != nil || c.Anonymous() {
		return NoAccess
	}
	best := NoAccess
	for i := range s.rules {
		if r := &s.rules[i]; r.access > best && r.lets(c, string(p)) {
			best = r.access
		}
	}
	return best
}

// CheckPartition refuses a caller without the access to a partition: what the
// database gives its members, and others what the rules say. Whether
// there is such a partition plays no part, so nothing can be learnt of it.
func (s *Security) CheckPartition(c *Caller, p document.Partition, need Access) error {
	switch have := s.access(c, p); {
	case have >= need, need == WriteAccess && s.MayWrite(c), need == ReadAccess && s.IsMember(c):
		return nil
	case have == NoAccess && need == WriteAccess:
		return s.CheckWrite(c)
	case have == NoAccess:
		return s.Check(c, Reader)
	}
	return forbidden("You are not allowed to write to this partition.")
}

// MayWriteTo reports whether the caller may write to a partition: by a rule, or
// because he may write to the database.
func (s *Security) MayWriteTo(c *Caller, p document.Partition) bool {
	return s.access(c, p) >= WriteAccess || s.MayWrite(c)
}

func (r *rule) lets(c *Caller, p string) bool {
	switch r.partition.of {
	case ofName:
		return c.Name == p && r.who.has(c)
	case ofClaim:
		return slices.Contains(claimTexts(c.Claims[r.who.claim]), p) && r.who.has(c)
	}
	return r.partition.literal == p && r.who.has(c)
}

func (w *who) has(c *Caller) bool {
	return w.all || w.group.has(c) || w.claim != "" && claims(c.Claims[w.claim])
}

// claims tells whether a token claims something by a value: true, or what
// names something.
func claims(value any) bool { return value == true || len(claimTexts(value)) > 0 }

// wholeNumber has one spelling for each number, so that no two partitions
// could stand for one.
var wholeNumber = regexp.MustCompile(`^(?:0|-?[1-9][0-9]*)$`)

// claimTexts gives the values of a claim that can name something: a text that
// is not empty, a whole number in digits, and those in a list.
func claimTexts(value any) (texts []string) {
	switch v := value.(type) {
	case string:
		if v != "" {
			texts = []string{v}
		}
	case json.Number:
		if wholeNumber.MatchString(v.String()) {
			texts = []string{v.String()}
		}
	case []any:
		for _, element := range v {
			if _, list := element.([]any); !list {
				texts = append(texts, claimTexts(element)...)
			}
		}
	}
	return texts
}
