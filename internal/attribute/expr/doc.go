// Package expr owns the expressions of the DynamoDB API: condition, filter, key
// condition, projection and update expressions with the names and values that stand
// for others in them, and the older parameters that say the same (Expected,
// QueryFilter, ScanFilter, KeyConditions, AttributeUpdates, AttributesToGet), which
// become the same trees. It parses, checks with AWS's errors, and evaluates over
// items.
//
// It is pure and knows nothing of tables: key attributes are named by the caller. A
// text has at most 4 KB and 300 operators, so that the cost of evaluating it is
// bounded by the item.
//
// The order in which AWS finds mistakes is part of what clients see, so it is kept:
// syntax, then names of attributes and functions in the order of the text, then
// placeholders and types. Where the texts come from is said in the package attribute
// and at the tests.
//
// Statements of PartiQL make their trees themselves, by build.go; what becomes of those
// is the same.
//
// Begin reading at Placeholders, then parse.go, check.go and resolve.go for how a
// text becomes a tree, condition.go and apply.go for what is done with it.
package expr
