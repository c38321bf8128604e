package textjs

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/jsonscan"
)

// nouveauField makes a field of one call of index as Nouveau has it: index(type, name,
// value, options). What Nouveau throws for leaves its document out.
func nouveauField(r index.Emitted) (x text.Indexed, err error) {
	if err := nouveauText("type", r.Key); err != nil {
		return x, err
	}
	if err := nouveauText("name", r.Value); err != nil {
		return x, err
	}
	if x.Name = string(jsonscan.Text(nil, r.Value)); strings.HasPrefix(x.Name, "_") {
		return x, fmt.Errorf("ReservedName: name must not start with an underscore")
	}
	of := string(jsonscan.Text(nil, r.Key))
	given := kind(r.More)
	x.Boost, x.Index = 1, true
	switch {
	case of == "double":
		err = nouveauType("value", "number", given)
		x.Facet = true
	case of == "string":
		err = nouveauType("value", "string", given)
		x.Whole, x.Facet, x.Measured = true, true, true
	case of == "text":
		err = nouveauType("value", "string", given)
		x.Measured = true
	case of == "stored":
		if given != "string" && given != "number" {
			err = fmt.Errorf("TypeError: type of %s must be a string or number", r.More)
		}
		x.Index, x.Store = false, true
	default:
		err = fmt.Errorf("TypeError: %s not supported", of)
	}
	if err != nil {
		return x, err
	}
	if of != "stored" {
		x.Store = storing(r.Rest)
	}
	return x, json.Unmarshal(r.More, &x.Value)
}

func nouveauText(what string, v []byte) error { return nouveauType(what, "string", kind(v)) }

func nouveauType(what, expected, given string) error {
	if given != expected {
		return fmt.Errorf("TypeError: type of %s must be a %s not %s", what, expected, given)
	}
	return nil
}

// storing reads the option store, the only one that there is.
func storing(options []byte) bool {
	if jsonscan.KindOf(options) != jsonscan.Object {
		return false
	}
	v, _ := jsonscan.Member(options, "store")
	return jsonscan.KindOf(v) == jsonscan.True
}

// oneType refuses a document in which a field of Nouveau's has two types, as Nouveau
// refuses the whole index then.
func oneType(fields []text.Indexed) error {
	types := map[string]string{}
	for i := range fields {
		f := &fields[i]
		if !f.Index {
			continue
		}
		of := "DOUBLE"
		switch {
		case f.Measured && f.Whole:
			of = "STRING"
		case f.Measured:
			of = "TEXT"
		}
		if was, ok := types[f.Name]; ok && was != of {
			return fmt.Errorf("field %s is of type %s not %s", f.Name, was, of)
		}
		types[f.Name] = of
	}
	return nil
}
