package web

import "sync"

// SpillSize is the size at which a stream's buffer goes out.
const SpillSize = 32 << 10

// buffers holds *[]byte for answers and small bodies, bodies those for batches
// of documents. They are the package's one shared thing: a cache of memory,
// without state.
var (
	buffers = sync.Pool{New: func() any {
		b := make([]byte, 0, 4<<10)
		return &b
	}}
	bodies = sync.Pool{New: func() any { return new([]byte) }}
)

// largestKept is the size up to which the memory of a body is kept for others:
// more than replicators send at once, and little enough to be held between two
// collections.
const largestKept = 4 << 20

// TakeBody returns memory for a large body, which GiveBody takes back.
func TakeBody() *[]byte { return bodies.Get().(*[]byte) }

// GiveBody keeps memory for others, unless it is too much to keep.
func GiveBody(b *[]byte) {
	if cap(*b) <= largestKept {
		bodies.Put(b)
	}
}

// TakeBuffer returns memory for an answer or a small body, which GiveBuffer takes back.
func TakeBuffer() *[]byte { return buffers.Get().(*[]byte) }

// GiveBuffer keeps memory for others, unless it is too much to keep.
func GiveBuffer(b *[]byte) {
	if cap(*b) <= 4*SpillSize {
		buffers.Put(b)
	}
}

// Stream is an answer of unknown length. Whoever writes appends to Buf and
// calls Spill after each row; nothing is sent before the buffer is full, so
// that an error in the first rows is still a clean one.
//
//	s := r.Stream(http.StatusOK, web.JSON)
//	s.Buf = append(s.Buf, `{"rows":[`...)
//	for … { s.Buf = appendRow(s.Buf, row); if err := s.Spill(); err != nil { return err } }
//	s.Buf = append(s.Buf, "\n]}"...)
//	return s.End()
type Stream struct {
	Buf []byte

	r        *Request
	pooled   *[]byte
	status   int
	begun    bool // status and headers are out
	buffered bool // nothing is sent: what is written is taken from Buf
	ended    bool
}

// Stream begins an answer of unknown length. The frame ends it if the handler
// returns an error.
func (r *Request) Stream(status int, contentType string) *Stream {
	r.SetType(contentType)
	s := &Stream{r: r, pooled: TakeBuffer(), status: status}
	s.Buf = (*s.pooled)[:0]
	r.out = s
	return s
}

// BufferStream returns a stream of which nothing is sent: whoever reads it takes what was written from Buf, and calls Release
// at the end.
func BufferStream() *Stream {
	s := &Stream{pooled: TakeBuffer(), buffered: true}
	s.Buf = (*s.pooled)[:0]
	return s
}

// Begun reports whether status and headers are out.
func (s *Stream) Begun() bool { return s.begun }

// Spill sends the buffer if it is large enough to be worth it.
func (s *Stream) Spill() error {
	if s.buffered || len(s.Buf) < SpillSize {
		return nil
	}
	return s.send()
}

// Flush sends what there is to the client now: for feeds.
func (s *Stream) Flush() error {
	if err := s.send(); err != nil {
		return err
	}
	return s.r.Flush()
}

// Write appends p, as io.Writer.
func (s *Stream) Write(p []byte) (int, error) {
	s.Buf = append(s.Buf, p...)
	return len(p), s.Spill()
}

// End sends the rest. No newline is added: streams write their own.
func (s *Stream) End() error {
	if s.ended {
		return nil
	}
	var err error
	switch { // Begin may be withheld, and nothing has ended or begun then
	case s.begun:
		err = s.send()
	case s.r.Head:
		// Endpoints leave rows out for HEAD: the length would not be that of GET.
		s.r.Begin(s.status, -1)
	default:
		s.r.Begin(s.status, len(s.Buf))
		s.begun = true
		err = s.r.Write(s.Buf)
	}
	s.ended = true
	s.Release()
	return err
}

func (s *Stream) send() error {
	if !s.begun {
		s.r.Begin(s.status, -1)
		s.begun = true
	}
	if s.r.Head {
		s.Buf = s.Buf[:0]
		return nil
	}
	err := s.r.Write(s.Buf)
	s.Buf = s.Buf[:0]
	return err
}

// Release gives back the memory of the stream.
func (s *Stream) Release() {
	*s.pooled = s.Buf[:0]
	GiveBuffer(s.pooled)
	s.Buf, s.pooled = nil, nil
}

// Rest gives back the memory of the stream while it waits, and Wake takes some before more is written.
func (s *Stream) Rest() {
	s.Release()
	s.pooled = new([]byte)
}

// Wake takes memory if Rest has given it back.
func (s *Stream) Wake() {
	if cap(s.Buf) == 0 {
		s.pooled = TakeBuffer()
		s.Buf = (*s.pooled)[:0]
	}
}

// dropStream drops an answer of which nothing was sent, before another begins.
func (r *Request) dropStream() {
	if r.out != nil {
		r.out.abandon()
		r.out = nil
	}
}

// abandon drops what was not sent yet and reports whether nothing was.
func (s *Stream) abandon() bool {
	if s.ended {
		return !s.begun
	}
	s.ended = true
	s.Release()
	return !s.begun
}
