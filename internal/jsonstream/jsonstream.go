// Package jsonstream reads JSON from a stream value by value, as bytes, so that what is read is never decoded whole: rows
// of a feed, documents of an answer or of a file. It knows nothing of what the values are.
//
// Begin reading at Values.
package jsonstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sectional/sectional/internal/jsonscan"
)

// Values reads JSON values from a stream one by one, as bytes: the rows of a
// feed and the documents of a _bulk_get are never decoded whole. It finds their
// ends by brackets and strings alone; who takes a value apart checks it first,
// or passes it on to somebody who does.
type Values struct {
	from io.Reader
	buf  []byte
	r, w int // what is read and not yet taken is buf[r:w]
	max  int // the longest value
}

// Longest bounds one value: a document without the bytes of attachments.
const Longest = 256 << 20

// ErrForm is what a peer's answer is that stops making sense.
var ErrForm = errors.New("the answer is not JSON of the form expected")

// New returns the values of a stream.
func New(from io.Reader) *Values {
	return &Values{from: from, buf: make([]byte, 64<<10), max: Longest}
}

// Fill reads more; io.ErrUnexpectedEOF at the end, since it is only called
// where something is still to come.
func (v *Values) Fill() error {
	if v.r > 0 {
		v.w = copy(v.buf, v.buf[v.r:v.w])
		v.r = 0
	}
	if v.w == len(v.buf) {
		if len(v.buf) >= v.max {
			return fmt.Errorf("a value of more than %d bytes", v.max)
		}
		v.buf = append(v.buf, make([]byte, len(v.buf))...)
	}
	for range 100 {
		n, err := v.from.Read(v.buf[v.w:])
		v.w += n
		if n > 0 {
			return nil
		}
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// Peek returns the next byte that is not white space without taking it.
func (v *Values) Peek() (byte, error) {
	for {
		for v.r < v.w {
			switch c := v.buf[v.r]; c {
			case ' ', '\t', '\r', '\n':
				v.r++
			default:
				return c, nil
			}
		}
		if err := v.Fill(); err != nil {
			return 0, err
		}
	}
}

// expect takes the byte c.
func (v *Values) expect(c byte) error {
	got, err := v.Peek()
	if err != nil {
		return err
	}
	if got != c {
		return ErrForm
	}
	v.r++
	return nil
}

// Value takes a whole value. Its bytes hold until the next call.
func (v *Values) Value() ([]byte, error) {
	if _, err := v.Peek(); err != nil {
		return nil, err
	}
	var s scanner
	for at := 0; ; {
		n, done := s.scan(v.buf[v.r+at : v.w])
		at += n
		if done {
			value := v.buf[v.r : v.r+at]
			v.r += at
			if at == 0 {
				return nil, ErrForm
			}
			return value, nil
		}
		if err := v.Fill(); err != nil {
			return nil, err
		}
	}
}

// Waiting reports whether nothing more has been read than what is between
// values, so that the next one would have to be waited for.
func (v *Values) Waiting() bool {
	for i := v.r; i < v.w; i++ {
		switch v.buf[i] {
		case ' ', '\t', '\r', '\n', ',':
		default:
			return false
		}
	}
	return true
}

// scanner finds the end of a value that comes in pieces.
type scanner struct {
	depth  int
	text   bool // in a string
	escape bool // after a backslash
}

// scan looks at the next piece: how much of it belongs to the value, and whether
// that ends there.
func (s *scanner) scan(b []byte) (n int, done bool) {
	for i := 0; i < len(b); i++ {
		if s.text {
			if i = s.string(b, i); i < len(b) && s.depth == 0 {
				return i + 1, true
			}
			continue
		}
		switch c := b[i]; c {
		case '"':
			s.text = true
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth--; s.depth < 0 {
				return i, true // of what is around it
			}
			if s.depth == 0 {
				return i + 1, true
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if s.depth == 0 {
				return i, true
			}
		}
	}
	return len(b), false
}

// string goes on in a string from b[i] and returns the index of the quote that
// ends it, or len(b). Most strings are short, and a plain loop is the fastest
// way through them; what is long is searched.
func (s *scanner) string(b []byte, i int) int {
	for near := i + searchAfter; i < len(b); i++ {
		switch {
		case s.escape:
			s.escape = false
			near = i + searchAfter
		case b[i] == '\\':
			s.escape = true
		case b[i] == '"':
			s.text = false
			return i
		case i >= near:
			i += plain(b[i+1:])
		}
	}
	return i
}

const (
	// searchAfter is how many bytes without an escape call for a search.
	searchAfter = 32
	// searched is how far one search goes: it may be for nothing.
	searched = 1024
)

// plain counts bytes before the first quote or backslash.
func plain(b []byte) int {
	b = b[:min(len(b), searched)]
	if n := bytes.IndexByte(b, '"'); n >= 0 {
		b = b[:n]
	}
	if n := bytes.IndexByte(b, '\\'); n >= 0 {
		return n
	}
	return len(b)
}

// Object takes an object of which the member called list is an array: each gets
// the elements one by one, and other the remaining members, which are checked.
// An object without that member is an error, since it is an answer of another
// kind.
func (v *Values) Object(list string, each func([]byte) error, other func(name string, value []byte) error) error {
	return v.lists(map[string]func([]byte) error{list: each}, other)
}

// Lists is Object for any of several lists, which passes over the remaining members.
func (v *Values) Lists(each map[string]func([]byte) error) error {
	return v.lists(each, func(string, []byte) error { return nil })
}

func (v *Values) lists(each map[string]func([]byte) error, other func(name string, value []byte) error) error {
	if err := v.expect('{'); err != nil {
		return err
	}
	found := false
	for first := true; ; first = false {
		c, err := v.Peek()
		if err != nil {
			return err
		}
		if c == '}' {
			v.r++
			break
		}
		if !first {
			if err := v.expect(','); err != nil {
				return err
			}
		}
		name, err := v.name()
		if err != nil {
			return err
		}
		if list := each[name]; list != nil {
			found = true
			err = v.Array(list)
		} else {
			err = v.member(name, other)
		}
		if err != nil {
			return err
		}
	}
	if !found {
		return ErrForm
	}
	return nil
}

// name takes the name of a member and the colon after it.
func (v *Values) name() (string, error) {
	raw, err := v.Value()
	if err != nil {
		return "", err
	}
	if raw[0] != '"' || !json.Valid(raw) {
		return "", ErrForm
	}
	return string(jsonscan.Text(nil, raw)), v.expect(':')
}

func (v *Values) member(name string, other func(string, []byte) error) error {
	raw, err := v.Value()
	if err != nil {
		return err
	}
	if !json.Valid(raw) {
		return ErrForm
	}
	return other(name, raw)
}

// Array takes an array; each gets its elements.
func (v *Values) Array(each func([]byte) error) error {
	if err := v.expect('['); err != nil {
		return err
	}
	for first := true; ; first = false {
		c, err := v.Peek()
		if err != nil {
			return err
		}
		if c == ']' {
			v.r++
			return nil
		}
		if !first {
			if err := v.expect(','); err != nil {
				return err
			}
		}
		element, err := v.Value()
		if err != nil {
			return err
		}
		if err := each(element); err != nil {
			return err
		}
	}
}
