package auth

import (
	"regexp"
	"strings"
)

// passwordPolicy is the setting password_regexp: what a new password must
// match, all of it.
type passwordPolicy struct {
	broken bool // can't be understood: no password is accepted
	rules  []passwordRule
}

type passwordRule struct {
	pattern *regexp.Regexp
	reason  string
}

const (
	errNonconforming = "Password does not conform to requirements."
	errCannotHash    = "Server cannot hash passwords at this time."
)

// parsePolicy reads the setting: an Erlang list whose elements are patterns, or
// tuples of a pattern and a reason. Patterns are Go's; one that uses what PCRE
// has beyond them makes the policy a broken one, since to leave it out would
// accept passwords that the operator meant to refuse.
func parsePolicy(setting string) *passwordPolicy {
	p := &passwordPolicy{}
	r := termReader{rest: strings.TrimSpace(setting)}
	if r.rest == "" {
		return p
	}
	p.broken = !r.take('[')
	for !p.broken && !r.take(']') {
		rule, ok := r.rule()
		if !ok || !r.take(',') && r.peek() != ']' {
			p.broken = true
			break
		}
		p.rules = append(p.rules, rule)
	}
	if r.rest != "" {
		p.broken = true
	}
	return p
}

// check refuses a password that does not conform.
func (p *passwordPolicy) check(password string) error {
	if p.broken {
		return forbidden(errCannotHash)
	}
	for _, r := range p.rules {
		if r.pattern.MatchString(password) {
			continue
		}
		if r.reason != "" {
			return badRequest(errNonconforming + " " + r.reason)
		}
		return badRequest(errNonconforming)
	}
	return nil
}

// termReader reads the few Erlang terms the setting is made of.
type termReader struct {
	rest string
}

func (r *termReader) peek() byte {
	if r.rest == "" {
		return 0
	}
	return r.rest[0]
}

// take drops c and the space after it, if c is next.
func (r *termReader) take(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.rest = strings.TrimSpace(r.rest[1:])
	return true
}

// rule reads a pattern, or a tuple of a pattern and perhaps a reason.
func (r *termReader) rule() (rule passwordRule, ok bool) {
	tuple := r.take('{')
	pattern, ok := r.text()
	if !ok {
		return rule, false
	}
	if tuple && r.take(',') {
		if rule.reason, ok = r.text(); !ok {
			return rule, false
		}
	}
	if tuple && !r.take('}') {
		return rule, false
	}
	var err error
	rule.pattern, err = regexp.Compile(pattern)
	return rule, err == nil
}

// text reads a string in double quotes, a backslash taking the next byte as it
// is, but for the common control characters.
func (r *termReader) text() (string, bool) {
	if r.peek() != '"' {
		return "", false
	}
	var b strings.Builder
	for i := 1; i < len(r.rest); i++ {
		switch c := r.rest[i]; c {
		case '"':
			r.rest = strings.TrimSpace(r.rest[i+1:])
			return b.String(), true
		case '\\':
			if i++; i == len(r.rest) {
				return "", false
			}
			b.WriteByte(unescaped(r.rest[i]))
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

func unescaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 's':
		return ' '
	}
	return c
}
