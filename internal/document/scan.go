package document

import (
	"github.com/sectional/sectional/internal/dberr"
)

// scanner validates one JSON text and copies it compactly in a single pass.
//
// A tokenizer that hands out tokens and is told to write them again does the
// work twice. Most bytes of most bodies need no change at all, so the scanner
// only remembers where the bytes begin that it has read and not yet copied
// (pending), and copies them in one go when there is something to leave out or
// to rewrite, or at the end. What it writes is never longer than what it has
// read, so out, made as large as src, never moves.
//
// After the first mistake err is set and at stands at the end of src, so that
// every loop ends by itself; only end looks at err.
type scanner struct {
	src     []byte
	at      int // next byte to read
	pending int // first byte read and not yet copied
	out     []byte
	depth   int       // levels that may still be opened
	names   []nameRef // of the open objects
	odd     []byte    // names that do not lie in src, see nameRef
	err     error
	wrong   int // where err was met
}

func newScanner(src []byte, l BodyLimits) scanner {
	return scanner{
		src: src, out: make([]byte, 0, len(src)), depth: l.depth(),
		names: make([]nameRef, 0, usualNames),
	}
}

func (s *scanner) fail(err error) {
	if s.err == nil {
		s.err, s.wrong = err, s.at
	}
	s.at, s.pending = len(s.src), len(s.src)
}

// end finishes a text and gives the first mistake.
func (s *scanner) end() error {
	s.space()
	if s.at < len(s.src) {
		s.fail(invalidJSON())
	}
	s.flush()
	return s.err
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.src) {
		return s.src[s.at]
	}
	return 0
}

// flush copies what is pending.
func (s *scanner) flush() {
	s.out = append(s.out, s.src[s.pending:s.at]...)
	s.pending = s.at
}

// space leaves out white space.
func (s *scanner) space() {
	if s.at < len(s.src) && s.src[s.at] <= ' ' {
		s.skipSpace()
	}
}

func (s *scanner) skipSpace() {
	s.flush()
	for s.at < len(s.src) {
		switch s.src[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
			continue
		}
		break
	}
	s.pending = s.at
}

func (s *scanner) value() {
	switch s.peek() {
	case '"':
		s.str()
	case '{':
		s.object()
	case '[':
		s.array()
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
}

func (s *scanner) literal(text string) {
	if len(s.src)-s.at < len(text) || string(s.src[s.at:s.at+len(text)]) != text {
		s.fail(invalidJSON())
		return
	}
	s.at += len(text)
}

// open enters an array or object and reports whether it has anything in it.
func (s *scanner) open(closing byte) bool {
	s.at++
	if s.depth--; s.depth < 0 {
		s.fail(dberr.New(dberr.Invalid, "bad_request", "JSON is nested too deeply"))
		return false
	}
	s.space()
	if s.peek() == closing {
		s.at++
		s.depth++
		return false
	}
	return true
}

// more goes on to the next element or member, or leaves the array or object.
func (s *scanner) more(closing byte) bool {
	s.space()
	switch s.peek() {
	case ',':
		s.at++
		s.space()
		return true
	case closing:
		s.at++
		s.depth++
	default:
		s.fail(invalidJSON())
	}
	return false
}

func (s *scanner) array() {
	for more := s.open(']'); more; more = s.more(']') {
		s.value()
	}
}

func (s *scanner) object() {
	seen := s.openNames()
	for more := s.open('}'); more; more = s.more('}') {
		s.name(&seen)
		s.value()
	}
	s.closeNames(&seen)
}

// name scans the name of a member and the colon behind it. It gives the text
// between the quotes as Split writes it.
func (s *scanner) name(seen *nameSet) []byte {
	if s.peek() != '"' {
		s.fail(invalidJSON())
		return nil
	}
	start := s.at + 1
	text, stays := s.str()
	if !stays {
		start = -len(s.odd) - 1
		s.odd = append(s.odd, text...)
		text = s.odd[-start-1:] // out may be cut back
	}
	s.space()
	if s.peek() != ':' {
		s.fail(invalidJSON())
		return nil
	}
	s.at++
	s.space()
	if !s.addName(seen, text, start) {
		s.fail(dberr.New(dberr.Invalid, "bad_request", `Duplicate member "%s" in a JSON object`, string(text)))
	}
	return text
}
