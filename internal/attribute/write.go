package attribute

import (
	"encoding/base64"

	"github.com/sectional/sectional/internal/jsonscan"
)

// AppendItem appends an item as it is on the wire: {"id":{"S":"1"}}.
func AppendItem(dst []byte, i Item) []byte {
	dst = append(dst, '{')
	for n, a := range i.attributes {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendQuoted(dst, a.Name), ':')
		dst = AppendValue(dst, a.Value)
	}
	return append(dst, '}')
}

// AppendValue appends a value as it is on the wire: {"S":"1"}.
func AppendValue(dst []byte, v Value) []byte {
	dst = append(append(append(dst, `{"`...), v.kind.String()...), `":`...)
	switch v.kind {
	case BOOL:
		if v.Truth() {
			dst = append(dst, "true"...)
		} else {
			dst = append(dst, "false"...)
		}
	case M:
		dst = AppendItem(dst, v.Map())
	case L:
		dst = append(dst, '[')
		for n, e := range v.List() {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = AppendValue(dst, e)
		}
		dst = append(dst, ']')
	case SS, NS, BS:
		dst = append(dst, '[')
		for n, e := range v.Set() {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = appendScalar(dst, v.kind.Element(), e)
		}
		dst = append(dst, ']')
	case S, N, B:
		dst = appendScalar(dst, v.kind, v.text)
	default: // NULL
		dst = append(dst, "true"...)
	}
	return append(dst, '}')
}

// appendScalar appends the string of an S, N or B.
func appendScalar(dst []byte, kind Type, text string) []byte {
	switch kind {
	case N:
		return append(append(append(dst, '"'), text...), '"')
	case B:
		return appendBase64(dst, text)
	}
	return jsonscan.AppendQuoted(dst, text)
}

func appendBase64(dst []byte, bytes string) []byte {
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), []byte(bytes)), '"')
}
