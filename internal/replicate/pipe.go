package replicate

import (
	"errors"
	"io"
	"sync"
)

// pipe carries bytes from one goroutine to another over a buffer of bounded
// size, so that neither has to wait for the other at every piece. Whoever is
// faster waits when the buffer is full or empty.
type pipe struct {
	mu struct {
		sync.Mutex
		buf    []byte // what is written and not read is buf[off:]
		off    int
		err    error // what Read returns when buf is empty; nil: more may come
		closed error // what Write returns: the reader is gone
	}
	change *sync.Cond
	max    int
}

var errGone = errors.New("nobody reads any more")

func newPipe(most int) *pipe {
	p := &pipe{max: most}
	p.change = sync.NewCond(&p.mu)
	return p
}

// Write implements io.Writer.
func (p *pipe) Write(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n < len(b) {
		for p.mu.closed == nil && p.mu.err == nil && len(p.mu.buf)-p.mu.off >= p.max {
			p.change.Wait()
		}
		if p.mu.closed != nil {
			return n, p.mu.closed
		}
		if p.mu.err != nil {
			return n, io.ErrClosedPipe
		}
		part := b[n:min(len(b), n+p.max-(len(p.mu.buf)-p.mu.off))]
		if p.mu.off > 0 && len(p.mu.buf)+len(part) > cap(p.mu.buf) {
			p.mu.buf = p.mu.buf[:copy(p.mu.buf, p.mu.buf[p.mu.off:])]
			p.mu.off = 0
		}
		p.mu.buf = append(p.mu.buf, part...)
		n += len(part)
		p.change.Broadcast()
	}
	return n, nil
}

// Read implements io.Reader.
func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.mu.off == len(p.mu.buf) && p.mu.err == nil && p.mu.closed == nil {
		p.change.Wait()
	}
	if p.mu.closed != nil {
		return 0, p.mu.closed
	}
	if p.mu.off == len(p.mu.buf) {
		return 0, p.mu.err
	}
	n := copy(b, p.mu.buf[p.mu.off:])
	if p.mu.off += n; p.mu.off == len(p.mu.buf) {
		p.mu.buf, p.mu.off = p.mu.buf[:0], 0
	}
	p.change.Broadcast()
	return n, nil
}

// end tells the reader that nothing more comes: io.EOF, or what went wrong. Only
// the first call counts.
func (p *pipe) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.err == nil {
		p.mu.err = err
	}
	p.change.Broadcast()
}

// close lets the writer fail from now on.
func (p *pipe) close(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.closed == nil {
		p.mu.closed = err
	}
	p.mu.buf, p.mu.off = nil, 0
	p.change.Broadcast()
}
