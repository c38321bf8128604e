// Package dynamoapi owns the DynamoDB API: operations that are named by a header, JSON 1.0
// of typed values, signed requests, and AWS's errors, over the frame of all APIs (web).
// A table is a database and an item a document (package table), so whatever is written
// here is seen there, and the other way round.
//
// Begin reading at actions.go, the table of operations; each is a file. call.go is the way
// of a request, access.go finds tables and asks for rights, stream.go finds streams.
//
// The protocol is that of https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/.
package dynamoapi
