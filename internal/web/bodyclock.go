package web

import (
	"io"
	"net/http"
	"time"
)

// bodyStride is how many bytes of a body have to come within Settings.BodyTimeout.
const bodyStride = 1 << 10

// bodyClock is the body of a request as it comes over the line. It gives up on a client
// that lets the server wait: every bodyStride bytes it has the whole time again, so that
// large bodies may take long. Only the time within reads counts; how long the server takes
// with what came is not the client's fault.
type bodyClock struct {
	r       *Request
	of      *http.Request // whose body it stands for
	from    io.ReadCloser
	line    *http.ResponseController
	timeout time.Duration
	waited  time.Duration // since the last stride
	came    int           // since the last stride
	begun   bool          // something was asked for
	ended   bool          // nothing more will come
	armed   time.Time     // when the deadline was set last
}

// watchBody puts a clock before the body. It runs at once, for who answers without
// reading the body leaves it to net/http, which reads some of it.
func (r *Request) watchBody() {
	if r.HTTP.ContentLength == 0 || r.HTTP.Body == nil || r.HTTP.Body == http.NoBody {
		return
	}
	c := &bodyClock{r: r, of: r.HTTP, from: r.HTTP.Body, line: http.NewResponseController(r.w), timeout: r.frame.options.Settings().BodyTimeout}
	c.arm(r.Began)
	r.HTTP.Body, r.clock = c, c
}

// arm sets the deadline of reads to the end of the client's time.
func (c *bodyClock) arm(now time.Time) {
	c.armed = now
	_ = c.line.SetReadDeadline(now.Add(c.timeout - c.waited)) // a request from within has no line
}

// Read implements io.Reader.
func (c *bodyClock) Read(p []byte) (int, error) {
	began := c.r.frame.Now()
	if began.Sub(c.armed) > min(time.Second, c.timeout/8) {
		c.arm(began)
	}
	c.begun = true
	n, err := c.from.Read(p)
	c.r.work.Moved()
	c.ended = err != nil
	took := c.r.frame.Now().Sub(began)
	c.r.bodyTime += took
	c.waited += took
	if c.came += n; c.came >= bodyStride {
		c.came, c.waited = 0, 0
	}
	if err == io.EOF {
		_ = c.line.SetReadDeadline(time.Time{}) // the next read looks whether the client is there
	}
	return n, err
}

// Close implements io.Closer.
func (c *bodyClock) Close() error { return c.from.Close() }
