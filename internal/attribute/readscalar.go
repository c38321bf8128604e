package attribute

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/sectional/sectional/internal/jsonscan"
)

const foundMap = "Start of structure or map found where not expected"

// ParseText reads a string of a request from the wire; errors as of ParseItem.
func ParseText(raw []byte) (string, error) {
	if n := len(raw) - 1; n > 0 && raw[0] == '"' && bytes.IndexByte(raw[1:], '"') == n-1 && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1:n]), nil
	}
	r := newReader(raw)
	text := r.scalar(S, r.next())
	return text, r.err()
}

// ParseTruth reads a truth value of a request from the wire; errors as of ParseItem.
func ParseTruth(raw []byte) (bool, error) {
	r := newReader(raw)
	truth := r.boolean(r.next())
	return truth, r.err()
}

// scalar reads an S, N or B, as Value has it in text.
func (r *reader) scalar(kind Type, t token) string {
	if t.kind != jsonscan.String {
		if kind == B {
			r.notBytes(t)
		} else {
			r.notJava(t, "String")
		}
		return ""
	}
	text := r.unquote(t)
	switch kind {
	case N:
		n, err := ParseNumber(text)
		if err != nil {
			r.refuse(err)
		}
		return string(n)
	case B:
		return r.bytes(text)
	}
	return text
}

// boolean reads a truth value.
func (r *reader) boolean(t token) bool {
	switch t.kind {
	case jsonscan.True, jsonscan.False:
		return t.kind == jsonscan.True
	case jsonscan.String:
		r.stop("Unexpected token received from parser")
	default:
		r.notJava(t, "Boolean")
	}
	return false
}

// notJava ends the pass at a token that is not of one of Java's classes.
func (r *reader) notJava(t token, class string) {
	found := "NULL_VALUE"
	switch t.kind {
	case jsonscan.Array:
		r.stop("Unrecognized collection type class java.lang.%s", class)
		return
	case jsonscan.Object:
		r.stop(foundMap)
		return
	case jsonscan.True:
		found = "TRUE_VALUE"
	case jsonscan.False:
		found = "FALSE_VALUE"
	case jsonscan.Number:
		found = "NUMBER_VALUE"
		if bytes.ContainsAny(r.raw[t.start:t.end], ".eE") {
			found = "DECIMAL_VALUE"
		}
	}
	r.stop("%s cannot be converted to %s", found, class)
}

func (r *reader) notBytes(t token) {
	switch t.kind {
	case jsonscan.Array:
		r.stop("Unrecognized collection type class java.nio.ByteBuffer")
	case jsonscan.Object:
		r.stop(foundMap)
	default:
		r.stop("only base-64-encoded strings are convertible to bytes")
	}
}

// strictBase64 takes each sequence of bytes in one way only.
var strictBase64 = base64.StdEncoding.Strict()

// base64Group is the number of characters that stand for three bytes.
const base64Group = 4

// bytes decodes the text of a B.
func (r *reader) bytes(text string) string {
	if len(text)%base64Group != 0 {
		r.stop("Base64 encoded length is expected a multiple of 4 bytes but found: %d", len(text))
		return ""
	}
	decoded, err := decodeBase64(text)
	if err == nil {
		return decoded
	}
	if i := strings.IndexFunc(text, notBase64); i >= 0 {
		r.stop("Invalid Base64 character: '%s'", strings.ToValidUTF8(text[i:i+1], "?"))
	} else {
		r.stop("Invalid last non-pad Base64 character dectected") // as AWS spells it
	}
	return ""
}

// decodeBase64 decodes padded base64 without anything else in it: the decoder itself
// passes over ends of lines.
func decodeBase64(text string) (string, error) {
	decoded := make([]byte, strictBase64.DecodedLen(len(text)))
	n, err := strictBase64.Decode(decoded, []byte(text))
	if err == nil && base64.StdEncoding.EncodedLen(n) != len(text) {
		err = base64.CorruptInputError(0)
	}
	return string(decoded[:n]), err
}

func notBase64(c rune) bool {
	return c > 'z' || !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=", c)
}
