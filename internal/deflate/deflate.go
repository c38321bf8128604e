// Package deflate compresses bytes into the gzip stream that zlib makes of them
// at level 8, byte for byte. CouchDB compresses attachments so, and an attachment's
// digest is that of the compressed bytes: the same text has the same digest on
// both.
//
// The format leaves it to a compressor which repetitions it uses, and where blocks
// end. What decides it here follows zlib's rules (the hash chains, the lazy matching
// and the limits of level 8 in match.go, the Huffman codes with their order of
// equal weights in tree.go, the choice of a block's form in block.go), which RFC 1951
// does not know. There is no reader: any one reads it.
//
// It must not know what is compressed. Begin reading at Writer.
package deflate

import (
	"encoding/binary"
	"hash/crc32"
	"io"
)

// header is what zlib puts before the stream: deflate, no time, no name, Unix.
var header = [...]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3}

// Writer compresses what is written to it. It takes about 350 KB, whatever the
// length. Close ends the stream.
type Writer struct {
	to     io.Writer
	err    error
	begun  bool
	closed bool
	sum    uint32
	length uint32
	m      matcher
	b      blocks
}

// NewWriter makes a Writer to w.
func NewWriter(w io.Writer) *Writer {
	z := &Writer{to: w}
	z.m.init()
	z.b.init()
	return z
}

// Write implements io.Writer.
func (z *Writer) Write(p []byte) (n int, err error) {
	z.sum = crc32.Update(z.sum, crc32.IEEETable, p)
	z.length += uint32(len(p))
	for len(p) > 0 && z.err == nil {
		k := z.m.fill(p)
		p, n = p[k:], n+k
		if z.m.full() {
			z.m.run(&z.b, false)
			z.send()
		}
	}
	return n, z.err
}

// Close compresses what is left and ends the stream. It does not close what lies
// below.
func (z *Writer) Close() error {
	if z.closed || z.err != nil {
		return z.err
	}
	z.closed = true
	z.m.run(&z.b, true)
	z.b.out = binary.LittleEndian.AppendUint32(z.b.out, z.sum)
	z.b.out = binary.LittleEndian.AppendUint32(z.b.out, z.length)
	z.send()
	return z.err
}

// send passes on what is compressed.
func (z *Writer) send() {
	if !z.begun {
		z.begun = true
		_, z.err = z.to.Write(header[:])
	}
	if z.err == nil && len(z.b.out) > 0 {
		_, z.err = z.to.Write(z.b.out)
	}
	z.b.out = z.b.out[:0]
}
