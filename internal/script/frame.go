package script

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/sectional/sectional/internal/packed"
)

// Frames go over the pipes between the pool and a child: four bytes of length (little endian), one byte of kind, and fields
// in the order that the reader of the kind expects.
const (
	// From the pool.
	frameHello = 'H' // limits; once
	frameRealm = 'R' // a realm to keep under a number
	frameDrop  = 'F' // the number of a realm that is not needed any more
	frameJob   = 'J' // units of work
	frameRows  = 'L' // rows for a list function that asked for some

	// From the child.
	frameReady   = 'h' // the child has taken its limits
	frameUnits   = 'u' // outcomes of units; more of this job will follow
	frameDone    = 'd' // the rest of the outcomes, and why there are no more
	frameOutput  = 'o' // what a list function has sent so far
	frameWanting = 'w' // the same, and it asks for rows
)

// largestFrame bounds what either side takes for a length.
const largestFrame = 1 << 30

var errFrame = errors.New("script: a malformed frame")

// pipe reads and writes frames. All of it may go on at the same time, except two reads.
type pipe struct {
	in *bufio.Reader

	mu struct {
		sync.Mutex
		out io.Writer
	}
}

func newPipe(in io.Reader, out io.Writer) *pipe {
	p := &pipe{in: bufio.NewReaderSize(in, 1<<16)}
	p.mu.out = out
	return p
}

// write sends one frame, in one write where it is small.
func (p *pipe) write(kind byte, body packed.Writer) error {
	const small = 4096
	p.mu.Lock()
	defer p.mu.Unlock()
	head := make([]byte, 5, 5+small)
	binary.LittleEndian.PutUint32(head, uint32(len(body)))
	head[4] = kind
	if len(body) <= small {
		_, err := p.mu.out.Write(append(head, body...))
		return err
	}
	if _, err := p.mu.out.Write(head); err != nil {
		return err
	}
	_, err := p.mu.out.Write(body)
	return err
}

// read takes the next frame. A length beyond the limit is an error: the other side is not to be trusted.
func (p *pipe) read(limit int64) (kind byte, body packed.Reader, err error) {
	var head [5]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		return 0, packed.Reader{}, err
	}
	n := int64(binary.LittleEndian.Uint32(head[:]))
	if n > limit {
		return 0, packed.Reader{}, errFrame
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(p.in, b); err != nil {
		return 0, packed.Reader{}, err
	}
	return head[4], packed.Read(b), nil
}
