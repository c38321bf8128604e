package selector

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// matches holds a document against a selector without a bound.
func matches(tb testing.TB, s *Selector, d *Doc) bool {
	tb.Helper()
	ok, err := s.Match(d, NewBudget(tb.Context(), 0))
	if err != nil {
		tb.Errorf("%s: %v", s.JSON(), err)
	}
	return ok
}

func ofPattern(pattern string) (*Selector, error) {
	return Parse(append(jsonscan.AppendQuoted([]byte(`{"f":{"$regex":`), pattern), "}}"...))
}

// Which patterns there are and what they mean is regex's; here: how they come there and back.
func TestRegex(t *testing.T) {
	for _, c := range []struct {
		pattern, subject string
		want             bool
	}{{`^.$`, "é", false}, {`(*UTF8)^.$`, "é", true}, {`^a\x{22}b$`, `a"b`, true}, {`(a)\1`, "aa", true}, {`^(a|aa)+$`, strings.Repeat("a", 10_000) + "b", false}} {
		s, err := ofPattern(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := matches(t, s, &Doc{Body: append(jsonscan.AppendQuoted([]byte(`{"f":`), c.subject), '}')}); got != c.want {
			t.Errorf("%s: %v", c.pattern, got)
		}
	}
	for _, p := range []string{`(`, `(?R)`} {
		if _, err := ofPattern(p); !dberr.Is(err, dberr.Invalid) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// A pattern that finds no end is an error, whatever is around it: neither a match nor none.
func TestRegexWithoutEnd(t *testing.T) {
	testrun.Sequential(t)
	for _, sel := range []string{`{"f":%}`, `{"f":{"$not":%}}`, `{"$or":[{"f":%},{"g":1}]}`, `{"$nor":[{"f":%}]}`, `{"l":{"$elemMatch":%}}`, `{"l":{"$allMatch":{"$not":%}}}`} {
		s, err := Parse([]byte(strings.ReplaceAll(sel, "%", `{"$regex":"^(a|aa)+\\1\\1b$"}`)))
		if err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("a", 60)
		b := NewBudget(t.Context(), 0)
		ok, err := s.Match(&Doc{Body: []byte(`{"f":"` + long + `","g":1,"l":["` + long + `","b"]}`)}, b)
		if ok || !dberr.Is(err, dberr.Invalid) || !strings.Contains(err.Error(), "too_many_steps") {
			t.Errorf("%s: %v, %v", sel, ok, err)
		}
		if ok, err := s.Match(&Doc{Body: []byte(`{"f":"x"}`)}, b); ok || err == nil {
			t.Errorf("%s: a budget that is spent gave %v", sel, ok)
		}
	}
}

// leaving is a context that is done after it was asked some times.
type leaving struct {
	context.Context
	asked int
}

func (l *leaving) Err() error {
	if l.asked--; l.asked < 0 {
		return context.Canceled
	}
	return nil
}

// Who leaves while a document is being looked at ends that, whatever the operator.
func TestLeavingWithinADocument(t *testing.T) {
	many := strings.Repeat(`"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaé",`, 20_000)
	body := []byte(`{"l":[` + many + `"x"],"n":[` + strings.Repeat(`0.11111111111111111111111111111111111112,`, 20_000) + `1]}`)
	for _, sel := range []string{
		`{"l":{"$elemMatch":{"$regex":"^(a+)+b$"}}}`, `{"l":{"$elemMatch":{"$regex":"(a)\\1b"}}}`, `{"l":{"$elemMatch":{"$eq":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaö"}}}`,
		`{"l":{"$in":["ö"]}}`, `{"l":{"$nin":["ö",1]}}`, `{"l":{"$all":["ö",1]}}`, `{"n":{"$allMatch":{"$lt":0.12}}}`, `{"n":{"$elemMatch":{"$or":[{"a":1},{"b":2}]}}}`,
		`{"l":{"$not":{"$elemMatch":{"$beginsWith":"b"}}}}`,
	} {
		s, err := Parse([]byte(sel))
		if err != nil {
			t.Fatal(err)
		}
		l := &leaving{t.Context(), 1}
		if ok, err := s.Match(&Doc{Body: body}, NewBudget(l, 0)); ok || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, %v", sel, ok, err)
		} else if l.asked < -3 {
			t.Errorf("%s: it went on", sel)
		}
	}
}
