package analyze

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/blevesearch/bleve/v2/analysis"
)

// Analyzers says for each field of an index how its texts become terms. It may be used
// by many at the same time.
type Analyzers struct {
	one    analysis.Analyzer // for all fields; nil if there is a rest
	rest   *Analyzers        // for fields not named
	fields map[string]*Analyzers
}

// ErrUnknown is of definitions that name no analyzer there is.
var ErrUnknown = errors.New("no_such_analyzer")

// deepest is how far analyzers per field may be nested.
const deepest = 5

// New makes the analyzers of a definition: JSON, the name of an analyzer or an object
// {"name", "stopwords"} or {"name": "perfield", "default", "fields"}. Nothing, or null,
// means "standard". The error is ErrUnknown, or says what is wrong with the definition.
//
// Within "perfield", what is no analyzer counts as the default, as in Clouseau.
func New(definition []byte) (*Analyzers, error) {
	if len(definition) == 0 || string(definition) == "null" {
		definition = []byte(`"standard"`)
	}
	return made(definition, deepest)
}

// options are an analyzer's definition as an object.
type options struct {
	Name      string                     `json:"name"`
	Stopwords json.RawMessage            `json:"stopwords"`
	Default   json.RawMessage            `json:"default"`
	Fields    map[string]json.RawMessage `json:"fields"`
}

func made(definition []byte, depth int) (*Analyzers, error) {
	var o options
	if json.Unmarshal(definition, &o.Name) != nil {
		o = options{}
		if err := json.Unmarshal(definition, &o); err != nil {
			return nil, errors.New("an analyzer must be a name or an object with one")
		}
	}
	if o.Name == "perfield" {
		return perField(o, depth)
	}
	analyzer, ok := byName[o.Name]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrUnknown, o.Name)
	}
	var stop []string
	if json.Unmarshal(o.Stopwords, &stop) != nil || stop == nil {
		return &Analyzers{one: analyzer.own()}, nil
	}
	words := map[string]bool{}
	for _, w := range stop {
		words[w] = true
	}
	return &Analyzers{one: analyzer.build(words)}, nil
}

func perField(o options, depth int) (*Analyzers, error) {
	if depth == 0 {
		return nil, fmt.Errorf("analyzers per field are nested more than %d deep", deepest)
	}
	standard, err := New(nil)
	if err != nil {
		return nil, err
	}
	a := &Analyzers{rest: standard, fields: map[string]*Analyzers{}}
	if o.Default != nil {
		if a.rest, err = orElse(o.Default, standard, depth); err != nil {
			return nil, err
		}
	}
	for name, definition := range o.Fields {
		if a.fields[name], err = orElse(definition, a.rest, depth); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// orElse is what a definition says, or something else if there is no such analyzer.
func orElse(definition []byte, otherwise *Analyzers, depth int) (*Analyzers, error) {
	a, err := made(definition, depth-1)
	if errors.Is(err, ErrUnknown) {
		return otherwise, nil
	}
	return a, err
}

// For returns the analyzer of a field. Those of _id and _partition, which are ids, are
// never cut.
func (a *Analyzers) For(field string) analysis.Analyzer {
	if field == "_id" || field == "_partition" {
		return byName["keyword"].own()
	}
	for a.one == nil {
		if named := a.fields[field]; named != nil {
			a = named
		} else {
			a = a.rest
		}
	}
	return a.one
}

// Terms returns the terms of a text in the order in which they occur in it: what
// _search_analyze answers, for a field without a name.
func (a *Analyzers) Terms(text string) []string {
	terms := []string{}
	for _, t := range a.For("").Analyze([]byte(text)) {
		terms = append(terms, string(t.Term))
	}
	return terms
}
