package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// connections is how many clients drive the server at once.
const connections = 32

// call makes the bytes of one request. They are made before the measurement begins, so that during it the generator
// only writes and reads.
func call(method, path string, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic %s\r\nAccept: application/json\r\n",
		method, path, base64.StdEncoding.EncodeToString([]byte(process.User+":"+process.Password)))
	if body != nil || method == "PUT" || method == "POST" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}

// client is one connection. It knows as much of HTTP as the answers need: a length or chunks.
type client struct {
	connection net.Conn
	in         *bufio.Reader
}

func dial(address string) (*client, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &client{c, bufio.NewReaderSize(c, 64<<10)}, nil
}

// roundTrip sends prebuilt bytes and passes the answer's body to body, or drops it where that is nil.
func (c *client) roundTrip(request []byte, body io.Writer) (status int, err error) {
	if _, err := c.connection.Write(request); err != nil {
		return 0, err
	}
	h, err := c.head(nil)
	if err != nil {
		return 0, err
	}
	if body == nil {
		body = io.Discard
	}
	if h.chunked {
		return h.status, c.chunks(body)
	}
	_, err = io.CopyN(body, c.in, h.length)
	return h.status, err
}

// expect is roundTrip for answers of one status only.
func (c *client) expect(want int, request []byte, body io.Writer) error {
	status, err := c.roundTrip(request, body)
	if err == nil && status != want {
		err = fmt.Errorf("answered %d, want %d", status, want)
	}
	return err
}

// head is what the client needs of an answer's first lines.
type head struct {
	status  int
	length  int64
	chunked bool
}

// head reads status line and headers; raw gets them as they came where it is not nil.
func (c *client) head(raw io.Writer) (h head, err error) {
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return h, err
		}
		if raw != nil {
			if _, err := raw.Write(line); err != nil {
				return h, err
			}
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case first:
			if len(line) < 12 {
				return h, fmt.Errorf("not a status line: %q", line)
			}
			h.status, err = strconv.Atoi(string(line[9:12]))
		case len(line) == 0:
			return h, nil
		case hasName(line, "Content-Length:"):
			h.length, err = strconv.ParseInt(string(bytes.TrimSpace(line[15:])), 10, 64)
		case hasName(line, "Transfer-Encoding:"):
			h.chunked = true
		}
		if err != nil {
			return h, err
		}
	}
}

func hasName(line []byte, name string) bool {
	return len(line) >= len(name) && bytes.EqualFold(line[:len(name)], []byte(name))
}

// chunks copies the body of a chunked answer.
func (c *client) chunks(body io.Writer) error {
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 64)
		if err != nil {
			return err
		}
		if n > 0 {
			if _, err := io.CopyN(body, c.in, n); err != nil {
				return err
			}
		}
		if _, err := c.in.Discard(2); err != nil || n == 0 {
			return err
		}
	}
}

// ask makes one request outside a measurement and returns its body; a status of 400 or above is an error.
func ask(address, method, path string, body []byte) ([]byte, error) {
	c, err := dial(address)
	if err != nil {
		return nil, err
	}
	var answer bytes.Buffer
	status, err := c.roundTrip(call(method, path, body), &answer)
	err = errors.Join(err, c.connection.Close())
	if err == nil && status >= 400 {
		err = fmt.Errorf("%s %s answered %d: %.200s", method, path, status, answer.Bytes())
	}
	return answer.Bytes(), err
}

// record makes one request and returns the answer's bytes as they came, for the bare handler to repeat.
func record(address string, request []byte) ([]byte, error) {
	c, err := dial(address)
	if err != nil {
		return nil, err
	}
	if _, err := c.connection.Write(request); err != nil {
		return nil, errors.Join(err, c.connection.Close())
	}
	var all bytes.Buffer
	h, err := c.head(&all)
	if err == nil && h.chunked {
		err = c.chunks(&all)
	} else if err == nil {
		_, err = io.CopyN(&all, c.in, h.length)
	}
	return all.Bytes(), errors.Join(err, c.connection.Close())
}

// load is a number of requests, or as many as fit into a time.
type load struct {
	address string
	others  []string // further servers: connections are dealt out to all of them
	workers int
	limit   time.Duration                 // the time, where requests do not end by themselves
	request func(worker, turn int) []byte // nil when this worker has no more
}

// result is what a load did.
type result struct {
	operations int64
	elapsed    time.Duration
}

func (r result) rate() float64 { return float64(r.operations) / r.elapsed.Seconds() }

// drive runs a load. Any answer that is not a success ends it with an error: a fast refusal is not speed.
func drive(l load) (result, error) {
	clients := make([]*client, l.workers)
	addresses := append([]string{l.address}, l.others...)
	for i := range clients {
		c, err := dial(addresses[i%len(addresses)])
		if err != nil {
			return result{}, err
		}
		clients[i] = c
	}
	var operations atomic.Int64
	failures := make([]error, l.workers)
	var group sync.WaitGroup
	start := time.Now()
	for i, c := range clients {
		group.Go(func() { failures[i] = l.work(c, i, start, &operations) })
	}
	group.Wait()
	r := result{operations.Load(), time.Since(start)}
	for _, c := range clients {
		failures = append(failures, c.connection.Close())
	}
	return r, errors.Join(failures...)
}

// work is one connection's share of a load.
func (l load) work(c *client, worker int, start time.Time, operations *atomic.Int64) error {
	done := int64(0)
	defer func() { operations.Add(done) }()
	var wrong bytes.Buffer
	for turn := 0; l.limit == 0 || time.Since(start) < l.limit; turn++ {
		request := l.request(worker, turn)
		if request == nil {
			return nil
		}
		status, err := c.roundTrip(request, nil)
		if err != nil {
			return err
		}
		if status >= 400 {
			// Once more, to see the reason; what it says may differ by now, and the load has failed either way.
			if _, err := c.roundTrip(request, &wrong); err != nil {
				return err
			}
			line, _, _ := strings.Cut(string(request), "\r\n")
			return fmt.Errorf("%s answered %d: %.200s", line, status, wrong.Bytes())
		}
		done++
	}
	return nil
}
