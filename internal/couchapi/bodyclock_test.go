package couchapi

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/config"
)

// lineRecorder notes the deadlines of reads.
type lineRecorder struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
}

func (l *lineRecorder) SetReadDeadline(t time.Time) error {
	l.deadlines = append(l.deadlines, t)
	return nil
}

// meted is a body of runs, each of which takes a time.
type meted struct {
	runs  []string
	takes time.Duration
	now   *time.Time
}

func (m *meted) Read(p []byte) (int, error) {
	if len(m.runs) == 0 {
		return 0, io.EOF
	}
	*m.now = m.now.Add(m.takes)
	n := copy(p, m.runs[0])
	m.runs = m.runs[1:]
	return n, nil
}

func (m *meted) Close() error { return nil }

// TestBodyClock returns a client time anew for each kilobyte, and none for less.
func TestBodyClock(t *testing.T) {
	a := newTestAPI(t)
	start := time.Now()
	now := start
	a.now = func() time.Time { return now }
	for name, test := range map[string]struct {
		run  string
		want []time.Duration // the deadlines, from the beginning on
	}{
		"a byte at a time":     {"x", []time.Duration{60, 60, 60, 60}},
		"a kilobyte at a time": {strings.Repeat("x", 1024), []time.Duration{60, 80, 100, 120}},
	} {
		now = start
		l := &lineRecorder{ResponseRecorder: httptest.NewRecorder()}
		h := httptest.NewRequest("PUT", "/db/doc", nil)
		h.ContentLength, h.Body = -1, &meted{runs: []string{test.run, test.run, test.run}, takes: 20 * time.Second, now: &now}
		r := &request{api: a.API, http: h, w: l, began: now}
		r.watchBody()
		_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r.http.Body}, make([]byte, 4096))
		must(t, err)
		if r.bodyTime != time.Minute {
			t.Errorf("%s: the body took %v", name, r.bodyTime)
		}
		for i, want := range test.want {
			if got := l.deadlines[i]; !got.Equal(start.Add(want * time.Second)) {
				t.Errorf("%s: deadline %d is after %v, want %ds", name, i, got.Sub(start), want)
			}
		}
		if last := l.deadlines[len(l.deadlines)-1]; !last.IsZero() || len(l.deadlines) != len(test.want)+1 {
			t.Errorf("%s: %v", name, l.deadlines)
		}
	}
}

// TestStalledBodies leaves bodies unfinished; the server gives each of them up.
func TestStalledBodies(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "body_timeout", Value: "100ms"})
	a.do("PUT", "/db", "").want(201, "")
	s := httptest.NewServer(a)
	defer s.Close()
	for _, line := range []string{
		"PUT /db/doc", "PUT /db/doc/att", "POST /db/_bulk_docs", "POST /db/_find", "POST /db/_ensure_full_commit", "DELETE /db/doc", "GET /_up", "POST /db/_snapshot",
	} {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		must(t, err)
		kind := "application/json"
		if strings.HasSuffix(line, "_snapshot") {
			kind = "application/vnd.sectional.snapshot"
		}
		_, err = io.WriteString(c, line+" HTTP/1.1\r\nHost: s\r\nAuthorization: Basic YWRtOnBhc3M=\r\nContent-Type: "+kind+"\r\nContent-Length: 1000\r\n\r\n{")
		must(t, err)
		in := bufio.NewReader(c)
		if answer, err := http.ReadResponse(in, nil); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
		}
		if _, err := in.ReadByte(); err == nil { // waits for the server to hang up
			t.Errorf("%s: there is more after the answer", line)
		}
		must(t, c.Close())
	}
}
