// Package partiql owns the statements of PartiQL that the DynamoDB API knows: SELECT,
// INSERT, UPDATE, DELETE, and EXISTS in transactions. A text and its parameters become
// a Statement, whose conditions, projections and updates are those of the package expr,
// checked with AWS's errors. It is pure and knows nothing of tables: Where says what it
// binds of the keys that the caller names.
//
// Unquoted words that the grammar uses are no names, as with AWS, which refuses more
// of SQL's reserved words; names in double quotes may be any. A text has at most 8 KB
// and 300 operators, so that the cost of what it asks is bounded by the item.
//
// The texts of errors and their positions, line:column:length of the token that is
// meant, are as DynamoDB Local's messages and a suite run against AWS have them. Where
// neither says what follows "Statement wasn't well formed, can't be processed: ", it is
// what was expected.
//
// Begin reading at Parse in parse.go, then where.go and key.go.
package partiql
