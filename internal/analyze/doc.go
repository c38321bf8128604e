// Package analyze makes the terms of full-text search out of texts. It owns which
// analyzers there are by name, what an index's definition says about them, and what
// each does: what Lucene 4.6 does under Clouseau's names, over bleve's filters and
// stemmers and some of its own: those of endings.go by tables of endings, greek.go, slavic.go,
// iberian.go, indonesian.go. Where less is done than there, docs/DIFFERENCES.md says so.
//
// It knows nothing of indexes or queries.
//
// Begin reading at New; what an analyzer of a language consists of is a line of the
// table in language.go.
package analyze
