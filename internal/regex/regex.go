// Package regex owns patterns in PCRE's syntax: what they mean, and that a match costs what can be
// foreseen. A pattern of the linear kind looks at each character of a subject once for each of its
// instructions, so it never runs away. Others (back references, look-around, atomic groups) try one
// possibility after the other, and count what they do: beyond a number of steps a match is an error,
// the same one on every machine, and not an answer.
//
// The parser is regexp2's, the matching is here: that engine bounds a match by the clock alone. The
// package knows nothing of selectors or JSON.
//
// Begin reading at Compile and Match; program.go has the instructions, compile.go makes them of the
// parser's tree, linear.go and backtrack.go run them.
package regex

import (
	"errors"
	"strings"
	"sync"

	"github.com/dlclark/regexp2/v2/syntax"
)

// Bounds of a pattern. Those that are beyond them are refused by ErrTooLarge.
const (
	maxPattern      = 64 << 10 // bytes
	maxNesting      = 250      // groups in groups
	maxInstructions = 20_000
)

// MaxSteps is how many steps one match of a pattern that is not linear may take.
const MaxSteps = 10_000_000

var (
	// ErrSyntax is the error of what is no pattern.
	ErrSyntax = errors.New("regex: not a pattern")
	// ErrTooLarge is the error of a pattern that is longer, more deeply nested or, with its counted
	// repetitions written out, larger than is taken.
	ErrTooLarge = errors.New("regex: the pattern is too large")
	// ErrSteps is the error of a match that took more than MaxSteps.
	ErrSteps = errors.New("regex: the match takes too many steps")
)

// Meter is told what matching costs.
type Meter interface {
	// Spend takes a number of steps, each about as much work as one character held against one
	// instruction. The match ends with its error.
	Spend(steps int) error
}

// Pattern is a compiled pattern. It may be used by several goroutines.
type Pattern struct {
	program
	linear   bool
	machines sync.Pool
}

// Compile reads a pattern. Without the verb (*UTF8) or (*UTF) at its beginning, it and its subjects
// are bytes, each of which is a character of Latin-1. Errors: ErrSyntax, ErrTooLarge.
func Compile(pattern string) (*Pattern, error) {
	pattern, utf := cutVerbs(pattern)
	if len(pattern) > maxPattern {
		return nil, ErrTooLarge
	}
	if !utf {
		pattern = latin1(pattern)
	}
	translated, err := translate(pattern)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(translated.text, syntax.ParseOptions{MaintainCaptureOrder: true})
	if err != nil {
		return nil, errors.Join(ErrSyntax, err)
	}
	exact := translated.exact || needsBacktracking(tree.Root)
	program, err := compile(tree.Root, utf, exact)
	if errors.Is(err, ErrTooLarge) && !exact {
		// The backtracker need not write the loops out.
		exact = true
		program, err = compile(tree.Root, utf, exact)
	}
	if err != nil {
		return nil, err
	}
	p := &Pattern{program: program, linear: !exact}
	p.machines.New = p.newMachine
	return p, nil
}

func (p *Pattern) newMachine() any {
	if p.linear {
		return newThreads(len(p.code))
	}
	return &backtracker{slots: make([]int, p.slots)}
}

// Linear reports whether a match takes time in proportion to the subject's length.
func (p *Pattern) Linear() bool { return p.linear }

// Match reports whether subject has a part that the pattern describes. Errors: the meter's, ErrSteps.
func (p *Pattern) Match(subject []byte, m Meter) (bool, error) {
	if p.linear {
		t := p.machines.Get().(*threads)
		defer p.machines.Put(t)
		return t.match(&p.program, subject, m)
	}
	b := p.machines.Get().(*backtracker)
	defer p.machines.Put(b)
	return b.match(&p.program, subject, m)
}

// cutVerbs takes the option verbs from the beginning of a pattern.
func cutVerbs(pattern string) (rest string, utf bool) {
	for {
		verb, rest, ok := strings.Cut(pattern, ")")
		switch {
		case ok && (verb == "(*UTF8" || verb == "(*UTF"):
			utf = true
		case ok && verb == "(*UCP":
		default:
			return pattern, utf
		}
		pattern = rest
	}
}

// latin1 makes a character of each byte.
func latin1(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}
