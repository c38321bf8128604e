// Package compiled turns simple map functions of design documents, written in
// JavaScript, into Go closures that read the raw JSON of a document. It owns
// the question whether that may be done: a compiled function gives the rows the
// interpreter would give, byte for byte, and throws where it would throw, or
// else it is not compiled at all (Compile says why) or hands a single document
// over to the interpreter (ErrInterpret).
//
// Two rules keep that promise simple. Strings are always valid UTF-8, measured
// and ordered in UTF-16 code units; what would cut a surrogate pair in two goes
// to the interpreter. And whatever could be seen at two moments with two
// results, such as an array changed after it was emitted, goes there too.
// A budget for work and memory bounds every run, so that a function may be run
// within the server itself: a loop without end becomes a matter of the
// interpreter, whose process can be killed.
//
// It knows nothing of design documents, indexes or the interpreter. A function
// is compiled as if nothing else had run in its realm. Begin reading at Compile
// and Machine.Run; values are in value.go, documents are read in raw.go.
package compiled
