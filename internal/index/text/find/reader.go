package find

import (
	"github.com/blevesearch/bleve/v2/analysis"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/lucene"
)

// Analyzers say what the terms of a text are.
type Analyzers interface {
	For(field string) analysis.Analyzer
}

// Parse parses a query whose fields have these analyzers. The error is of
// dberr.Invalid.
func Parse(query string, a Analyzers) (lucene.Node, error) {
	tree, err := lucene.Parse(query, lucene.Options{
		Dropped: func(field, text string) bool { return len(a.For(field).Analyze([]byte(text))) == 0 },
		Exact:   func(field string) bool { return exact(a.For(field)) },
	})
	if err != nil {
		return nil, dberr.New(dberr.Invalid, "bad_request", "%s", err.Error())
	}
	return tree, nil
}

// exact reports whether an analyzer leaves a text as it is, so that case matters.
func exact(a analysis.Analyzer) bool {
	const text = "A b"
	tokens := a.Analyze([]byte(text))
	return len(tokens) == 1 && string(tokens[0].Term) == text
}
