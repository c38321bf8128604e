package pgkv

import "encoding/binary"

// The numbers under which PostgreSQL knows types.
const (
	oidBytea = 17
	oidInt8  = 20
	oidText  = 25
)

// array returns items as a one-dimensional array in PostgreSQL's binary form.
func array(oid uint32, items [][]byte) []byte {
	size := 20
	for _, item := range items {
		size += 4 + len(item)
	}
	if len(items) == 0 {
		return binary.BigEndian.AppendUint32(make([]byte, 8, 12), oid)
	}
	out := make([]byte, 8, size) // one dimension; no nulls
	out[3] = 1
	out = binary.BigEndian.AppendUint32(out, oid)
	out = binary.BigEndian.AppendUint32(out, uint32(len(items)))
	out = binary.BigEndian.AppendUint32(out, 1) // the index of the first
	for _, item := range items {
		out = binary.BigEndian.AppendUint32(out, uint32(len(item)))
		out = append(out, item...)
	}
	return out
}

// int8Of returns a number in PostgreSQL's binary form.
func int8Of(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// int8From reads a number in that form.
func int8From(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }
