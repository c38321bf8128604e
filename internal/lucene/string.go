package lucene

import (
	"fmt"
	"strconv"
	"strings"
)

// power writes a boost other than 1.
func power(boost float64) string {
	if boost == 1 {
		return ""
	}
	return "^" + strconv.FormatFloat(boost, 'g', -1, 32)
}

// String returns the term.
func (n *Term) String() string { return n.Field + ":" + strconv.Quote(n.Text) + power(n.Boost) }

// String returns the phrase and its slop.
func (n *Phrase) String() string {
	return fmt.Sprintf("%s:phrase(%q)~%d%s", n.Field, n.Text, n.Slop, power(n.Boost))
}

// String returns the prefix.
func (n *Prefix) String() string {
	return fmt.Sprintf("%s:prefix(%q)%s", n.Field, n.Text, power(n.Boost))
}

// String returns the pattern's pieces.
func (n *Wildcard) String() string {
	var parts []string
	for _, p := range n.Pattern {
		parts = append(parts, p.String())
	}
	return n.Field + ":wildcard(" + strings.Join(parts, " ") + ")" + power(n.Boost)
}

// String returns a text quoted, the others as the signs for them.
func (p Piece) String() string {
	switch p.Kind {
	case AnyChar:
		return "?"
	case AnyText:
		return "*"
	}
	return strconv.Quote(p.Text)
}

// String returns the term and its edits.
func (n *Fuzzy) String() string {
	return fmt.Sprintf("%s:fuzzy(%q)~%d%s", n.Field, n.Text, n.Edits, power(n.Boost))
}

// String returns the expression.
func (n *Regexp) String() string {
	return fmt.Sprintf("%s:regexp(%q)%s", n.Field, n.Expr, power(n.Boost))
}

// String returns the range, its numbers if it is one of numbers.
func (n *Range) String() string {
	left, right := "{", "}"
	if n.IncludeMin {
		left = "["
	}
	if n.IncludeMax {
		right = "]"
	}
	if low, high, ok := n.Numbers(); ok {
		return fmt.Sprintf("%s:%s%v TO %v%s%s", n.Field, left, low, high, right, power(n.Boost))
	}
	return n.Field + ":" + left + shown(n.Min) + " TO " + shown(n.Max) + right + power(n.Boost)
}

func shown(end *string) string {
	if end == nil {
		return "*"
	}
	return strconv.Quote(*end)
}

// String returns the query.
func (n *All) String() string { return "*:*" + power(n.Boost) }

// String returns the clauses in parentheses, each with + or - if it is required or excluded.
func (n *Boolean) String() string {
	var parts []string
	for _, c := range n.Clauses {
		parts = append(parts, [...]string{Should: "", Must: "+", MustNot: "-"}[c.Occur]+c.Node.String())
	}
	return "(" + strings.Join(parts, " ") + ")" + power(n.Boost)
}
