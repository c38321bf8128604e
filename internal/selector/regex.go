package selector

import (
	"errors"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/regex"
)

// regexTest is $regex. CouchDB runs PCRE over the bytes of a string, each taken
// as a character of Latin-1, unless the pattern begins with (*UTF8) or (*UTF).
// So "." is one byte of an accented letter, which is what selectors written
// for CouchDB have adapted to.
type regexTest struct {
	pattern *regex.Pattern
	arg     []byte
}

func compileRegex(arg []byte) (tester, error) {
	p, err := regex.Compile(string(jsonscan.Text(nil, arg)))
	if errors.Is(err, regex.ErrTooLarge) {
		return nil, dberr.New(dberr.Invalid, "bad_arg", "The pattern of $regex is too large.")
	}
	if err != nil {
		return nil, badArgument("$regex", arg)
	}
	return &regexTest{p, arg}, nil
}

func (t *regexTest) match(v value, b *Budget) bool {
	if v.kind() != jsonscan.String {
		return false
	}
	ok, err := t.pattern.Match(v.string(), b)
	if errors.Is(err, regex.ErrSteps) && b.err == nil {
		b.err = dberr.New(dberr.Invalid, "too_many_steps", "The pattern %s takes more than %d steps on one string.", shortened(t.arg), regex.MaxSteps)
		b.allowance = -1
	}
	return ok
}

// shortened returns what an error text shows of a pattern.
func shortened(arg []byte) []byte {
	const most = 100
	if len(arg) <= most {
		return arg
	}
	return append(append([]byte(nil), arg[:most]...), "..."...)
}

// linear reports whether all patterns within n are of the linear kind.
func (n *Node) linear() bool {
	if t, ok := n.test.(*regexTest); ok {
		return t.pattern.Linear()
	}
	for _, k := range n.Kids {
		if !k.linear() {
			return false
		}
	}
	return true
}
