package jsonscan

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns the characters that a quoted string stands for: a part of quoted
// itself when nothing in it is escaped, else appended to buf[:0]. Half of a
// surrogate pair becomes U+FFFD.
func Text(buf, quoted []byte) []byte {
	text, _ := Decode(buf, quoted)
	return text
}

// Decode is Text, and reports whether all of the string stands for characters.
func Decode(buf, quoted []byte) (text []byte, ok bool) {
	if len(quoted) < 2 {
		return nil, false
	}
	in := quoted[1 : len(quoted)-1]
	i := bytes.IndexByte(in, '\\')
	if i < 0 {
		return in, true
	}
	return appendUnescaped(append(buf[:0], in[:i]...), in[i:])
}

// appendUnescaped appends what the text between the quotes of a string stands for.
func appendUnescaped(dst, in []byte) (text []byte, ok bool) {
	for ok = true; ; {
		i := bytes.IndexByte(in, '\\')
		if i < 0 {
			return append(dst, in...), ok
		}
		r, n, whole := unescape(in[i:])
		dst = utf8.AppendRune(append(dst, in[:i]...), r)
		in, ok = in[i+n:], ok && whole
	}
}

// unescape reads the escape that in, which is not empty, begins with: the character
// and the escape's length. ok is false for what is none and for half of a surrogate
// pair; then the character is U+FFFD.
func unescape(in []byte) (r rune, n int, ok bool) {
	if len(in) < 2 {
		return utf8.RuneError, len(in), false
	}
	switch c := in[1]; c {
	case '"', '\\', '/':
		return rune(c), 2, true
	case 'b':
		return '\b', 2, true
	case 'f':
		return '\f', 2, true
	case 'n':
		return '\n', 2, true
	case 'r':
		return '\r', 2, true
	case 't':
		return '\t', 2, true
	case 'u':
		return unescapeHex(in)
	}
	return utf8.RuneError, 2, false
}

// unescapeHex is unescape for \uXXXX, and for the two that stand for one character.
func unescapeHex(in []byte) (r rune, n int, ok bool) {
	switch r = hex4(in); {
	case r < 0:
		return utf8.RuneError, 2, false
	case !utf16.IsSurrogate(r):
		return r, 6, true
	}
	if r = utf16.DecodeRune(r, hex4(in[6:])); r == utf8.RuneError {
		return r, 6, false
	}
	return r, 12, true
}

// hex4 reads an escape of the form \uXXXX; -1 if in does not begin with one.
func hex4(in []byte) (r rune) {
	if len(in) < 6 || in[0] != '\\' || in[1] != 'u' {
		return -1
	}
	for _, c := range in[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// AppendQuoted appends s as a JSON string, in the one shortest way that [Compact]
// writes it in.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			dst = appendEscaped(append(dst, s[done:i]...), c)
			done = i + 1
		}
	}
	return append(append(dst, s[done:]...), '"')
}

// appendEscaped appends one of the characters that may not be in a string as
// they are.
func appendEscaped(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
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
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
