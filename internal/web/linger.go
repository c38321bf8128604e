package web

import (
	"io"
	"net/http"
	"time"
)

// Who is refused before the whole body was read is answered while he still sends. Many clients look for an answer only
// after they have sent everything, and when a connection is closed that has unread bytes, the system resets it: such a client
// sees no 413 or 503, but an error of the connection. So what he goes on sending is read and dropped for a while
// (RFC 9112, section 9.6).
//
// net/http does that in a small way: before an answer it reads the rest of a body if that is less than 256 KB, and as much of one of
// unknown length; and before it closes it waits half a second, without reading. It goes by the body that it made, so that is put back when
// an answer begins: else it would wait for 256 KB before every answer, even from a client who waits to be told to go on (Expect: 100-continue).

// How much is read of a body after it was refused, and for how long at most.
const (
	lingerTime    = 2 * time.Second
	lingerBytes   = 64 << 20
	lingerStrange = 256 << 10 // of those without credentials, and of bodies that are longer than the above
)

// leaveBody gives the body back to net/http, when an answer begins.
func (r *Request) leaveBody() {
	if c := r.clock; c != nil {
		c.of.Body = c.from
	}
}

// linger reads and drops what the client of a refused request goes on sending. It is called when the answer is complete, and everything
// that the request held given back.
func (r *Request) linger() {
	c := r.clock
	if c == nil || c.ended || r.status < http.StatusBadRequest || !c.begun && r.Header("Expect") != "" {
		return // he has not been told to go on
	}
	most := int64(lingerBytes)
	if c.of.ContentLength > most {
		most = lingerStrange
	}
	if r.Caller == nil || r.Caller.Anonymous() && !r.Caller.IsAdmin() {
		if most = lingerStrange; c.of.ContentLength < 0 {
			return // net/http has read as much
		}
	}
	if r.Flush() != nil || c.line.SetReadDeadline(r.frame.Now().Add(lingerTime)) != nil {
		return // nobody is there, or the request is from within
	}
	_, _ = io.CopyN(io.Discard, c.from, most) // whatever comes, the connection is closed
}
