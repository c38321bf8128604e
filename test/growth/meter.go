package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/coverage"
	"strings"
)

// client sends requests to the server.
type client struct {
	url      string
	sent     int // so far, for ids that are new
	tries    int // so far
	counters bytes.Buffer
	shapes   []string // that each member of a body has, by their names
}

// send sends a request as the administrator. «n» in its path and body is another number each time, «try» in its body another
// one for each try.
func (c *client) send(in request) (status int, answer []byte, err error) {
	c.sent++
	if in.read != nil {
		return http.StatusOK, nil, in.read(in.body)
	}
	numbers := strings.NewReplacer("«n»", fmt.Sprint(c.sent), "«try»", fmt.Sprint(c.tries))
	r, err := http.NewRequest(in.method, cmp.Or(in.at, c.url)+numbers.Replace(in.path), strings.NewReader(numbers.Replace(in.body)))
	if err != nil {
		return 0, nil, err
	}
	r.SetBasicAuth("admin", "growth")
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(in.header); i += 2 {
		if r.Header.Del(in.header[i]); in.header[i+1] != "" {
			r.Header[http.CanonicalHeaderKey(in.header[i])] = []string{in.header[i+1]}
		}
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer a.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(a.Body, 1000))
	if err == nil {
		_, err = io.Copy(io.Discard, a.Body)
	}
	return a.StatusCode, answer, err
}

// must sends a request that must succeed.
func (c *client) must(r request) error {
	status, answer, err := c.send(r)
	if err == nil && status > 299 {
		err = fmt.Errorf("%s %s: %d %s", r.method, r.path, status, answer)
	}
	return err
}

// prepare makes a database, and sends requests that must succeed.
func (c *client) prepare(db string, requests []request) error {
	for _, r := range append([]request{{method: "PUT", path: "/" + db}}, requests...) {
		if err := c.must(r); err != nil {
			return err
		}
	}
	return nil
}

// work is what was worked so far: of one kind, that which is not counted being 0.
type work struct{ blocks, bytes uint64 }

// worked returns what the process has worked so far.
func (c *client) worked() (w work, err error) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w.bytes = m.TotalAlloc
	if c.counters.Reset(); coverage.WriteCounters(&c.counters) == nil { // else it is not built so
		w.blocks, err = sum(c.counters.Bytes())
	}
	return w, err
}

// The layout of a file of counters, see internal/coverage in Go's sources: a header, whose byte at flavor says how numbers
// are written, and one segment, which begins with the number of functions and the lengths of two tables. Of each
// function come the number of its counters, two numbers that name it, and the counters.
const (
	header    = 32
	flavor    = 24
	segment   = 16
	varint    = 2 // how numbers are written: as ULEB128, else in four bytes
	footer    = 16
	functions = 8 // bytes of the number of functions
)

// counts reports whether blocks are counted.
func (c *client) counts() (bool, error) {
	w, err := c.worked()
	return w.blocks > 0, err
}

// sum adds up counters. Errors: what is no file of counters.
func sum(file []byte) (total uint64, err error) {
	if len(file) < header+segment+footer {
		return 0, io.ErrUnexpectedEOF
	}
	le, at := binary.LittleEndian, file[header:len(file)-footer]
	count := le.Uint64(at)
	tables := segment + int(le.Uint32(at[functions:])) + int(le.Uint32(at[functions+4:]))
	if tables > len(at) {
		return 0, io.ErrUnexpectedEOF
	}
	r := bytes.NewReader(at[tables:])
	number := func() (v uint64) {
		if err != nil {
			return 0
		}
		if file[flavor] == varint {
			v, err = binary.ReadUvarint(r)
			return v
		}
		var four [4]byte
		_, err = io.ReadFull(r, four[:])
		return uint64(le.Uint32(four[:]))
	}
	for ; count > 0 && err == nil; count-- {
		n := number()
		number()
		number()
		for ; n > 0 && err == nil; n-- {
			total += number()
		}
	}
	return total, err
}

// Twice the input may be two and a half times the work, and what work is there beside it is not looked at: other requests of
// the server itself, buffers that grow by doubling, the same few lines for inputs of any size.
const (
	most       = 2.5
	freeBlocks = 200_000
	freeBytes  = 4 << 20
	tries      = 3 // what fails is measured again, since the server works for itself too
)

// measure sends an input of three sizes and returns what grows faster than it.
func (c *client) measure(out io.Writer, in input) (failures []string, err error) {
	for range tries {
		var done [3]work
		c.tries++
		status, answer := 0, []byte(nil)
		for i := range done {
			r := in.make(in.n << i)
			before, err := c.worked()
			if err != nil {
				return nil, err
			}
			if status, answer, err = c.send(r); err != nil {
				return nil, err
			}
			after, err := c.worked()
			if err != nil {
				return nil, err
			}
			done[i] = work{after.blocks - before.blocks, after.bytes - before.bytes}
		}
		fmt.Fprintf(out, "%s: %d bytes, %v, %d %.100q\n", in.name, in.make(in.n<<2).size(), done, status, answer)
		failures = nil
		for _, kind := range []struct {
			name   string
			of     [3]uint64
			beside float64
		}{
			{"blocks", [3]uint64{done[0].blocks, done[1].blocks, done[2].blocks}, freeBlocks},
			{"bytes", [3]uint64{done[0].bytes, done[1].bytes, done[2].bytes}, freeBytes},
		} {
			if w := kind.of; float64(w[2])-float64(w[1]) > most*max(0, float64(w[1])-float64(w[0]))+kind.beside {
				failures = append(failures, fmt.Sprintf("%s: inputs of %d, %d and %d elements are %d %s of work", in.name, in.n, in.n<<1, in.n<<2, w, kind.name))
			}
		}
		if failures == nil {
			break
		}
	}
	return failures, nil
}
