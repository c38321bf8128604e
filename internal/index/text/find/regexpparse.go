package find

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/dberr"
)

// regexpParser reads Lucene's syntax: alternatives of intersections of sequences of
// repetitions of complements of classes and groups.
type regexpParser struct {
	machine *regexp
	text    string
	at      int
	depth   int
}

func (p *regexpParser) fail(what string) error {
	return dberr.New(dberr.Invalid, "bad_request", "Cannot parse regular expression %q: %s at position %d", p.text, what, p.at)
}

func (p *regexpParser) parse() (*expr, error) {
	if p.text == "" {
		return p.machine.blank(), nil
	}
	e, err := p.union()
	if err == nil && p.at < len(p.text) {
		err = p.fail("end of expression expected")
	}
	return e, err
}

func (p *regexpParser) more() bool { return p.at < len(p.text) }

// peek reports whether one of some characters is next.
func (p *regexpParser) peek(any string) bool {
	return p.more() && strings.IndexByte(any, p.text[p.at]) >= 0
}

// take takes a character if it is next.
func (p *regexpParser) take(c byte) bool {
	if p.peek(string(c)) {
		p.at++
		return true
	}
	return false
}

func (p *regexpParser) rune() (rune, error) {
	if !p.more() {
		return 0, p.fail("unexpected end-of-string")
	}
	c, n := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += n
	return c, nil
}

// character takes a character, after a backslash any.
func (p *regexpParser) character() (rune, error) {
	p.take('\\')
	return p.rune()
}

func (p *regexpParser) union() (*expr, error) {
	if p.depth++; p.depth > maxRegexpDepth {
		return nil, p.fail("too deep")
	}
	defer func() { p.depth-- }()
	var all []*expr
	for {
		e, err := p.intersection()
		if err != nil {
			return nil, err
		}
		if all = append(all, e); !p.take('|') {
			break
		}
	}
	e := all[len(all)-1]
	for i := len(all) - 2; i >= 0; i-- {
		e = p.machine.alternate(all[i], e)
	}
	return e, nil
}

func (p *regexpParser) intersection() (*expr, error) {
	e, err := p.sequence()
	for err == nil && p.take('&') {
		var next *expr
		if next, err = p.sequence(); err == nil {
			e = p.machine.intersect(e, next)
		}
	}
	return e, err
}

func (p *regexpParser) sequence() (*expr, error) {
	var all []*expr
	for {
		e, err := p.repetition()
		if err != nil {
			return nil, err
		}
		if all = append(all, e); !p.more() || p.peek(")|&") {
			break
		}
	}
	e := all[len(all)-1]
	for i := len(all) - 2; i >= 0; i-- {
		e = p.machine.concat(all[i], e)
	}
	return e, nil
}

func (p *regexpParser) repetition() (*expr, error) {
	e, err := p.negation()
	for err == nil {
		switch {
		case p.take('?'):
			e = p.machine.repeat(e, 0, 1)
		case p.take('*'):
			e = p.machine.repeat(e, 0, -1)
		case p.take('+'):
			e = p.machine.repeat(e, 1, -1)
		case p.take('{'):
			e, err = p.times(e)
		default:
			return e, nil
		}
	}
	return nil, err
}

// times reads how often something is repeated.
func (p *regexpParser) times(e *expr) (*expr, error) {
	least, err := p.integer()
	if err != nil {
		return nil, err
	}
	most := least
	if p.take(',') {
		if most = -1; p.peek("0123456789") {
			if most, err = p.integer(); err != nil {
				return nil, err
			}
		}
	}
	if !p.take('}') {
		return nil, p.fail("expected '}'")
	}
	if most >= 0 && least > most {
		return p.machine.empty(), nil
	}
	return p.machine.repeat(e, least, most), nil
}

func (p *regexpParser) integer() (int, error) {
	from := p.at
	for p.peek("0123456789") {
		p.at++
	}
	n, err := strconv.Atoi(p.text[from:p.at])
	if err != nil {
		return 0, p.fail("integer expected")
	}
	return n, nil
}

func (p *regexpParser) negation() (*expr, error) {
	not := false
	for p.take('~') {
		not = !not
	}
	e, err := p.classes()
	if err != nil || !not {
		return e, err
	}
	return p.machine.complement(e), nil
}

func (p *regexpParser) classes() (*expr, error) {
	if !p.take('[') {
		return p.simple()
	}
	var set strings.Builder
	negated := p.take('^')
	for first := true; first || p.more() && !p.peek("]"); first = false {
		low, err := p.character()
		if err != nil {
			return nil, err
		}
		high := low
		if p.take('-') {
			if p.peek("]") {
				set.WriteString("--")
			} else if high, err = p.character(); err != nil {
				return nil, err
			}
		}
		set.WriteRune(low)
		set.WriteRune(high)
	}
	if !p.take(']') {
		return nil, p.fail("expected ']'")
	}
	return p.machine.class(set.String(), negated), nil
}

// simple reads what stands for itself, for any character or text, or is a group.
func (p *regexpParser) simple() (*expr, error) {
	m := p.machine
	switch {
	case p.take('.'):
		return m.class("", true), nil
	case p.take('#'):
		return m.empty(), nil
	case p.take('@'):
		return m.repeat(m.class("", true), 0, -1), nil
	case p.take('"'):
		return p.quoted()
	case p.take('('):
		if p.take(')') {
			return m.blank(), nil
		}
		e, err := p.union()
		if err == nil && !p.take(')') {
			err = p.fail("expected ')'")
		}
		return e, err
	case p.take('<'):
		return p.interval()
	}
	c, err := p.character()
	return m.single(c), err
}

func (p *regexpParser) quoted() (*expr, error) {
	text, _, closed := strings.Cut(p.text[p.at:], `"`)
	if !closed {
		return nil, p.fail(`expected '"'`)
	}
	p.at += len(text) + 1
	e := p.machine.blank()
	runes := []rune(text)
	for i := len(runes) - 1; i >= 0; i-- {
		e = p.machine.concat(p.machine.single(runes[i]), e)
	}
	return e, nil
}

// interval reads a range of numbers. If both ends have as many digits, so has what
// matches.
func (p *regexpParser) interval() (*expr, error) {
	text, _, closed := strings.Cut(p.text[p.at:], ">")
	if !closed {
		return nil, p.fail("expected '>'")
	}
	a, b, _ := strings.Cut(text, "-")
	low, err1 := strconv.ParseUint(a, 10, 31)
	high, err2 := strconv.ParseUint(b, 10, 31)
	if err1 != nil || err2 != nil {
		return nil, p.fail("interval syntax error")
	}
	p.at += len(text) + 1
	digits := 0
	if len(a) == len(b) {
		digits = len(a)
	}
	return p.machine.interval(int(min(low, high)), int(max(low, high)), digits, ""), nil
}
