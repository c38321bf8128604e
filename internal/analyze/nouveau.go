package analyze

import (
	"encoding/json"
	"errors"
	"sync"

	"github.com/blevesearch/bleve/v2/analysis"
)

// The analyzers of Nouveau are those of a later Lucene: names without options, one of
// them without stop words that had some, and one misspelled.

// UnknownError is of a name that no analyzer of Nouveau's has; errors.Is takes it for
// ErrUnknown.
type UnknownError struct{ Name string }

// Error has Nouveau's words.
func (e *UnknownError) Error() string { return e.Name + " is not a valid analyzer name" }

// Is is for errors.Is.
func (e *UnknownError) Is(target error) bool { return target == ErrUnknown }

// NouveauDefinition is how an index of Nouveau's names its analyzers.
type NouveauDefinition struct {
	Default json.RawMessage            `json:"default_analyzer,omitempty"`
	Fields  map[string]json.RawMessage `json:"field_analyzers,omitempty"`
}

var (
	errDefaultAnalyzer = errors.New("default_analyzer must be the name of an analyzer")
	errFieldAnalyzers  = errors.New("field_analyzers must be an object of names of analyzers")
)

// Nouveau makes the analyzers of a definition (JSON, a NouveauDefinition): the default is
// "standard". The error is an *UnknownError, or says what is wrong.
func Nouveau(definition []byte) (*Analyzers, error) {
	d := NouveauDefinition{}
	if len(definition) > 0 && json.Unmarshal(definition, &d) != nil {
		return nil, errFieldAnalyzers
	}
	name := "standard"
	if d.Default != nil && json.Unmarshal(d.Default, &name) != nil {
		return nil, errDefaultAnalyzer
	}
	rest, err := NouveauNamed(name)
	if err != nil || len(d.Fields) == 0 {
		return rest, err
	}
	a := &Analyzers{rest: rest, fields: map[string]*Analyzers{}}
	for field, of := range d.Fields {
		name := ""
		if json.Unmarshal(of, &name) != nil || string(of) == "null" {
			return nil, errFieldAnalyzers
		}
		if a.fields[field], err = NouveauNamed(name); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// NouveauNamed makes an analyzer of Nouveau's, for all fields.
func NouveauNamed(name string) (*Analyzers, error) {
	switch name {
	case "standard":
		return &Analyzers{one: wordsOnly()}, nil
	case "portugese": // so Nouveau has it
		name = "portuguese"
	case "brazilian", "greek":
		return nil, &UnknownError{name}
	}
	of, ok := byName[name]
	if !ok {
		return nil, &UnknownError{name}
	}
	return &Analyzers{one: of.own()}, nil
}

// wordsOnly is "standard" as Lucene has it since its version 8: there are no stop words.
var wordsOnly = sync.OnceValue(func() analysis.Analyzer { return chain(words{}, lower) })
