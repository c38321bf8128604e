package keyspace

import (
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// CollationVersion names the order and the form of AppendCollated's bytes.
// Whoever stores such bytes stores the version beside them (an index does so
// in its definition row): bytes of different versions must never meet in one
// range, so a change of the string order or of a tag raises it.
//
//	1  the tables of CLDR 23
//	2  ICU 76.1: CLDR 46, Unicode 16
const CollationVersion = 2

// A collated value begins with a tag. Tags ascend in CouchDB's order of types.
// They are never 0, which ends arrays and objects and so comes before every
// further element, and never 0xFF, which a range may use as "above all".
const (
	tagEnd      = 0x00
	tagNull     = 0x10
	tagFalse    = 0x11
	tagTrue     = 0x12
	tagNegative = 0x20
	tagZero     = 0x21
	tagPositive = 0x22
	tagString   = 0x30
	tagArray    = 0x40
	tagObject   = 0x50
)

// In raw order atoms come after numbers and strings after everything, as
// terms do in Erlang. Numbers keep their tags.
const (
	rawTagFalse  = 0x28
	rawTagNull   = 0x29
	rawTagTrue   = 0x2a
	rawTagObject = 0x2c
	rawTagArray  = 0x2d
	rawTagString = 0x2e
)

// order is one of the two orders: its tags and its treatment of strings.
type order struct {
	null, false, true, array, object, string byte

	appendString func(dst, s []byte) []byte
}

var (
	collatedOrder = order{
		null: tagNull, false: tagFalse, true: tagTrue, array: tagArray, object: tagObject, string: tagString,
		appendString: appendCollatedString,
	}
	rawOrder = order{
		null: rawTagNull, false: rawTagFalse, true: rawTagTrue, array: rawTagArray, object: rawTagObject, string: rawTagString,
		appendString: appendEscaped,
	}
)

// AppendCollated appends the JSON value raw in a form whose bytes compare as
// CouchDB orders view keys and Mango values: null, false, true, numbers,
// strings, arrays, objects; numbers by their exact decimal value; strings by
// ICU's root collation; arrays element by element and objects member by member
// in their order (name, then value), the shorter one first.
//
// Values that are equal in this order ("1" written as 1.0, an accented letter
// composed or decomposed) have equal bytes: the value itself can't be read back.
// The form ends itself, so that several values in a row compare as a tuple.
//
// raw must be valid JSON. The only error is that it holds no value at all.
func AppendCollated(dst, raw []byte) ([]byte, error) {
	return collatedOrder.append(dst, raw)
}

// AppendRaw appends the JSON value raw as views with the option collation "raw"
// order their keys: numbers, false, null, true, objects, arrays, strings;
// strings by their bytes. Otherwise it is as AppendCollated.
func AppendRaw(dst, raw []byte) ([]byte, error) {
	return rawOrder.append(dst, raw)
}

// append writes token by token: since a container's parts follow its tag, the
// form of a value is the forms of its tokens in a row.
func (o *order) append(dst, v []byte) ([]byte, error) {
	if kind, _, _ := jsonscan.Token(v, 0); kind == jsonscan.Invalid {
		return dst, dberr.New(dberr.Invalid, "bad_request", "invalid UTF-8 JSON")
	}
	for i := 0; i < len(v); {
		kind, start, end := jsonscan.Token(v, i)
		dst = o.appendToken(dst, kind, v[start:end])
		i = end
	}
	return dst, nil
}

func (o *order) appendToken(dst []byte, kind jsonscan.Kind, token []byte) []byte {
	switch kind {
	case jsonscan.Null:
		return append(dst, o.null)
	case jsonscan.False:
		return append(dst, o.false)
	case jsonscan.True:
		return append(dst, o.true)
	case jsonscan.Number:
		return appendNumber(dst, token)
	case jsonscan.String:
		return o.appendString(append(dst, o.string), jsonscan.Text(nil, token))
	case jsonscan.Array:
		return append(dst, o.array)
	case jsonscan.Object:
		return append(dst, o.object)
	}
	if len(token) > 0 {
		dst = append(dst, tagEnd)
	}
	return dst
}
