package auth

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

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

// String returns the word that rules have for it.
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
	role  *rolePattern // nil for none
}

// rolePattern names roles by how they begin and end. Without a star there is one.
type rolePattern struct {
	before, after string
	star          bool
}

// capture returns what stands for the star in a role; false if the role is another
// one. Roles of the server's own, which begin with an underscore, never fit.
func (p *rolePattern) capture(role string) (string, bool) {
	if strings.HasPrefix(role, "_") {
		return "", false
	}
	if !p.star {
		return "", role == p.before
	}
	rest, ok := strings.CutPrefix(role, p.before)
	if ok {
		rest, ok = strings.CutSuffix(rest, p.after)
	}
	return rest, ok && rest != ""
}

// pattern names partitions: by values that a caller has, between two texts, or one
// for all.
type pattern struct {
	of            source
	before, after string // before is the whole name if of is literal
	key           bool   // of partition keys of a table, not of partitions
}

// source is where the values come from that a pattern stands for.
type source uint8

const (
	literal source = iota
	ofName         // the caller's name
	ofClaim        // values of the claim that who names
	ofRole         // roles of the caller, those that who names
	ofStar         // what stands for the star of who's role
)

// placeholders are how patterns write their sources.
var placeholders = map[string]source{"{name}": ofName, "{claim}": ofClaim, "{role}": ofRole, "{*}": ofStar}

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
	of := "partition"
	if o.has(leadingKey) {
		of = leadingKey
	}
	for _, name := range []string{"who", of, "access"} {
		if !o.has(name) {
			return r, name + " is missing"
		}
	}
	if rest := o.without("who", of, "access"); len(rest) > 0 {
		return r, "a rule has no member " + string(quote(rest[0].name))
	}
	if r.who, wrong = parseWho(o.get("who")); wrong != "" {
		return r, wrong
	}
	if r.partition, wrong = parsePattern(o.get(of), of); wrong != "" {
		return r, wrong
	}
	if wrong = r.partition.unfit(&r.who, of); wrong != "" {
		return r, wrong
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
	const form = `who must be "*" or an object with names, roles, role or claim`
	if s, ok := textOf(value); ok && s == "*" {
		return who{all: true}, ""
	}
	o, ok := parseObject(value)
	if !ok || len(o) == 0 {
		return w, form
	}
	if rest := o.without("names", "roles", "role", "claim"); len(rest) > 0 {
		return w, "who has no member " + string(quote(rest[0].name))
	}
	if w.group, wrong = groupOf(o); wrong != "" {
		return w, wrong
	}
	if o.has("claim") {
		if w.claim, ok = o.text("claim"); !ok || w.claim == "" {
			return w, "claim must be the name of a claim"
		}
	}
	if o.has("role") {
		if w.role, ok = parseRolePattern(o.get("role")); !ok {
			return w, "role must be a role, in which one * may stand, and can't begin with an underscore"
		}
	}
	return w, ""
}

func parseRolePattern(value json.RawMessage) (*rolePattern, bool) {
	s, ok := textOf(value)
	if !ok || s == "" || s[0] == '_' || strings.Count(s, "*") > 1 {
		return nil, false
	}
	p := &rolePattern{}
	p.before, p.after, p.star = strings.Cut(s, "*")
	return p, true
}

// parsePattern reads the member of that name.
func parsePattern(value json.RawMessage, name string) (p pattern, wrong string) {
	p.key = name == leadingKey
	s, ok := textOf(value)
	if !ok {
		return p, name + " must be a string"
	}
	p.before = s
	if begin, end := strings.IndexByte(s, '{'), strings.IndexByte(s, '}'); begin >= 0 && end > begin {
		if p.of, ok = placeholders[s[begin:end+1]]; !ok {
			return p, name + badPlaceholder
		}
		p.before, p.after = s[:begin], s[end+1:]
	}
	if strings.ContainsAny(p.before+p.after, "{}") {
		return p, name + badPlaceholder
	}
	sample := p.before + p.after
	if p.of != literal {
		sample = p.before + "x" + p.after
	}
	if _, err := document.ParsePartition(sample); err != nil && !p.key {
		return p, "partition can't be the name of a partition: it is empty, begins with an underscore or has a colon"
	}
	if sample == "" {
		return p, name + " can't be empty"
	}
	return p, ""
}

// badPlaceholder refuses other braces, which as part of a name would be a misspelled
// pattern more often than a name, and two patterns in one name: of the values a-b and
// c, and a and b-c, the same partition would come.
const badPlaceholder = " must be a text in which one of {name}, {role}, {*} and {claim} may stand"

// unfit reports why a pattern, the member of that name, has no values to stand for with
// this who; "" if it has.
func (p pattern) unfit(w *who, name string) string {
	switch {
	case p.of == ofClaim && w.claim == "":
		return name + " can be {claim} only where who names a claim"
	case p.of == ofStar && (w.role == nil || !w.role.star):
		return name + " can be {*} only where who has a role with a *"
	case p.of == ofRole && !w.all && w.role == nil && len(w.roles) == 0:
		return name + ` can be {role} only where who is "*" or names roles`
	}
	return ""
}

// access returns what the rules let a caller do in a partition. Nobody gets
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
// database returns its members, and others what the rules say. Whether
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

// lets reports whether a rule is about a caller and a partition.
func (r *rule) lets(c *Caller, p string) bool {
	if r.partition.key {
		return r.letsKey(c, p)
	}
	return r.who.has(c) && r.fits(c, p)
}

// fits reports whether a text is one that the rule's pattern stands for, of a caller whom
// it is about.
func (r *rule) fits(c *Caller, text string) bool {
	if r.partition.of == literal {
		return r.partition.before == text
	}
	value, ok := strings.CutPrefix(text, r.partition.before)
	if ok {
		value, ok = strings.CutSuffix(value, r.partition.after)
	}
	return ok && namesPartition(value) && slices.Contains(r.values(c), value)
}

// namesPartition reports whether a value can be put into a pattern: only what could be the
// name of a partition by itself, so that nothing is made a name by what is
// around it.
func namesPartition(value string) bool {
	_, err := document.ParsePartition(value)
	return err == nil
}

// values returns what the rule's pattern stands for, of a caller whom it is about.
func (r *rule) values(c *Caller) (values []string) {
	switch r.partition.of {
	case ofName:
		return []string{c.Name}
	case ofClaim:
		return claimTexts(c.Claims[r.who.claim])
	}
	for _, role := range c.Roles {
		captured, fits := "", false
		if r.who.role != nil {
			captured, fits = r.who.role.capture(role)
		}
		switch {
		case r.partition.of == ofStar && fits:
			values = append(values, captured)
		case r.partition.of == ofRole && (fits || r.who.all || holds(r.who.roles, role)):
			values = append(values, role)
		}
	}
	return values
}

// Rules reports whether rules let a caller into any partition, whether it exists or
// not.
func (s *Security) Rules(c *Caller) bool {
	return !c.Anonymous() && slices.ContainsFunc(s.rules, func(r rule) bool {
		return r.who.has(c) && (r.partition.of == literal || slices.ContainsFunc(r.values(c), namesPartition))
	})
}

// maxPartitions is how many partitions are listed of those that rules let a caller
// read. There may be as many as rules times roles.
const maxPartitions = 100_000

// Partitions returns the partitions that rules let a caller read, by name, whether they
// exist or not. Errors: Invalid if there are too many.
func (s *Security) Partitions(c *Caller) ([]document.Partition, error) {
	if c.Anonymous() {
		return nil, nil
	}
	found := map[document.Partition]bool{}
	for i := range s.rules {
		r := &s.rules[i]
		if !r.who.has(c) {
			continue
		}
		for _, text := range r.texts(c) {
			for _, p := range r.partition.partitions(text) {
				found[p] = true
			}
		}
		if len(found) > maxPartitions {
			return nil, badRequest(fmt.Sprintf("Rules let you into more than %d partitions, which can't be listed.", maxPartitions))
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// texts returns the texts that the rule's pattern stands for.
func (r *rule) texts(c *Caller) (texts []string) {
	if r.partition.of == literal {
		return []string{r.partition.before}
	}
	for _, value := range r.values(c) {
		if namesPartition(value) {
			texts = append(texts, r.partition.before+value+r.partition.after)
		}
	}
	return texts
}

func (w *who) has(c *Caller) bool {
	return w.all || w.group.has(c) || w.claim != "" && jwtClaims(c.Claims[w.claim]) || w.role != nil && slices.ContainsFunc(c.Roles, w.role.fits)
}

// fits reports whether the pattern names a role.
func (p *rolePattern) fits(role string) bool {
	_, ok := p.capture(role)
	return ok
}

// jwtClaims reports whether a token claims something by a value: true, or what
// names something.
func jwtClaims(value any) bool { return value == true || len(claimTexts(value)) > 0 }

// wholeNumber has one spelling for each number, so that no two partitions
// could stand for one.
var wholeNumber = regexp.MustCompile(`^(?:0|-?[1-9][0-9]*)$`)

// claimTexts returns the values of a claim that can name something: a text that
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
