package system

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// idlers are clients that hold a connection and do nothing with it: the request that each begins.
var idlers = map[string]string{
	"a byte":               "G",
	"half of the headers":  "GET /_up HTTP/1.1\r\nHost: s\r\n",
	"a byte of a body":     "PUT /db/doc HTTP/1.1\r\nHost: s\r\nAuthorization: Basic YWRtOnBhc3M=\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
	"a body nobody reads":  "GET /_up HTTP/1.1\r\nHost: s\r\nContent-Length: 1000\r\n\r\n",
	"answers without read": "GET /db/_all_docs?include_docs=true HTTP/1.1\r\nHost: s\r\nAuthorization: Basic YWRtOnBhc3M=\r\n\r\n",
}

// TestIdlersLeaveRoom opens more connections than the server has descriptors for, all of clients that wait or never
// read, and keeps them. Others are still answered, and the store still has files to write to.
func TestIdlersLeaveRoom(t *testing.T) {
	const descriptors, clients = 512, 700
	s := process.Start(t, process.Options{Descriptors: descriptors})
	c := ask(s)
	c.must(t, 201, "PUT", "/db", "", nil)
	large := strings.Repeat("x", 1<<20)
	for i := range 12 {
		c.must(t, 201, "PUT", fmt.Sprintf("/db/large%d", i), `{"x":"`+large+`"}`, nil)
	}
	opened := 0
	for opened < clients {
		for _, request := range idlers {
			conn, err := net.DialTimeout("tcp", s.Address, time.Minute)
			if err != nil {
				t.Fatalf("client %d: %v", opened, err)
			}
			defer conn.Close()
			_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10) // smaller or not, it is never read
			_, _ = io.WriteString(conn, request)           // the server may have hung up
			opened++
		}
	}
	answered(t, s.Base+"/_up", "127.0.0.1")
	answered(t, s.Base+"/_up", "127.0.0.9")
	// From another address than the idlers': theirs is full, and whoever comes from there is refused while none of
	// them has waited for a second.
	others := ask(s)
	others.http.Transport = transportFrom("127.0.0.9")
	for i := range 20 {
		others.must(t, 201, "PUT", fmt.Sprintf("/db/small%d", i), `{}`, nil)
	}
}

// transportFrom opens a connection for each request, from one of the loopback interface's addresses.
func transportFrom(address string) *http.Transport {
	dial := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: time.Minute}
	return &http.Transport{DialContext: dial.DialContext, DisableKeepAlives: true}
}

// answered asks from one of the loopback interface's addresses until there is an answer.
func answered(t *testing.T, url, from string) {
	t.Helper()
	h := &http.Client{Transport: transportFrom(from), Timeout: 5 * time.Second}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := h.Do(r)
		if err == nil {
			_ = a.Body.Close()
			if a.StatusCode == http.StatusOK {
				return
			}
			t.Fatalf("answer %d to %s", a.StatusCode, from)
		}
		if ctx.Err() != nil {
			t.Fatalf("no answer to %s: %v", from, err)
		}
	}
}
