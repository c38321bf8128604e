// Package textjs runs the index functions of full-text search, as package mapjs runs
// functions: it owns what a call of index may say.
//
// Begin reading at Functions, which is what the package text asks for.
package textjs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/mapjs"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/jsonscan"
)

// Functions implements text.Functions over a runner of functions.
type Functions struct{ runner *mapjs.Runner }

var _ text.Functions = (*Functions)(nil)

// New makes Functions.
func New(runner *mapjs.Runner) *Functions { return &Functions{runner} }

// Index is text.Functions's. A call of index that CouchDB throws for leaves its document
// out, as there.
func (f *Functions) Index(ctx context.Context, s text.Script, docs [][]byte) ([]text.Result, error) {
	all, err := f.runner.Run(ctx, mapjs.Function{FunctionScope: s.FunctionScope, Lib: s.Lib, Source: s.Def.Index, Emits: "index"}, docs)
	if err != nil {
		return nil, err
	}
	read := field
	if s.Nouveau {
		read = nouveauField
	}
	results := make([]text.Result, len(all))
	for i, r := range all {
		results[i] = text.Result{Err: r.Err, Stopped: r.Stopped}
		if r.Err == nil {
			results[i].Fields, results[i].Err = indexed(r.Rows, read)
			if s.Nouveau && results[i].Err == nil {
				results[i].Err = oneType(results[i].Fields)
			}
		}
	}
	return results, nil
}

// indexed makes fields of the calls of one document.
func indexed(rows []index.Emitted, read func(index.Emitted) (text.Indexed, error)) ([]text.Indexed, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	fields := make([]text.Indexed, 0, len(rows))
	for _, r := range rows {
		x, err := read(r)
		if err != nil {
			return nil, err
		}
		fields = append(fields, x)
	}
	return fields, once(fields)
}

// field makes a field of one call.
func field(r index.Emitted) (x text.Indexed, err error) {
	if jsonscan.KindOf(r.Key) != jsonscan.String {
		return x, fmt.Errorf("TypeError: name must be a string not %s", kind(r.Key))
	}
	x.Name = string(jsonscan.Text(nil, r.Key))
	if strings.HasPrefix(x.Name, "_") {
		return x, fmt.Errorf("ReservedName: name must not start with an underscore")
	}
	given, err := optionsOf(r.More)
	if err != nil {
		return x, err
	}
	if named(given["type"], "vector") {
		return x, vector(&x, r.Value, given)
	}
	switch jsonscan.KindOf(r.Value) {
	case jsonscan.String:
		x.Value = string(jsonscan.Text(nil, r.Value))
	case jsonscan.Number, jsonscan.False, jsonscan.True:
		err = json.Unmarshal(r.Value, &x.Value)
	default:
		err = fmt.Errorf("TypeError: value must be a string, a number or boolean not %s", kind(r.Value))
	}
	options(&x, given)
	return x, err
}

// kind is what JavaScript calls the type of a value.
func kind(value []byte) string {
	switch jsonscan.KindOf(value) {
	case jsonscan.String:
		return "string"
	case jsonscan.Number:
		return "number"
	case jsonscan.False, jsonscan.True:
		return "boolean"
	case jsonscan.Null:
		return "undefined"
	}
	return "object"
}

// optionsOf reads the third argument; nil if there are none.
func optionsOf(more []byte) (given map[string]any, err error) {
	switch jsonscan.KindOf(more) {
	case jsonscan.Object:
		return given, json.Unmarshal(more, &given)
	case jsonscan.String, jsonscan.Number, jsonscan.False, jsonscan.True:
		if s := string(more); s != `""` && s != "0" && s != "false" {
			return nil, fmt.Errorf("TypeError: options must be an object not %s", kind(more))
		}
	}
	return nil, nil
}

// options takes the options of a text, a number or a boolean. What has no meaning there
// has none here.
func options(x *text.Indexed, given map[string]any) {
	x.Boost = 1
	if b, ok := given["boost"].(float64); ok {
		x.Boost = b
	}
	x.Facet = given["facet"] == true
	x.Store = given["store"] == true || named(given["store"], "yes")
	x.Index = given["index"] != false && !named(given["index"], "no")
	x.Whole = named(given["index"], "not_analyzed")
}

// named reports whether an option is a word, which older clients send.
func named(option any, word string) bool {
	s, ok := option.(string)
	return ok && strings.EqualFold(s, word)
}
