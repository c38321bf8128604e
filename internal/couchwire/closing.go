package couchwire

import (
	"bytes"
	"io"
	"mime/multipart"
)

// PartsOf reads the parts of a multipart body. What comes after the closing
// delimiter is no part of it, whatever it is: RFC 2046 calls it the epilogue.
// (The standard library takes white space there alone.)
func PartsOf(body io.Reader, boundary string) *multipart.Reader {
	delimiter := []byte("\r\n--" + boundary + "--")
	tail := append(make([]byte, 0, 3*len(delimiter)), "\r\n"...) // the body may begin with a delimiter
	return multipart.NewReader(&closing{from: body, delimiter: delimiter, tail: tail}, boundary)
}

// closing ends a body after its closing delimiter.
type closing struct {
	from      io.Reader
	delimiter []byte
	tail      []byte // the last bytes that were read, fewer than the delimiter has
	over      bool
}

func (c *closing) Read(p []byte) (int, error) {
	if c.over {
		return 0, io.EOF
	}
	n, err := c.from.Read(p)
	if end := c.end(p[:n]); end >= 0 {
		c.over = true
		return end, nil
	}
	c.keep(p[:n])
	return n, err
}

// end returns the index in p after the closing delimiter, -1 if it does not end in p.
func (c *closing) end(p []byte) int {
	joint := min(len(p), len(c.delimiter)-1)
	across := append(c.tail, p[:joint]...)
	if i := bytes.Index(across, c.delimiter); i >= 0 {
		return i + len(c.delimiter) - len(c.tail)
	}
	if i := bytes.Index(p, c.delimiter); i >= 0 {
		return i + len(c.delimiter)
	}
	return -1
}

// keep remembers the last bytes, where a delimiter may have begun.
func (c *closing) keep(p []byte) {
	c.tail = append(c.tail, p[max(0, len(p)-len(c.delimiter)+1):]...)
	if more := len(c.tail) - len(c.delimiter) + 1; more > 0 {
		c.tail = append(c.tail[:0], c.tail[more:]...)
	}
}
