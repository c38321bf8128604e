package attribute

import "github.com/sectional/sectional/internal/jsonscan"

// Items are documents. The body of one has a member for each attribute:
//
//	S     string               "x"
//	N     number               12.5, in its normal form
//	BOOL  true or false
//	NULL  null
//	L     array                [ … ]
//	M     object               { … }
//	B     object of one member {"$b":"AQI="}, base64
//	SS    object of one member {"$ss":["a","b"]}, sorted as all sets
//	NS    object of one member {"$ns":[1,2]}
//	BS    object of one member {"$bs":["AQ==","Ag=="]}
//
// A name that begins with '$' gets one more before it, at every level; at the top,
// where CouchDB keeps names that begin with '_' for itself, these get a '$' too. So a
// name with exactly one '$' before it is one of the four above, or one with '_' at the
// top, or it does not fit.
//
// The other way, a document whose body fits is an item: numbers become normal, sets
// sorted, all else stays. What is not an item's: names that are empty or have a '$' as
// they may not, numbers that DynamoDB does not have, arrays and objects deeper than
// MaxDepth, an empty set or one with a duplicate.

// escape is before names that would mean something else without it.
const escape = '$'

// names of the members of objects that stand for values
const (
	BinaryMember = "$b"
	nameSS       = "$ss"
	nameNS       = "$ns"
	nameBS       = "$bs"
)

// AppendBody appends the body of the document that an item is.
func AppendBody(dst []byte, i Item) []byte { return appendObject(dst, i, true) }

func appendObject(dst []byte, i Item, top bool) []byte {
	dst = append(dst, '{')
	for n, a := range i.attributes {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendName(dst, a.Name, top), ':')
		dst = appendBodyValue(dst, a.Value)
	}
	return append(dst, '}')
}

// Member returns the member of a document that an attribute of an item is.
func Member(attribute string) string {
	if escapes(attribute, true) {
		return string(escape) + attribute
	}
	return attribute
}

// escapes reports whether a name has the escape before it in a document, at the top or below.
func escapes(name string, top bool) bool {
	return name != "" && (name[0] == escape || top && name[0] == '_')
}

// appendName appends the name of a member.
func appendName(dst []byte, name string, top bool) []byte {
	at := len(dst)
	dst = jsonscan.AppendQuoted(dst, name)
	if escapes(name, top) {
		dst = append(dst, 0)
		copy(dst[at+2:], dst[at+1:])
		dst[at+1] = escape
	}
	return dst
}

func appendBodyValue(dst []byte, v Value) []byte {
	switch v.kind {
	case S:
		return jsonscan.AppendQuoted(dst, v.text)
	case N:
		return append(dst, v.text...)
	case BOOL:
		if v.Truth() {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case M:
		return appendObject(dst, v.Map(), false)
	case L:
		dst = append(dst, '[')
		for n, e := range v.List() {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = appendBodyValue(dst, e)
		}
		return append(dst, ']')
	case B:
		return append(appendBase64(append(dst, `{"`+BinaryMember+`":`...), v.text), '}')
	case SS:
		return appendBodySet(append(dst, `{"`+nameSS+`":[`...), v)
	case NS:
		return appendBodySet(append(dst, `{"`+nameNS+`":[`...), v)
	case BS:
		return appendBodySet(append(dst, `{"`+nameBS+`":[`...), v)
	}
	return append(dst, "null"...)
}

// appendBodySet appends the elements of a set and closes what has been opened.
func appendBodySet(dst []byte, v Value) []byte {
	for n, e := range v.Set() {
		if n > 0 {
			dst = append(dst, ',')
		}
		if v.kind == NS {
			dst = append(dst, e...)
		} else {
			dst = appendScalar(dst, v.kind.Element(), e)
		}
	}
	return append(dst, "]}"...)
}
