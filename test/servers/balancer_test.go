package servers

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// late is a body whose end is looked for only after the answer has begun.
type late struct {
	io.ReadCloser
	left          int64
	begun, looked chan struct{}
}

// Read implements io.Reader.
func (l *late) Read(p []byte) (int, error) {
	if l.left <= 0 {
		<-l.begun
		defer close(l.looked)
	}
	n, err := l.ReadCloser.Read(p)
	l.left -= int64(n)
	return n, err
}

// TestBalancerKeepsAnswers has a server begin its answer, as a feed does, before the balancer has looked whether the
// body that it passed on is longer than announced: the answer goes on.
func TestBalancerKeepsAnswers(t *testing.T) {
	begun, looked := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != "body" {
			t.Errorf("the server got %q, %v", body, err)
		}
		_, _ = io.WriteString(w, "first\n") // the client sees what is missing
		_ = http.NewResponseController(w).Flush()
		<-looked
		_, _ = io.WriteString(w, "last\n")
	}))
	defer server.Close()
	b, err := NewBalancer("127.0.0.1:0", []string{server.URL}, []string{server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	proxy := b.server.Handler
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = &late{r.Body, r.ContentLength, begun, looked}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	defer begin()
	answer, err := http.Post(front.URL, "text/plain", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	first := make([]byte, len("first\n"))
	if _, err := io.ReadFull(answer.Body, first); err != nil {
		t.Fatal(err)
	}
	begin()
	rest, err := io.ReadAll(answer.Body)
	if err != nil || string(rest) != "last\n" {
		t.Errorf("after %q came %q, %v", first, rest, err)
	}
}
