package store

import (
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// designDocuments spans those of a database itself.
var designDocuments = Span{From: "_design/", To: "_design0", Before: true}

// Bounds of a page of Reader.DesignIDs.
const (
	designsPage    = 1000
	partitionsPage = 20_000
)

// DesignIDs lists the design documents of the reader's database and of its tenants, by stored id, a
// page at a time: after a partition, or "" for the database's own and those of the first partitions. next
// is the partition to go on after, "" at the end.
func (r *Reader) DesignIDs(after document.Partition) (ids []document.ID, next document.Partition, err error) {
	if after == "" {
		if ids, err = r.appendIDs(ids, designDocuments); err != nil {
			return nil, "", err
		}
	}
	if !r.db.partitioned {
		return ids, "", nil
	}
	tenants, next, err := r.defining(after)
	for _, p := range tenants {
		if err == nil {
			ids, err = r.appendIDs(ids, designsOf(p))
		}
	}
	return ids, next, err
}

// defining lists partitions whose tenants have defined something, a page at a time.
func (r *Reader) defining(after document.Partition) (tenants []document.Partition, next document.Partition, err error) {
	rows := kv.Prefix(keyspace.Partition.Key(r.db.number))
	if after != "" {
		rows.Start = append(r.db.partitionKey(after), 0)
	}
	it, err := r.v.Iterate(rows, kv.IterOptions{})
	if err != nil {
		return nil, "", err
	}
	defer it.Close()
	for seen := 0; it.Next(); seen++ {
		if seen == partitionsPage || len(tenants) == designsPage {
			return tenants, next, nil
		}
		_, parts, err := keyspace.Partition.Decode(it.Key())
		if err != nil {
			return nil, "", err
		}
		next = document.Partition(parts[0].String())
		row, err := r.db.decodePartitionRow(it.Borrow())
		if err != nil {
			return nil, "", err
		}
		if row.designs > 0 {
			tenants = append(tenants, next)
		}
	}
	return tenants, "", it.Err()
}

// appendIDs appends the ids of a span's documents, tombstones left out.
func (r *Reader) appendIDs(ids []document.ID, sp Span) ([]document.ID, error) {
	for e, err := range r.Docs(sp, false) {
		if err != nil {
			return nil, err
		}
		if !e.Doc.Tree.Winner().Deleted {
			ids = append(ids, e.Doc.ID)
		}
	}
	return ids, nil
}
