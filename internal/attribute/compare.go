package attribute

import (
	"slices"
	"strconv"
	"strings"
)

// compareAs returns the order of texts of values of type S, N or B. Strings have the
// order of their UTF-8 bytes.
func compareAs(t Type) func(a, b string) int {
	if t == N {
		return func(a, b string) int { return Number(a).Compare(Number(b)) }
	}
	return strings.Compare
}

// Compare returns the order of two values, -1, 0 or 1. ok is false if they have none:
// only strings, numbers and bytes do, among themselves.
func Compare(v, w Value) (order int, ok bool) {
	if v.kind != w.kind {
		return 0, false
	}
	switch v.kind {
	case S, B:
		return strings.Compare(v.text, w.text), true
	case N:
		return v.Number().Compare(w.Number()), true
	}
	return 0, false
}

// Equal reports whether two values are the same: of one type, maps whatever the order
// of their attributes.
func Equal(v, w Value) bool {
	if v.kind != w.kind || v.text != w.text || v.Len() != w.Len() {
		return false
	}
	switch v.kind {
	case L:
		return slices.EqualFunc(v.List(), w.List(), Equal)
	case M:
		return EqualItems(v.Map(), w.Map())
	case SS, NS, BS:
		return slices.Equal(v.Set(), w.Set())
	}
	return true
}

// EqualItems reports whether two items have the same attributes, in whatever order.
func EqualItems(i, j Item) bool {
	if i.Len() != j.Len() {
		return false
	}
	for _, a := range i.attributes {
		if v, ok := j.Get(a.Name); !ok || !Equal(a.Value, v) {
			return false
		}
	}
	return true
}

// String returns the value as AWS shows it in errors: {S:text}.
func (v Value) String() string {
	shown := v.text
	switch v.kind {
	case B:
		shown = javaBuffer(v.text)
	case BOOL:
		shown = strconv.FormatBool(v.Truth())
	case NULL:
		shown = "true"
	case M, L, SS, NS, BS:
		shown = string(AppendValue(nil, v))
	}
	return "{" + v.kind.String() + ":" + shown + "}"
}

// javaBuffer is how Java prints bytes.
func javaBuffer(bytes string) string {
	n := strconv.Itoa(len(bytes))
	return "java.nio.HeapByteBuffer[pos=0 lim=" + n + " cap=" + n + "]"
}
