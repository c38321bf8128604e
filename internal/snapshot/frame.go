package snapshot

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"

	"github.com/sectional/sectional/internal/dberr"
)

// magic is how every stream begins; the number is the format's version.
const magic = "sectional snapshot 1\n"

// The kinds of frames.
const (
	kindHeader   = 'H'
	kindDocument = 'D'
	kindBlob     = 'B'
	kindChunk    = 'C'
	kindLeaf     = 'L'
	kindBookmark = 'M'
	kindEnd      = 'E'
)

// maxFrame is how long a frame may be. A document is the longest: bodies are
// limited to the 256 MB that JSON requests may have.
const maxFrame = 257 << 20

// sums is the table of the checksum, which most processors have an instruction
// for.
func sums() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// frames writes frames. Each ends with the checksum of the whole stream so far,
// so that a reader finds out about a frame that was changed, left out or
// repeated when it has read that frame, or the next.
type frames struct {
	to    io.Writer
	table *crc32.Table
	sum   uint32
	buf   []byte
	sent  int64 // bytes that went to the writer
}

func newFrames(to io.Writer) *frames {
	f := &frames{to: to, table: sums()}
	f.buf = append(f.buf, magic...)
	f.sum = crc32.Update(0, f.table, f.buf)
	return f
}

// sendSize is from how many bytes on frames are passed on.
const sendSize = 64 << 10

// put writes a frame; it may stay in the buffer until flush.
func (f *frames) put(kind byte, payload []byte) error {
	at := len(f.buf)
	f.buf = binary.AppendUvarint(append(f.buf, kind), uint64(len(payload)))
	f.buf = append(f.buf, payload...)
	f.sum = crc32.Update(f.sum, f.table, f.buf[at:])
	f.buf = binary.LittleEndian.AppendUint32(f.buf, f.sum)
	if len(f.buf) < sendSize {
		return nil
	}
	return f.flush()
}

// flush passes on what is in the buffer.
func (f *frames) flush() error {
	n, err := f.to.Write(f.buf)
	f.sent += int64(n)
	f.buf = f.buf[:0]
	return err
}

// frameReader reads frames and checks their sums.
type frameReader struct {
	from    *bufio.Reader
	table   *crc32.Table
	sum     uint32
	head    [binary.MaxVarintLen64 + 1]byte
	payload []byte // of the frame read last, reused
	frames  int64
}

// errCut says that a stream ends before its end.
var errCut = malformed("The snapshot ends before its end.")

func malformed(reason string, args ...any) error {
	return dberr.New(dberr.Invalid, "bad_snapshot", reason, args...)
}

// newFrameReader reads the beginning of a stream. Errors: Invalid bad_snapshot
// for what is no snapshot, and the reader's own.
func newFrameReader(from io.Reader) (*frameReader, error) {
	f := &frameReader{from: bufio.NewReaderSize(from, 64<<10), table: sums()}
	var begin [len(magic)]byte
	if _, err := io.ReadFull(f.from, begin[:]); err != nil && !ended(err) {
		return nil, err
	}
	if string(begin[:]) != magic {
		return nil, malformed("The body is not a snapshot of this version.")
	}
	f.sum = crc32.Update(0, f.table, begin[:])
	return f, nil
}

func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// next reads a frame. The payload is valid until the next call. Errors: Invalid
// bad_snapshot when the frame is damaged or the stream ends, and the reader's
// own.
func (f *frameReader) next() (kind byte, payload []byte, err error) {
	if kind, err = f.from.ReadByte(); err != nil {
		return 0, nil, f.cut(err)
	}
	size, err := binary.ReadUvarint(f.from)
	if err != nil {
		return 0, nil, f.cut(err)
	}
	if size > maxFrame {
		return 0, nil, f.damaged()
	}
	if err := f.read(int(size)); err != nil {
		return 0, nil, f.cut(err)
	}
	head := binary.AppendUvarint(append(f.head[:0], kind), size)
	f.sum = crc32.Update(crc32.Update(f.sum, f.table, head), f.table, f.payload)
	var sum [4]byte
	if _, err := io.ReadFull(f.from, sum[:]); err != nil {
		return 0, nil, f.cut(err)
	}
	if binary.LittleEndian.Uint32(sum[:]) != f.sum {
		return 0, nil, f.damaged()
	}
	f.frames++
	return kind, f.payload, nil
}

// read fills the payload. Memory grows with what has come, not with what a
// length promises.
func (f *frameReader) read(size int) error {
	const step = 1 << 20
	f.payload = f.payload[:0]
	for len(f.payload) < size {
		at, n := len(f.payload), min(step, size-len(f.payload))
		f.payload = slices.Grow(f.payload, n)[:at+n]
		if _, err := io.ReadFull(f.from, f.payload[at:]); err != nil {
			return err
		}
	}
	return nil
}

func (f *frameReader) cut(err error) error {
	if ended(err) {
		return errCut
	}
	return err
}

func (f *frameReader) damaged() error {
	return malformed("Frame %d of the snapshot is damaged.", f.frames+1)
}

// atEnd checks that nothing follows.
func (f *frameReader) atEnd() error {
	switch _, err := f.from.ReadByte(); {
	case err == nil:
		return malformed("Something follows the snapshot's end.")
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}
