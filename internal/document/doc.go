// Package document owns what a document is, apart from where it is kept: ids
// and partitions, revisions and the hash that makes them, the tree that a
// document's revisions form, edits, and the JSON text of a body.
//
// It promises that everything here is a pure function of its arguments. Two
// machines that are given the same edit of the same parent make the same
// revision, and trees that were merged from the same paths in any order are
// equal, byte for byte, once encoded. What ParseID, ParseRev and Split have
// let through is valid wherever it is used.
//
// It must not know of keys, rows, transactions, HTTP or clocks: the store
// decides what is read and written, the faces decide what it looks like.
//
// Begin reading at Edit, which is what a face hands to the store; then Tree,
// whose comment explains the part that is hard. docs/formats/tree.md draws the
// bytes.
package document
