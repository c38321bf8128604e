package script

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// json returns a value as JSON text, as JSON.stringify would; what has no JSON form is null, and halves of surrogate pairs
// become U+FFFD. It may throw.
func (r *realm) json(v goja.Value) []byte {
	switch {
	case v == nil || goja.IsUndefined(v) || goja.IsNull(v):
		return []byte("null")
	case goja.IsNumber(v):
		return number(v)
	}
	if _, composite := v.(*goja.Object); !composite {
		if b, ok := v.Export().(bool); ok {
			return strconv.AppendBool(nil, b)
		}
	}
	text := r.must(r.call(r.builtins.stringify, v))
	if goja.IsUndefined(text) {
		return []byte("null")
	}
	return whole([]byte(text.String()))
}

// number writes a number as JavaScript does.
func number(v goja.Value) []byte {
	if n, ok := v.Export().(int64); ok {
		return strconv.AppendInt(nil, n, 10)
	}
	text := v.String()
	if strings.ContainsAny(text, "IN") { // Infinity, NaN
		return []byte("null")
	}
	return []byte(text)
}

// whole replaces the escapes of halves of surrogate pairs, which JSON.stringify writes and UTF-8 can't hold.
func whole(b []byte) []byte {
	if !bytes.Contains(b, []byte(`\ud`)) {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] != '\\':
			out = append(out, b[i])
		case bytes.HasPrefix(b[i:], []byte(`\ud`)):
			out = append(out, "\ufffd"...)
			i += 5
		default:
			out = append(out, b[i], b[i+1])
			i++
		}
	}
	return out
}
