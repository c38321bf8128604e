package mango

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/selector"
)

// Value is a value of a field of the index.
type Value struct {
	Name  string
	Value any // a string, a float64, a bool
}

// Words reports whether a value is a text whose words are found, not the text itself.
func (v Value) Words() bool { return v.Name == textField }

// maxScan bounds what the filter of an index may cost for one document.
const maxScan = 1 << 22

// Values returns what a document is in the index: nothing if the filter leaves it out.
// doc is its JSON with _id and _rev.
func (d *Def) Values(id string, doc []byte) (values []Value, err error) {
	if d.Partial != nil {
		matches, err := d.Partial.Match(&selector.Doc{ID: id, Body: doc}, selector.NewBudget(context.Background(), maxScan))
		if !matches || err != nil {
			return nil, err
		}
	}
	c := &collector{def: d, seen: map[string]bool{}}
	c.object(nil, doc)
	return append(c.names, c.values...), nil
}

// collector gathers the values of a document.
type collector struct {
	def           *Def
	names, values []Value
	seen          map[string]bool
}

func (c *collector) object(path []string, v []byte) {
	n := 0
	for m := jsonscan.MembersOf(v); ; n++ {
		name, value, ok := m.Next()
		if !ok {
			break
		}
		if text := string(jsonscan.Text(nil, name)); len(path) > 0 || !isReserved(text) {
			c.value(append(slices.Clip(path), text), value)
		}
	}
	if n == 0 && c.def.All && len(path) > 0 {
		c.name(nameOf(path, typeObject))
	}
}

// isReserved reports whether a member at the top of documents is none of their content,
// and so of no index: attachments, and conflicts, which come and go by themselves.
func isReserved(name string) bool {
	return strings.HasPrefix(name, "_") && name != "_id" && name != "_rev"
}

func (c *collector) array(path []string, v []byte) {
	path = append(slices.Clip(path), elements)
	switch length := nameOf(path, typeLength); {
	case c.def.Lengths:
		c.add(length, float64(jsonscan.Len(v)))
	case c.def.All:
		c.name(length) // that there is an array, if nothing more
	}
	for it := jsonscan.ElementsOf(v); ; {
		e, ok := it.Next()
		if !ok {
			return
		}
		c.value(path, e)
	}
}

// value adds a value of any type.
func (c *collector) value(path []string, v []byte) {
	typed := func(typ string, value any) {
		name := nameOf(path, typ)
		if !c.def.indexes(name) {
			return
		}
		text, is := value.(string)
		if is && len(text) > maxTerm {
			value = text[:maxTerm] // the begin of it can be found
		}
		c.add(name, value)
		if is && c.def.Default {
			c.values = append(c.values, Value{textField, text})
		}
	}
	switch jsonscan.KindOf(v) {
	case jsonscan.Object:
		c.object(path, v)
	case jsonscan.Array:
		c.array(path, v)
	case jsonscan.String:
		typed(typeString, string(jsonscan.Text(nil, v)))
	case jsonscan.Number:
		n, _ := strconv.ParseFloat(string(jsonscan.Trim(v)), 64)
		typed(typeNumber, n)
	case jsonscan.True, jsonscan.False:
		typed(typeBoolean, jsonscan.KindOf(v) == jsonscan.True)
	case jsonscan.Null:
		typed(typeNull, true)
	}
}

func (c *collector) add(name string, value any) {
	c.name(name)
	c.values = append(c.values, Value{name, value})
}

// name notes that the document has a field.
func (c *collector) name(name string) {
	if !c.seen[name] {
		c.seen[name] = true
		c.names = append(c.names, Value{namesField, name})
	}
}
