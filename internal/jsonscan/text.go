package jsonscan

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns the characters that a quoted string stands for: a part of quoted
// itself when nothing in it is escaped, else appended to buf[:0].
func Text(buf, quoted []byte) []byte {
	if len(quoted) < 2 {
		return nil
	}
	in := quoted[1 : len(quoted)-1]
	i := bytes.IndexByte(in, '\\')
	if i < 0 {
		return in
	}
	return appendUnescaped(append(buf[:0], in[:i]...), in[i:])
}

func appendUnescaped(dst, in []byte) []byte {
	for len(in) > 0 {
		i := bytes.IndexByte(in, '\\')
		if i < 0 || i+1 >= len(in) {
			return append(dst, in...)
		}
		dst = append(dst, in[:i]...)
		var n int
		dst, n = appendEscape(dst, in[i:])
		in = in[i+n:]
	}
	return dst
}

// appendEscape decodes the escape that in begins with and gives its length.
func appendEscape(dst, in []byte) ([]byte, int) {
	switch c := in[1]; c {
	case 'n':
		return append(dst, '\n'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'u':
		r := hex4(in)
		if utf16.IsSurrogate(r) {
			if pair := utf16.DecodeRune(r, hex4(in[min(6, len(in)):])); pair != utf8.RuneError {
				return utf8.AppendRune(dst, pair), 12
			}
		}
		return utf8.AppendRune(dst, r), min(6, len(in))
	default:
		return append(dst, c), 2
	}
}

// hex4 reads an escape of the form \uXXXX; -1 if in does not begin with one.
func hex4(in []byte) rune {
	if len(in) < 6 || in[0] != '\\' || in[1] != 'u' {
		return -1
	}
	var r rune
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

// AppendQuoted appends s as a JSON string. Only what JSON demands is escaped.
func AppendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
