package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// str scans a string. It gives the text between the quotes as Compact writes it,
// and whether that is a part of src, which stays; out may be cut back.
func (s *scanner) str() (text []byte, stays bool) {
	s.at++
	start := s.at
	for {
		s.plain()
		switch s.peek() {
		case '"':
			text := s.src[start:s.at]
			s.at++
			return text, true
		case '\\':
			if s.escape() {
				continue
			}
			return s.rewrite(start), false
		default: // a control character, or the end
			s.fail(NotJSON)
			return nil, true
		}
	}
}

const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plain goes on to the next quote, backslash or control character and validates
// the UTF-8 before it. It looks at eight bytes at a time.
func (s *scanner) plain() {
	src, i := s.src, s.at
	var seen uint64 // or of all bytes
	for ; i+8 <= len(src); i += 8 {
		w := binary.LittleEndian.Uint64(src[i:])
		// Each term has the high bit of the bytes that are a quote, a backslash
		// or under 0x20. A borrow adds wrong ones, but only after a right one,
		// and the first is what counts.
		q, b := w^(lows*'"'), w^(lows*'\\')
		if hits := ((q-lows)&^q | (b-lows)&^b | (w-lows*' ')&^w) & highs; hits != 0 {
			first := bits.TrailingZeros64(hits) &^ 7
			seen |= w & (1<<first - 1)
			s.stop(i+first/8, seen)
			return
		}
		seen |= w
	}
	for ; i < len(src) && src[i] != '"' && src[i] != '\\' && src[i] >= ' '; i++ {
		seen |= uint64(src[i])
	}
	s.stop(i, seen)
}

// stop ends a run of plain characters at i.
func (s *scanner) stop(i int, seen uint64) {
	if seen&highs != 0 && !utf8.Valid(s.src[s.at:i]) {
		for r, n := utf8.DecodeRune(s.src[s.at:]); r != utf8.RuneError || n > 1; r, n = utf8.DecodeRune(s.src[s.at:]) {
			s.at += n
		}
		s.fail(NotJSON)
		return
	}
	s.at = i
}

// escape steps over an escape that Compact writes just so, and reports whether it
// was one.
func (s *scanner) escape() bool {
	if s.at+1 >= len(s.src) {
		return false
	}
	switch s.src[s.at+1] {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		s.at += 2
		return true
	case 'u':
		var room [6]byte
		r := hex4(s.src[s.at:])
		if r < 0 || r >= ' ' || !bytes.Equal(appendEscaped(room[:0], byte(r)), s.src[s.at:s.at+6]) {
			return false
		}
		s.at += 6
		return true
	}
	return false
}

// rewrite scans on from an escape that is written otherwise, in a string that
// began at start.
func (s *scanner) rewrite(start int) []byte {
	from := len(s.out) + start - s.pending
	for {
		switch s.peek() {
		case '"':
			s.flush()
			s.at++
			return s.out[from:]
		case '\\':
			s.flush()
			r, n, ok := unescape(s.src[s.at:])
			if s.at+1 < len(s.src) {
				s.at += n // an error points at what follows the escape
			}
			if !ok {
				s.fail(NotJSON)
				return nil
			}
			if r < ' ' || r == '"' || r == '\\' {
				s.out = appendEscaped(s.out, byte(r))
			} else {
				s.out = utf8.AppendRune(s.out, r)
			}
			s.pending = s.at
		default:
			s.fail(NotJSON)
			return nil
		}
		s.plain()
	}
}
