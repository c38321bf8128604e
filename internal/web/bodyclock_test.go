package web

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
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
	a := newSmall(NewShared(nil, nil, nil), nil)
	start := time.Now()
	now := start
	a.Now = func() time.Time { return now }
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
		r := &Request{HTTP: h, frame: a.frame, w: l, Began: now}
		r.watchBody()
		_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r.HTTP.Body}, make([]byte, 4096))
		if err != nil {
			t.Fatal(err)
		}
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
