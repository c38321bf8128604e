package document

import (
	"strings"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/dberr"
)

// Composite ids are made of typed values, the first of which is the partition, in
// such a way that ids, which compare as bytes, have the order of the values: first
// by the first value, then by the next. The naive way, to join texts with a colon,
// fails three times: "a:…" sorts after "a0:…", a value may have a colon itself, and
// 10 sorts before 9.
//
//	S user#1234          Suser#1234!:!
//	S user#1234, N 12.5  Suser#1234!:N2202125
//	S a:b c, B 00ff      Sa;0b"Cc!:B-Ew
//
// A value is a letter for its kind, B, N or S, which sort so, and a text of UTF-8
// without a colon or anything below '"' (bytes of at least 0x22). Each value but the
// last is followed by '!', which is below all that a longer value could have there. So
// no id begins with an underscore, the first colon ends the partition, and a value
// that is the beginning of another is before it. A single value has '!' for a key.
//
//   - Strings are as they are, but for characters up to '"', which become '"' and
//     the character 0x23 higher, and ':' and ';', which become ";0" and ";1".
//   - Binary is in six bits a character, of an alphabet in the order of ASCII.
//   - Numbers are in composite_number.go.

// ValueKind is the type of a value of a composite id.
type ValueKind byte

// The kinds, in the order in which values of different kinds sort.
const (
	BinaryValue ValueKind = 'B'
	NumberValue ValueKind = 'N'
	StringValue ValueKind = 'S'
)

// Value is one value of a composite id.
type Value struct {
	Kind ValueKind
	// Text is the string, the bytes of a binary value, or a number in JSON's grammar.
	// Of a number CompositeValues returns the same value, not the same digits.
	Text string
}

// valueEnd ends every value but the last.
const valueEnd = "!"

// CompositeID returns the id of values, of which there is at least one. max is the
// longest id in bytes, 0 for no limit: an id is at most twice as long as its values,
// and a few bytes. Errors: Invalid illegal_docid for a string that is not UTF-8, a
// number with more than 38 digits or out of range, and an id that is too long.
func CompositeID(values []Value, max int) (ID, error) {
	var room [256]byte
	b := room[:0]
	for i, v := range values {
		switch i {
		case 0:
		case 1:
			b = append(b, valueEnd+":"...)
		default:
			b = append(b, valueEnd...)
		}
		var err error
		if b, err = v.append(b); err != nil {
			return "", err
		}
	}
	if len(values) == 1 {
		b = append(b, valueEnd+":"+valueEnd...)
	}
	return ParseID(string(b), max)
}

// AppendValue appends a value as it is in ids: texts of values of one kind compare as the
// values do, and a string that begins with another has a text that begins with the other's.
// Errors as of CompositeID.
func AppendValue(dst []byte, v Value) ([]byte, error) { return v.append(dst) }

func (v Value) append(dst []byte) ([]byte, error) {
	dst = append(dst, byte(v.Kind))
	switch v.Kind {
	case StringValue:
		if !utf8.ValidString(v.Text) {
			return nil, illegalID("A string in a key must be valid UTF-8")
		}
		return appendStringValue(dst, v.Text), nil
	case BinaryValue:
		return sortable.AppendEncode(dst, []byte(v.Text)), nil
	case NumberValue:
		return appendNumberValue(dst, v.Text)
	}
	return nil, dberr.New(dberr.Internal, "", "a key has a value of kind %q", v.Kind)
}

// CompositeValues returns the values of an id that CompositeID made. Errors: Invalid
// illegal_docid for any other id.
func CompositeValues(id ID) (values []Value, err error) {
	first, rest, ok := strings.Cut(string(id), valueEnd+":")
	if !ok || rest == "" {
		return nil, errNotComposite
	}
	texts := []string{first}
	if rest != valueEnd {
		texts = append(texts, strings.Split(rest, valueEnd)...)
	}
	for _, text := range texts {
		v, err := parseValue(text)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	if again, err := CompositeID(values, 0); err != nil || again != id {
		return nil, errNotComposite // written in another way
	}
	return values, nil
}

// PlainStrings returns of how many strings CompositeID made an id, where that shows at a
// glance: they are ASCII with nothing in them that is written otherwise. It returns 0 for
// any other id, which may be one that CompositeID made all the same.
func PlainStrings(id ID) (n int) {
	for text := string(id); text != "" && ValueKind(text[0]) == StringValue; {
		i := 1
		for i < len(text) && text[i] > lowest && text[i] <= '~' && text[i] != ':' && text[i] != ';' {
			i++
		}
		n++
		switch text = text[i:]; {
		case text == "" && n > 1:
			return n
		case text == valueEnd+":"+valueEnd && n == 1:
			return n
		case n > 1 && strings.HasPrefix(text, valueEnd):
			text = text[len(valueEnd):]
		case n == 1 && strings.HasPrefix(text, valueEnd+":"):
			text = text[len(valueEnd+":"):]
		default:
			return 0
		}
	}
	return 0
}

var errNotComposite = illegalID("The id is not one of typed values")

func parseValue(text string) (v Value, err error) {
	if text == "" {
		return v, errNotComposite
	}
	v.Kind, text = ValueKind(text[0]), text[1:]
	switch v.Kind {
	case StringValue:
		v.Text, err = parseStringValue(text)
	case BinaryValue:
		var b []byte
		if b, err = sortable.DecodeString(text); err != nil {
			err = errNotComposite
		}
		v.Text = string(b)
	case NumberValue:
		v.Text, err = parseNumberValue(text)
	default:
		err = errNotComposite
	}
	return v, err
}

// lowest is the highest of the characters that are written as lowest and one that is
// raised above it.
const (
	lowest = '"'
	raised = lowest + 1
)

func appendStringValue(dst []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c <= lowest:
			dst = append(dst, lowest, c+raised)
		case c == ':' || c == ';':
			dst = append(dst, ';', c-':'+'0')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func parseStringValue(text string) (string, error) {
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == lowest || c == ';' {
			if i++; i == len(text) {
				return "", errNotComposite
			}
			if c == lowest {
				c = text[i] - raised
			} else {
				c = text[i] - '0' + ':'
			}
		}
		b = append(b, c)
	}
	return string(b), nil
}
