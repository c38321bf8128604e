package web

import "io"

// bufferedBody is a body that is kept as it is read, so that the request may begin again.
type bufferedBody struct {
	from  io.ReadCloser
	r     *Request
	bytes []byte
	at    int // in kept
}

// KeepBody has what is read of the body from now on kept, and charged for, as long as the request
// may begin again. It is for small bodies of a known length.
func (r *Request) KeepBody() {
	if _, kept := r.HTTP.Body.(*bufferedBody); kept || r.HTTP.ContentLength == 0 || r.HTTP.Body == nil {
		return
	}
	r.HTTP.Body = &bufferedBody{from: r.HTTP.Body, r: r}
}

// Read implements io.Reader.
func (b *bufferedBody) Read(p []byte) (int, error) {
	if b.at < len(b.bytes) {
		n := copy(p, b.bytes[b.at:])
		b.at += n
		return n, nil
	}
	n, err := b.from.Read(p)
	if held := b.r.Hold(int64(n)); held != nil {
		return 0, held
	}
	b.bytes = append(b.bytes, p[:n]...)
	b.at = len(b.bytes)
	return n, err
}

// Close implements io.Closer.
func (b *bufferedBody) Close() error { return b.from.Close() }

// rewind lets the body, if it is kept, be read once more. What the request is charged for is the
// kept part then.
func (r *Request) rewind() {
	b, kept := r.HTTP.Body.(*bufferedBody)
	if !kept {
		return
	}
	b.at = 0
	r.Release(r.charged - int64(len(b.bytes)))
}
