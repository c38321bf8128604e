package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
)

// perPartition is how many documents share a partition.
const perPartition = 25

// documentBytes is the length of a document without _id and _rev.
const documentBytes = 1000

// documentID names the n-th document; ids ascend with n.
func documentID(n int) string { return fmt.Sprintf("p%06d:d%08d", n/perPartition, n) }

// document makes the n-th document of 1 KB. prefix comes before its members, for "_id" and "_rev". What fills it is
// random hexadecimal text, which no block compression makes small.
func document(n int, prefix string) []byte { return documentOf(n, prefix, documentBytes) }

// documentOf is document with so many bytes.
func documentOf(n int, prefix string, size int) []byte {
	r := rand.New(rand.NewPCG(42, uint64(n)))
	b := make([]byte, 0, size+len(prefix)+8)
	b = append(b, '{')
	b = append(b, prefix...)
	b = fmt.Appendf(b, `"type":"reading","number":%d,"total":%d.%02d,"tags":["a","b"],"fill":"`, n, r.IntN(1000), r.IntN(100))
	raw := make([]byte, (size+len(prefix)-len(b)-2)/2)
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	return append(hex.AppendEncode(b, raw), `"}`...)
}

// smallDocument makes a document of about 100 bytes, for databases of a million.
func smallDocument(n int, id string) []byte {
	return fmt.Appendf(nil, `{"_id":%q,"type":"reading","number":%d,"place":"station %d","on":true}`, id, n, n%977)
}

// bulk makes the body of _bulk_docs for the documents first to first+count-1.
func bulk(first, count int, document func(n int) []byte) []byte {
	var b bytes.Buffer
	b.WriteString(`{"docs":[`)
	for n := first; n < first+count; n++ {
		if n > first {
			b.WriteByte(',')
		}
		b.Write(document(n))
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// withID is document with its id in it, as _bulk_docs takes it.
func withID(n int) []byte { return document(n, fmt.Sprintf(`"_id":%q,`, documentID(n))) }
