// Package table owns what a table of the DynamoDB API is: a partitioned database whose
// documents are items. Its definition (keys, secondary indexes, stream) is a member of
// its design document DesignID, so it is replicated with the documents, and its indexes
// are the database's (index.Kind).
//
// It also owns the names: which database a table is, and which document an item. It knows
// neither requests nor expressions. Begin reading at Definition.
package table
