package script

import (
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// decoder turns JSON text into values of a realm, as JSON.parse would, a good deal faster, and frozen where asked.
type decoder struct {
	r    *realm
	text string
	i    int
	how  freezing
}

// freezing says whether objects can be changed.
type freezing byte

const (
	thawed      freezing = iota // ordinary objects
	frozen                      // members are made read-only as they are read: the fast way
	frozenAfter                 // objects are frozen when they are complete: for objects that have a member twice
)

const deepest = 5000 // of arrays and objects within each other

var (
	errJSON  = errors.New("not JSON")
	errTwice = errors.New("a member stands twice")
)

// decode reads a whole JSON text.
func (r *realm) decode(text []byte, how freezing) (goja.Value, error) {
	d := decoder{r: r, text: string(text), how: how}
	v, err := d.whole()
	if errors.Is(err, errTwice) {
		d.i, d.how = 0, frozenAfter
		v, err = d.whole()
	}
	return v, err
}

func (d *decoder) whole() (goja.Value, error) {
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if d.space(); d.i != len(d.text) {
		return nil, errJSON
	}
	return v, nil
}

func (d *decoder) space() {
	for d.i < len(d.text) {
		switch d.text[d.i] {
		case ' ', '\t', '\n', '\r':
			d.i++
		default:
			return
		}
	}
}

// next returns the next byte that is no white space; 0 at the end.
func (d *decoder) next() byte {
	d.space()
	if d.i == len(d.text) {
		return 0
	}
	return d.text[d.i]
}

func (d *decoder) value(depth int) (goja.Value, error) {
	if depth > deepest {
		return nil, errJSON
	}
	switch c := d.next(); c {
	case '{':
		return d.object(depth)
	case '[':
		return d.array(depth)
	case '"':
		return d.stringValue()
	case 't':
		return d.word("true", d.r.yes)
	case 'f':
		return d.word("false", d.r.no)
	case 'n':
		return d.word("null", goja.Null())
	default:
		return d.number()
	}
}

func (d *decoder) word(word string, v goja.Value) (goja.Value, error) {
	if len(d.text)-d.i < len(word) || d.text[d.i:d.i+len(word)] != word {
		return nil, errJSON
	}
	d.i += len(word)
	return v, nil
}

func (d *decoder) number() (goja.Value, error) {
	start, integer := d.i, true
	for d.i < len(d.text) {
		switch c := d.text[d.i]; {
		case '0' <= c && c <= '9' || c == '-':
		case c == '.' || c == 'e' || c == 'E' || c == '+':
			integer = false
		default:
			goto end
		}
		d.i++
	}
end:
	text := d.text[start:d.i]
	if integer && len(text) < 16 && text != "-0" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, errJSON
		}
		return d.r.rt.ToValue(n), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // beyond the range it is ±Infinity, as in JavaScript
		return nil, errJSON
	}
	return d.r.rt.ToValue(f), nil
}

// raw returns the text between the quotes of the string at hand, and whether there are escapes in it.
func (d *decoder) raw() (text string, escaped bool, err error) {
	start := d.i + 1
	for i := start; i < len(d.text); i++ {
		switch d.text[i] {
		case '"':
			d.i = i + 1
			return d.text[start:i], escaped, nil
		case '\\':
			escaped = true
			i++
		}
	}
	return "", false, errJSON
}

func (d *decoder) stringValue() (goja.Value, error) {
	text, escaped, err := d.raw()
	if err != nil {
		return nil, err
	}
	if !escaped {
		return d.r.rt.ToValue(text), nil
	}
	units, err := unescape(text)
	if err != nil {
		return nil, err
	}
	return goja.StringFromUTF16(units), nil
}

func (d *decoder) name() (string, error) {
	if d.next() != '"' {
		return "", errJSON
	}
	text, escaped, err := d.raw()
	if err != nil || !escaped {
		return text, err
	}
	units, err := unescape(text)
	return string(utf16.Decode(units)), err
}

// unescape returns the UTF-16 of a string with escapes, which may name halves of surrogate pairs.
func unescape(text string) (units []uint16, err error) {
	const plain, meant = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			c, n := utf8.DecodeRuneInString(text[i:])
			units = utf16.AppendRune(units, c)
			i += n
			continue
		}
		if i+1 == len(text) {
			return nil, errJSON
		}
		if text[i+1] == 'u' {
			if i+6 > len(text) {
				return nil, errJSON
			}
			n, err := strconv.ParseUint(text[i+2:i+6], 16, 16)
			if err != nil {
				return nil, errJSON
			}
			units = append(units, uint16(n))
			i += 6
			continue
		}
		at := -1
		for j := range len(plain) {
			if plain[j] == text[i+1] {
				at = j
			}
		}
		if at < 0 {
			return nil, errJSON
		}
		units = append(units, uint16(meant[at]))
		i += 2
	}
	return units, nil
}

// each reads what lies between an opening bracket, which comes next, and its end, with commas between one and the next.
func (d *decoder) each(end byte, one func() error) error {
	d.i++
	for first := true; d.next() != end; first = false {
		if !first {
			if d.next() != ',' {
				return errJSON
			}
			d.i++
		}
		if err := one(); err != nil {
			return err
		}
	}
	d.i++
	return nil
}

func (d *decoder) object(depth int) (goja.Value, error) {
	o := d.r.rt.NewObject()
	changeable := goja.FLAG_TRUE
	if d.how == frozen {
		changeable = goja.FLAG_FALSE
	}
	err := d.each('}', func() error {
		name, err := d.name()
		if err != nil {
			return err
		}
		if d.next() != ':' {
			return errJSON
		}
		d.i++
		v, err := d.value(depth + 1)
		if err == nil && o.DefineDataProperty(name, v, changeable, changeable, goja.FLAG_TRUE) != nil {
			err = errTwice
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	switch d.how {
	case frozen:
		return d.r.call(d.r.builtins.prevent, o)
	case frozenAfter:
		return d.r.call(d.r.builtins.freeze, o)
	}
	return o, nil
}

func (d *decoder) array(depth int) (goja.Value, error) {
	var items []any
	err := d.each(']', func() error {
		v, err := d.value(depth + 1)
		items = append(items, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	a := d.r.rt.NewArray(items...)
	if d.how != thawed {
		return d.r.call(d.r.builtins.freeze, a)
	}
	return a, nil
}
