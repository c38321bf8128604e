package document

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// str scans a string. It gives the text between the quotes as Split writes it,
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
			s.fail(invalidJSON())
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
		// or under 0x20. A borrow adds wrong ones, but only behind a right one,
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
		s.fail(invalidJSON())
		return
	}
	s.at = i
}

// escape steps over an escape that Split writes just so, and reports whether it
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
		if s.at+6 > len(s.src) {
			return false
		}
		var room [6]byte
		r, _ := hex4(s.src[s.at+2:])
		if r >= ' ' || !bytes.Equal(appendRune(room[:0], r), s.src[s.at:s.at+6]) {
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
			r, ok := s.rune()
			if !ok {
				s.fail(invalidJSON())
				return nil
			}
			s.out = appendRune(s.out, r)
			s.pending = s.at
		default:
			s.fail(invalidJSON())
			return nil
		}
		s.plain()
	}
}

// rune reads an escape.
func (s *scanner) rune() (rune, bool) {
	if s.at+1 >= len(s.src) {
		return 0, false
	}
	c := s.src[s.at+1]
	s.at += 2
	switch c {
	case '"', '\\', '/':
		return rune(c), true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'u':
		return s.unicode()
	}
	return 0, false
}

// unicode reads the digits of an escape, and a second escape when they are half
// of a surrogate pair.
func (s *scanner) unicode() (rune, bool) {
	r, ok := hex4(s.src[s.at:])
	if !ok {
		return 0, false
	}
	s.at += 4
	if !utf16.IsSurrogate(r) {
		return r, true
	}
	if len(s.src)-s.at < 6 || s.src[s.at] != '\\' || s.src[s.at+1] != 'u' {
		return 0, false
	}
	low, ok := hex4(s.src[s.at+2:])
	r = utf16.DecodeRune(r, low)
	s.at += 6
	return r, ok && r != utf8.RuneError
}

// hex4 reads four hexadecimal digits.
func hex4(text []byte) (r rune, ok bool) {
	if len(text) < 4 {
		return 0, false
	}
	for _, c := range text[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// appendRune writes r as it stands inside a string.
func appendRune(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	if r < ' ' {
		const digits = "0123456789abcdef"
		return append(dst, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
	}
	return utf8.AppendRune(dst, r)
}

// unquote decodes the text of a string as Split writes it.
func unquote(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text)
	}
	s := scanner{src: text}
	var decoded []byte
	for s.at < len(text) {
		if text[s.at] != '\\' {
			decoded = append(decoded, text[s.at])
			s.at++
			continue
		}
		r, _ := s.rune()
		decoded = utf8.AppendRune(decoded, r)
	}
	return string(decoded)
}
