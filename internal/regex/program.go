package regex

import (
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2/syntax"
)

// program is a pattern as instructions. The first is the beginning; what follows an instruction is the
// next one, unless it says otherwise.
type program struct {
	code  []instruction
	sets  []set
	slots int  // of positions that are remembered
	utf   bool // subjects are UTF-8; otherwise each byte is a character
	// begins says that a match can only begin at the subject's beginning.
	begins bool
	// first are the bytes that a match can begin with, if it has to begin with one.
	first    [256]bool
	hasFirst bool
}

type instruction struct {
	op   op
	back bool // goes to the left, within a look-behind
	fold bool // of a reference: letters match whatever their case
	set  int  // of opSet and opRun
	x, y int
}

type op uint8

const (
	opMatch  op = iota // the end of the pattern, or of a part that is run by itself
	opFail             // never matches
	opSet              // a character of the set
	opSplit            // go on at x, and if that fails at y
	opJump             // go on at x
	opAssert           // the position is of the kind x

	// What follows is for patterns that are not linear.
	opSpan     // x to y characters of the set, as many as possible first
	opOpen     // a group begins: slot x
	opClose    // a group ends: its span goes from slot x into the slots y and y+1
	opRef      // the text of the group whose span is in the slots x and x+1
	opSave     // remember the position in slot x
	opProgress // go on at y if the position is still that of slot x
	opAtomic   // what follows is run by itself, to its end at y-1; its first match counts
	opLook     // as opAtomic, but the position stays
	opLookNot  // what follows must not match
	opIf       // what follows up to x-1 decides, at this position, whether to go on at x or at y
	opIfGroup  // go on at the next if the group with its span in slot x has matched, at y otherwise
	opGrapheme // a character with its marks
)

// Kinds of positions in a text.
const (
	atBeginning  = iota // of the subject
	atLineBegin         // of a line
	atEnd               // of the subject
	atLastEnd           // of the subject, or before a line feed that ends it
	atLineEnd           // of a line
	atBoundary          // of a word
	atNoBoundary        // anywhere else
)

// set is a set of characters.
type set struct {
	low  [256]bool
	high *syntax.CharSet // decides about characters above; nil: none of them, or all but one
	one  rune            // a single character above, if high is nil
	not  bool            // one is the only one that is not in the set
}

func (s *set) has(r rune) bool {
	if uint32(r) < 256 {
		return s.low[r]
	}
	if s.high != nil {
		return s.high.Contains(r)
	}
	return (r == s.one) != s.not
}

func setOf(cs *syntax.CharSet) set {
	s := set{high: cs}
	for r := range rune(256) {
		s.low[r] = cs.Contains(r)
	}
	return s
}

// setOfOne is the set of one character, or of all others.
func setOfOne(one rune, not bool) set {
	s := set{one: one, not: not}
	for r := range rune(256) {
		s.low[r] = (r == one) != not
	}
	return s
}

// next returns the character at a position and the position after it.
func (p *program) next(subject []byte, at int) (rune, int) {
	c := subject[at]
	if !p.utf || c < utf8.RuneSelf {
		return rune(c), at + 1
	}
	r, n := utf8.DecodeRune(subject[at:])
	return r, at + n
}

// previous returns the character before a position and where it begins.
func (p *program) previous(subject []byte, at int) (rune, int) {
	c := subject[at-1]
	if !p.utf || c < utf8.RuneSelf {
		return rune(c), at - 1
	}
	r, n := utf8.DecodeLastRune(subject[:at])
	return r, at - n
}

// holds reports whether a position is of a kind.
func (p *program) holds(kind int, subject []byte, at int) bool {
	switch kind {
	case atBeginning:
		return at == 0
	case atLineBegin:
		return at == 0 || subject[at-1] == '\n'
	case atEnd:
		return at == len(subject)
	case atLastEnd:
		return at == len(subject) || at == len(subject)-1 && subject[at] == '\n'
	case atLineEnd:
		return at == len(subject) || subject[at] == '\n'
	}
	return p.boundary(subject, at) == (kind == atBoundary)
}

func (p *program) boundary(subject []byte, at int) bool {
	var before, behind bool
	if at > 0 {
		r, _ := p.previous(subject, at)
		before = isWord(r)
	}
	if at < len(subject) {
		r, _ := p.next(subject, at)
		behind = isWord(r)
	}
	return before != behind
}

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_'
	}
	return syntax.IsWordChar(r)
}
