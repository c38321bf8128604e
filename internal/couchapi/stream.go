package couchapi

import (
	"net/http"
	"sync"
)

// spillSize is the size at which a stream's buffer goes out.
const spillSize = 32 << 10

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

func takeBody() *[]byte { return bodies.Get().(*[]byte) }

func giveBody(b *[]byte) {
	if cap(*b) <= largestKept {
		bodies.Put(b)
	}
}

func takeBuffer() *[]byte { return buffers.Get().(*[]byte) }

func giveBuffer(b *[]byte) {
	if cap(*b) <= 4*spillSize {
		buffers.Put(b)
	}
}

// stream is an answer of unknown length. Whoever writes appends to Buf and
// calls Spill after each row; nothing is sent before the buffer is full, so
// that an error in the first rows is still a clean one.
//
//	s := r.stream(http.StatusOK, jsonContent)
//	s.Buf = append(s.Buf, `{"rows":[`...)
//	for … { s.Buf = appendRow(s.Buf, row); if err := s.Spill(); err != nil { return err } }
//	s.Buf = append(s.Buf, "\n]}"...)
//	return s.End()
type stream struct {
	Buf []byte

	r      *request
	pooled *[]byte
	status int
	begun  bool // status and headers are out
	aside  bool // nothing is sent: what is written is taken from Buf
	ended  bool
}

// jsonContent is the content type of streams that hold JSON.
const jsonContent = "application/json"

// stream begins an answer of unknown length. The frame ends it if the handler
// returns an error.
func (r *request) stream(status int, contentType string) *stream {
	if contentType == jsonContent {
		r.w.Header()["Content-Type"] = jsonType
	} else {
		r.set("Content-Type", contentType)
	}
	s := &stream{r: r, pooled: takeBuffer(), status: status}
	s.Buf = (*s.pooled)[:0]
	r.out = s
	return s
}

// Spill sends the buffer if it is large enough to be worth it.
func (s *stream) Spill() error {
	if s.aside || len(s.Buf) < spillSize {
		return nil
	}
	return s.send()
}

// Flush sends what there is to the client now: for feeds.
func (s *stream) Flush() error {
	if err := s.send(); err != nil {
		return err
	}
	return http.NewResponseController(s.r.w).Flush()
}

// Write appends p, as io.Writer.
func (s *stream) Write(p []byte) (int, error) {
	s.Buf = append(s.Buf, p...)
	return len(p), s.Spill()
}

// End sends the rest. No newline is added: streams write their own.
func (s *stream) End() error {
	if s.ended {
		return nil
	}
	s.ended = true
	var err error
	switch {
	case s.begun:
		err = s.send()
	case s.r.head:
		// Endpoints leave rows out for HEAD: the length would not be that of GET.
		s.r.begin(s.status, -1)
	default:
		s.begun = true
		s.r.begin(s.status, len(s.Buf))
		err = s.r.write(s.Buf)
	}
	s.release()
	return err
}

func (s *stream) send() error {
	if !s.begun {
		s.begun = true
		s.r.begin(s.status, -1)
	}
	if s.r.head {
		s.Buf = s.Buf[:0]
		return nil
	}
	err := s.r.write(s.Buf)
	s.Buf = s.Buf[:0]
	return err
}

func (s *stream) release() {
	*s.pooled = s.Buf[:0]
	giveBuffer(s.pooled)
	s.Buf, s.pooled = nil, nil
}

// abandon drops what was not sent yet and reports whether nothing was.
func (s *stream) abandon() bool {
	if s.ended {
		return !s.begun
	}
	s.ended = true
	s.release()
	return !s.begun
}
