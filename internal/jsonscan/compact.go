package jsonscan

// Reason says why a text is refused.
type Reason uint8

// The reasons.
const (
	NotJSON   Reason = iota // not JSON in UTF-8
	TooDeep                 // more than maxDepth arrays and objects within each other
	Duplicate               // a member that is there twice in an object
	NotObject               // another value, where Split wants an object
)

// Error refuses a text.
type Error struct {
	Reason Reason
	At     int    // the index of the byte where the text went wrong
	Name   string // of a member that is there twice, as Compact writes it
}

// Error says the reason.
func (e *Error) Error() string {
	return [...]string{"not JSON", "JSON is nested too deeply", "a member stands twice", "not an object"}[e.Reason]
}

// maxDepth is how many arrays and objects may be open within each other.
const maxDepth = 1000

// Compact validates a JSON text (RFC 8259, UTF-8, no duplicate members, no lone
// surrogates, numbers within a double's range, depth) and leaves out its white
// space.
//
// Number literals, member order and string contents stay. Each string is
// written in its one shortest way: what may stay unescaped does, the rest has
// the two-character escape, else \u00 and lower-case digits. So equal strings
// are equal bytes.
//
// The result does not share memory with raw. Errors: *Error.
func Compact(raw []byte) ([]byte, error) {
	s := newScanner(raw)
	s.space()
	s.value()
	if s.end() != nil {
		return nil, s.err
	}
	return s.out, nil
}

// Special is a member that Split takes out: its name decoded, its value as compact
// JSON.
type Special struct {
	Name  string
	Value []byte
}

// Split is Compact for an object, and takes the members of it whose names begin
// with an underscore out, in order. Results share memory with each other.
func Split(raw []byte) (body []byte, special []Special, err error) {
	s := newScanner(raw)
	s.space()
	object := s.peek() == '{'
	if object {
		special = s.split()
	} else {
		s.value()
	}
	if s.end() == nil && !object {
		s.fail(NotObject)
	}
	if s.err != nil {
		return nil, nil, s.err
	}
	return s.out[:len(s.out):len(s.out)], special, nil
}

// scanner validates one JSON text and copies it compactly in a single pass.
//
// A tokenizer that hands out tokens and is told to write them again does the
// work twice. Most bytes of most bodies need no change at all, so the scanner
// only remembers where the bytes begin that it has read and not yet copied
// (pending), and copies them in one go when there is something to leave out or
// to rewrite, or at the end. What it writes is never longer than what it has
// read, so out, made as large as src, never moves.
//
// After the first mistake err is set and at is at the end of src, so that
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
}

func newScanner(src []byte) scanner {
	return scanner{src: src, out: make([]byte, 0, len(src)), depth: maxDepth, names: make([]nameRef, 0, usualNames)}
}

func (s *scanner) fail(why Reason) { s.refuse(&Error{Reason: why, At: s.at}) }

func (s *scanner) refuse(e *Error) {
	if s.err == nil {
		s.err = e
	}
	s.at, s.pending = len(s.src), len(s.src)
}

// end finishes a text and returns the first mistake.
func (s *scanner) end() error {
	s.space()
	if s.at < len(s.src) {
		s.fail(NotJSON)
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
		s.fail(NotJSON)
		return
	}
	s.at += len(text)
}

// open enters an array or object and reports whether it has anything in it.
func (s *scanner) open(closing byte) bool {
	s.at++
	if s.depth--; s.depth < 0 {
		s.fail(TooDeep)
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
		s.fail(NotJSON)
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

// name scans the name of a member and the colon after it. It returns the text
// between the quotes as Compact writes it.
func (s *scanner) name(seen *nameSet) []byte {
	if s.peek() != '"' {
		s.fail(NotJSON)
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
		s.fail(NotJSON)
		return nil
	}
	s.at++
	s.space()
	if !s.addName(seen, text, start) {
		s.refuse(&Error{Reason: Duplicate, At: s.at, Name: string(text)})
	}
	return text
}
