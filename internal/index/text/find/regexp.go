package find

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/dberr"
)

// Lucene's regular expressions have a complement and an intersection, so that an
// expression is matched by its derivatives: what is left of it to be matched after a
// character. Derivatives are shared and remembered, and there may only be so many; a
// term takes a step for each of its characters.

// Bounds of a regular expression.
const (
	maxRegexpBytes  = 4096
	maxRegexpStates = 10_000
	maxRegexpSteps  = 2_000_000
	maxRegexpDepth  = 200
)

type kind uint8

const (
	empty      kind = iota // matches nothing
	blank                  // matches the empty text
	class                  // one character
	concat                 // left, then right
	alternate              // left or right
	intersect              // left and right
	complement             // not left
	repeat                 // left, min to max times; max < 0: any number
	interval               // a number of so many digits
)

// expr is an expression. Equal ones are the same pointer, so that they can be the
// names of states.
type expr struct {
	kind        kind
	left, right *expr
	min, max    int
	set         string // of a class: pairs of runes
	negated     bool   // of a class: any character but those
	digits      int    // of an interval: 0 is any number of digits
	read        string // of an interval: what was read, leading zeros apart
	nullable    bool
}

// regexp is an expression as a machine that comes to be while it runs.
type regexp struct {
	root      *expr
	prefix    string // of every text that matches
	exhausted bool   // there were too many states, or they took too long to make
	spent     int
	made      map[expr]*expr
	steps     map[transition]*expr
}

type transition struct {
	from *expr
	by   rune
}

func tooComplex(text string) error {
	return dberr.New(dberr.Invalid, "bad_request", "Regular expression is too complex: %q", text)
}

// compileRegexp parses an expression.
func compileRegexp(text string) (*regexp, error) {
	if len(text) > maxRegexpBytes {
		return nil, dberr.New(dberr.Invalid, "bad_request", "A regular expression has at most %d bytes.", maxRegexpBytes)
	}
	m := &regexp{made: map[expr]*expr{}, steps: map[transition]*expr{}}
	p := &regexpParser{machine: m, text: text}
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	if m.root = root; m.exhausted {
		return nil, tooComplex(text)
	}
	m.prefix = m.leading()
	return m, nil
}

// leading follows the expression while a single character can be next.
func (m *regexp) leading() string {
	var b strings.Builder
	for at := m.root; b.Len() < 64 && !at.nullable; {
		c, ok := at.only()
		if !ok {
			break
		}
		b.WriteRune(c)
		at = m.derive(at, c)
	}
	return b.String()
}

// only returns the character with which everything that matches begins, if it is
// plain to see.
func (e *expr) only() (rune, bool) {
	switch {
	case e.kind == concat && !e.left.nullable:
		return e.left.only()
	case e.kind == repeat && e.min > 0:
		return e.left.only()
	case e.kind == class && !e.negated:
		runes := []rune(e.set)
		if len(runes) == 2 && runes[0] == runes[1] {
			return runes[0], true
		}
	}
	return 0, false
}

// match reports whether the expression matches the whole of a term. Once there are too
// many states it reports nothing.
func (m *regexp) match(term string) bool {
	at := m.root
	for _, c := range term {
		if at.kind == empty || m.exhausted {
			return false
		}
		key := transition{at, c}
		next, ok := m.steps[key]
		if !ok {
			next = m.derive(at, c)
			if m.steps[key] = next; len(m.steps) > maxRegexpStates*10 {
				m.steps = map[transition]*expr{}
			}
		}
		at = next
	}
	return at.nullable && !m.exhausted
}

// spend counts a step of the making of states.
func (m *regexp) spend() {
	if m.spent++; m.spent > maxRegexpSteps {
		m.exhausted = true
	}
}

// share returns the one expression that is equal to e.
func (m *regexp) share(e expr) *expr {
	if x, ok := m.made[e]; ok {
		return x
	}
	if len(m.made) >= maxRegexpStates {
		m.exhausted = true
		return &expr{}
	}
	x := &e
	m.made[e] = x
	return x
}

func (m *regexp) empty() *expr { return m.share(expr{kind: empty}) }
func (m *regexp) blank() *expr { return m.share(expr{kind: blank, nullable: true}) }

func (m *regexp) class(set string, negated bool) *expr {
	return m.share(expr{kind: class, set: set, negated: negated})
}

// single makes the class of one character.
func (m *regexp) single(c rune) *expr { return m.class(string([]rune{c, c}), false) }

func (m *regexp) concat(a, b *expr) *expr {
	switch {
	case a.kind == empty || b.kind == empty:
		return m.empty()
	case a.kind == blank:
		return b
	case b.kind == blank:
		return a
	case a.kind == concat:
		return m.concat(a.left, m.concat(a.right, b))
	}
	return m.share(expr{kind: concat, left: a, right: b, nullable: a.nullable && b.nullable})
}

// alternate keeps alternatives apart as a list without repetitions, so that the
// derivatives of an expression are finitely many.
func (m *regexp) alternate(a, b *expr) *expr {
	switch {
	case a.kind == empty || a == b:
		return b
	case b.kind == empty:
		return a
	case a.kind == alternate:
		return m.alternate(a.left, m.alternate(a.right, b))
	}
	for x := b; ; x = x.right {
		m.spend()
		if x == a || x.kind == alternate && x.left == a {
			return b
		}
		if x.kind != alternate {
			break
		}
	}
	return m.share(expr{kind: alternate, left: a, right: b, nullable: a.nullable || b.nullable})
}

func (m *regexp) intersect(a, b *expr) *expr {
	switch {
	case a.kind == empty || a == b:
		return a
	case b.kind == empty:
		return b
	}
	return m.share(expr{kind: intersect, left: a, right: b, nullable: a.nullable && b.nullable})
}

func (m *regexp) complement(a *expr) *expr {
	if a.kind == complement {
		return a.left
	}
	return m.share(expr{kind: complement, left: a, nullable: !a.nullable})
}

func (m *regexp) repeat(a *expr, least, most int) *expr {
	switch {
	case most == 0 || a.kind == blank:
		return m.blank()
	case least == 1 && most == 1:
		return a
	case a.kind == empty && least > 0:
		return a
	case a.kind == empty:
		return m.blank()
	}
	return m.share(expr{kind: repeat, left: a, min: least, max: most, nullable: least == 0 || a.nullable})
}

// derive returns what is left to be matched of e after a character.
func (m *regexp) derive(e *expr, c rune) *expr {
	if m.spend(); m.exhausted {
		return &expr{}
	}
	switch e.kind {
	case class:
		if inClass(e.set, c) != e.negated {
			return m.blank()
		}
	case concat:
		d := m.concat(m.derive(e.left, c), e.right)
		if e.left.nullable {
			d = m.alternate(d, m.derive(e.right, c))
		}
		return d
	case alternate:
		return m.alternate(m.derive(e.left, c), m.derive(e.right, c))
	case intersect:
		return m.intersect(m.derive(e.left, c), m.derive(e.right, c))
	case complement:
		return m.complement(m.derive(e.left, c))
	case repeat:
		most := e.max
		if most > 0 {
			most--
		}
		return m.concat(m.derive(e.left, c), m.repeat(e.left, max(e.min-1, 0), most))
	case interval:
		if '0' <= c && c <= '9' && len(e.read) < 19 {
			return m.interval(e.min, e.max, e.digits, e.read+string(c))
		}
	}
	return m.empty()
}

// interval makes the rest of a number after what was read of it.
func (m *regexp) interval(least, most, digits int, read string) *expr {
	if digits == 0 && len(read) > 1 {
		read = strings.TrimLeft(read[:len(read)-1], "0") + read[len(read)-1:]
	}
	n, err := strconv.Atoi(read)
	if err != nil && read != "" || n > most || digits > 0 && len(read) > digits {
		return m.empty()
	}
	whole := read != "" && n >= least && (digits == 0 || len(read) == digits)
	return m.share(expr{kind: interval, min: least, max: most, digits: digits, read: read, nullable: whole})
}

// inClass reports whether a character is in one of the ranges of a class.
func inClass(set string, c rune) bool {
	for set != "" {
		low, n := utf8.DecodeRuneInString(set)
		high, k := utf8.DecodeRuneInString(set[n:])
		if set = set[n+k:]; low <= c && c <= high {
			return true
		}
	}
	return false
}
