package lucene

import (
	"strings"
	"unicode/utf16"
)

// unescape resolves escapes: \uXXXX is a UTF-16 unit, any other character after a
// backslash is itself.
func (p *parser) unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", p.wrong("Term can not end with escape character.")
		}
		if s[i] != 'u' {
			b.WriteByte(s[i])
			continue
		}
		units, n, err := p.units(s[i-1:])
		if err != nil {
			return "", err
		}
		b.WriteString(units)
		i += n - 2
	}
	return b.String(), nil
}

// unitLen is the length of \uXXXX.
const unitLen = 6

// units reads the escapes \uXXXX that s begins with, two of them if they are the halves
// of a pair, and returns the character and their length.
func (p *parser) units(s string) (string, int, error) {
	first, err := p.unit(s)
	if err != nil {
		return "", 0, err
	}
	if utf16.IsSurrogate(first) && strings.HasPrefix(s[unitLen:], `\u`) {
		second, err := p.unit(s[unitLen:])
		if err != nil {
			return "", 0, err
		}
		if r := utf16.DecodeRune(first, second); r != '\uFFFD' {
			return string(r), 2 * unitLen, nil
		}
	}
	return string(first), unitLen, nil
}

func (p *parser) unit(s string) (r rune, err error) {
	for _, c := range s[2:min(len(s), unitLen)] {
		d := strings.IndexRune("0123456789abcdefABCDEF", c)
		if d < 0 {
			return 0, p.wrong("Non-hex character in Unicode escape sequence: " + string(c))
		}
		if d >= 16 {
			d -= 6
		}
		r = r<<4 | rune(d)
	}
	if len(s) < unitLen {
		return 0, p.wrong("Truncated unicode escape sequence.")
	}
	return r, nil
}
