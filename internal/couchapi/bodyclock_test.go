package couchapi_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
)

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
