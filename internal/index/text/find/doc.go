// Package find answers full-text queries: it turns a parsed query into matchers
// over the postings of an index, scores as Lucene 4.6 does, and gathers what was
// found: sorted, counted, grouped, marked.
//
// It owns what a query means once it is parsed (package lucene) and what an answer
// is made of. It knows neither how an index is stored (package segment) nor the
// wire. A query is bounded by its context, by the clauses and terms that it may
// expand to, and by the rows that it may return; what it holds beside is a number of
// bits for each document.
//
// Begin with Run (run.go). compile.go makes a tree of nodes from a parsed query;
// node.go says what a node is; nearest.go finds vectors; collect.go gathers.
package find
