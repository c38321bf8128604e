package web

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// newRefusing makes an API whose action "Do" takes a megabyte, and "Busy" more than there is memory for.
func newRefusing() *small {
	read := func(r *Request) error {
		_, err := r.Body(nil)
		return err
	}
	a := newSmall(NewShared(nil, nil, nil), read)
	a.settings.MaxBody.Bytes, a.settings.MaxMemory.Bytes, a.settings.BodyTimeout = 1<<30, 1<<30, time.Hour
	a.actions["Busy"] = action{Action{Class: a.class, Body: BodyCost{Max: 1 << 30, Weight: 16}}, false, read}
	for range maxWaiting { // all of it is held, and nobody else may wait
		a.budget.waiting = append(a.budget.waiting, &bodyWaiter{})
	}
	a.budget.charged.memory = a.settings.MaxMemory.Bytes
	return a
}

// sends sends a request as clients do that look for an answer when they have sent everything. The status is that of the answer.
func sends(at net.Addr, head string, length int) (status int, err error) {
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute)) // it has a deadline by then
	if _, err := fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: s\r\n%sContent-Length: %d\r\n\r\n", head, length); err != nil {
		return 0, err
	}
	for part := make([]byte, 64<<10); length > 0; length -= len(part) {
		if _, err := c.Write(part[:min(len(part), length)]); err != nil {
			return 0, err
		}
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}

// TestRefusedSeeTheAnswer has clients whose bodies are refused send all of them before they look for an answer.
func TestRefusedSeeTheAnswer(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(newRefusing())
	defer s.Close()
	for name, want := range map[string]int{"Do": 413, "Busy": 503} {
		seen := map[string]int{}
		for range 5 {
			status, err := sends(s.Listener.Addr(), "X-Key: ann\r\nX-Action: "+name+"\r\n", 15<<20)
			seen[fmt.Sprint(status, err)]++
		}
		if seen[fmt.Sprint(want, nil)] != 5 {
			t.Errorf("%s: %v", name, seen)
		}
	}
}

// TestRefusedBeforeContinue refuses a client that waits to be told to send its body.
func TestRefusedBeforeContinue(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(newRefusing())
	defer s.Close()
	for action, want := range map[string]int{"Do": 413, "None": 404} {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(2 * time.Minute)) // it has a deadline by then
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: s\r\nX-Key: ann\r\nX-Action: %s\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", action, 15<<20)
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || answer.StatusCode != want || !answer.Close {
			t.Error(action, answer, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// endless is a body without an end, of which somebody counts how much is read.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

func (e *endless) Close() error { return nil }

// TestRefusedAreReadBriefly looks at how much is read of a body after it was refused, and until when.
func TestRefusedAreReadBriefly(t *testing.T) {
	start := time.Now()
	a := newRefusing()
	a.Now = func() time.Time { return start }
	for _, test := range []struct {
		length int64
		header string
		want   int // bytes that are read
	}{
		{lingerBytes, "X-Key: ann", lingerBytes},
		{-1, "X-Key: ann", lingerBytes},
		{1 << 30, "X-Key: ann", lingerStrange},
		{1 << 30, "X-Key:", lingerStrange},
		{1 << 30, "X-Key: wrong", lingerStrange},
		{-1, "X-Key: wrong", 0},
		{1 << 30, "Expect: 100-continue", 0},
	} {
		body := &endless{}
		h := httptest.NewRequest("POST", "/", nil)
		h.Header.Set("X-Action", "Do")
		name, value, _ := strings.Cut(test.header, ":")
		h.Header.Set(name, strings.TrimSpace(value))
		h.Body, h.ContentLength = body, test.length
		l := &lineRecorder{ResponseRecorder: httptest.NewRecorder()}
		a.ServeHTTP(l, h)
		if body.read < test.want || body.read > test.want+64<<10 {
			t.Errorf("%+v: %d bytes were read", test, body.read)
		}
		if last := l.deadlines[len(l.deadlines)-1]; test.want > 0 && !last.Equal(start.Add(lingerTime)) {
			t.Errorf("%+v: until %v", test, last.Sub(start))
		}
		if l.Code < 400 || h.Body != io.ReadCloser(body) {
			t.Errorf("%+v: %d, %T", test, l.Code, h.Body)
		}
	}
	body := bytes.NewReader(make([]byte, 100))
	l := &lineRecorder{ResponseRecorder: httptest.NewRecorder()}
	h := httptest.NewRequest("POST", "/", body)
	h.Header.Set("X-Action", "Do")
	if a.ServeHTTP(l, h); l.Code != 200 || !l.deadlines[len(l.deadlines)-1].IsZero() {
		t.Error(l.Code, l.deadlines)
	}
}
