// Package attribute owns the values of DynamoDB's items: the ten types, numbers of 38
// decimal digits, equality and order, the sizes that limits are about, the JSON in
// which the DynamoDB API sends them ("wire"), and the lossless mapping of items to the
// bodies of documents and back.
//
// It is pure: bytes and values in, bytes and values out. It knows nothing of tables,
// keys or requests. Values and items never change once they are made, so they may be
// shared; what changes an item returns another.
//
// JSON that comes in has been validated before, by jsonscan.Compact: names of an
// object are distinct, strings are UTF-8. On other text results mean nothing, but no
// function panics or runs for ever.
//
// Errors have the code that AWS gives, ValidationException or SerializationException,
// and AWS's text. The texts are those of DynamoDB Local's table of errors, of the
// tests of dynalite and of Scylla's Alternator, which are run against AWS too, and of
// a conformance suite's recordings of AWS (nubo-db/dynamodb-conformance). Where these
// disagree the newest is followed.
//
// Begin reading at Value and Item; then read.go (wire) and body.go (documents).
package attribute
