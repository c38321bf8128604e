// Package lucene parses the query language of full-text search: the classic syntax
// of Lucene 4.6 with the changes that Clouseau, Cloudant's search server, makes to it.
// It owns the tokens, the grammar, the rules by which AND and OR change their
// neighbours, and what an escape means where. It promises that a query has the same
// tree here as there, that work and depth are bounded by the size of the query, and
// that what is not a query is an error that names the place.
//
// It is pure: it knows neither analyzers nor indexes. What an analyzer makes of a
// term is asked with Options.Dropped, because a term of which nothing is left changes
// what AND refers to.
//
// Begin reading at Parse; the types of the tree are in tree.go.
package lucene
