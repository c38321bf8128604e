package script

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"sync"
)

// Frames go over the pipes between the pool and a child: four bytes of length (little endian), one byte of kind, and fields
// in the order that the reader of the kind expects.
const (
	// From the pool.
	frameHello  = 'H' // limits; once
	frameRealm  = 'R' // a realm to keep under a number
	frameForget = 'F' // the number of a realm that is not needed any more
	frameJob    = 'J' // units of work
	frameRows   = 'L' // rows for a list function that asked for some

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

// fields is the body of a frame being written.
type fields []byte

func (f *fields) number(n uint64)  { *f = binary.AppendUvarint(*f, n) }
func (f *fields) text(s string)    { f.number(uint64(len(s))); *f = append(*f, s...) }
func (f *fields) bytes(b []byte)   { f.number(uint64(len(b))); *f = append(*f, b...) }
func (f *fields) flag(b bool)      { *f = append(*f, map[bool]byte{true: 1}[b]) }
func (f *fields) texts(l []string) { f.number(uint64(len(l))); each(l, f.text) }
func (f *fields) blobs(l [][]byte) { f.number(uint64(len(l))); each(l, f.bytes) }
func each[T any](l []T, do func(T)) {
	for _, x := range l {
		do(x)
	}
}

// content reads the fields of a frame. After a field that is not there, bad is set and every further field is empty.
type content struct {
	b   []byte
	bad bool
}

func (c *content) number() uint64 {
	n, w := binary.Uvarint(c.b)
	if w <= 0 {
		c.bad, c.b = true, nil
		return 0
	}
	c.b = c.b[w:]
	return n
}

func (c *content) bytes() []byte {
	n := c.number()
	if n > uint64(len(c.b)) {
		c.bad, c.b = true, nil
		return nil
	}
	b := c.b[:n:n]
	c.b = c.b[n:]
	return b
}

func (c *content) text() string { return string(c.bytes()) }

func (c *content) flag() bool {
	if len(c.b) == 0 {
		c.bad = true
		return false
	}
	b := c.b[0]
	c.b = c.b[1:]
	return b != 0
}

func (c *content) blobs() [][]byte {
	n := c.number()
	if n > uint64(len(c.b)) {
		c.bad = true
		return nil
	}
	l := make([][]byte, 0, n)
	for ; n > 0; n-- {
		l = append(l, c.bytes())
	}
	return l
}

func (c *content) texts() []string {
	l := make([]string, 0, 4)
	for _, b := range c.blobs() {
		l = append(l, string(b))
	}
	return l
}

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
func (p *pipe) write(kind byte, body fields) error {
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
func (p *pipe) read(limit int64) (kind byte, body content, err error) {
	var head [5]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		return 0, content{}, err
	}
	n := int64(binary.LittleEndian.Uint32(head[:]))
	if n > limit {
		return 0, content{}, errFrame
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(p.in, b); err != nil {
		return 0, content{}, err
	}
	return head[4], content{b: b}, nil
}
