package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/sigv4"
)

// serve runs a handler and returns its address.
func serve(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func write(t *testing.T, w http.ResponseWriter, text string) {
	if _, err := w.Write([]byte(text)); err != nil {
		t.Error(err)
	}
}

func TestClientReadsAnswers(t *testing.T) {
	long := strings.Repeat("0123456789", 20_000)
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/chunked":
			for part := range strings.SplitSeq(long, "5") {
				write(t, w, part)
				w.(http.Flusher).Flush()
			}
		case "/short":
			w.WriteHeader(http.StatusCreated)
			write(t, w, "short")
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		}
	})
	c, err := dial(address)
	if err != nil {
		t.Fatal(err)
	}
	// All on one connection: what is left over of one answer would break the next.
	for range 2 {
		for path, want := range map[string]string{"/chunked": strings.ReplaceAll(long, "5", ""), "/short": "short", "/none": ""} {
			var body bytes.Buffer
			if _, err := c.roundTrip(call("GET", path, nil), &body); err != nil || body.String() != want {
				t.Fatalf("%s: %v, %d bytes", path, err, body.Len())
			}
		}
	}
}

func TestDriveStopsAtARefusal(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/3" {
			http.Error(w, "no such thing", http.StatusNotFound)
		}
	})
	var requests [][]byte
	for n := range 8 {
		requests = append(requests, call("GET", fmt.Sprintf("/%d", n), nil))
	}
	_, err := drive(load{address: address, workers: connections, request: dealt(requests)})
	if err == nil || !strings.Contains(err.Error(), "GET /3 HTTP/1.1 answered 404: no such thing") {
		t.Errorf("got %v", err)
	}
	r, err := drive(load{address: address, workers: connections, request: dealt(requests[:3])})
	if err != nil || r.operations != 3 {
		t.Errorf("%d operations, %v", r.operations, err)
	}
}

func TestRecordTakesTheAnswerAsItIs(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", `"x"`)
		write(t, w, "hello")
	})
	answer, err := record(address, call("GET", "/", nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"HTTP/1.1 200 OK\r\n", "Etag: \"x\"\r\n", "\r\n\r\nhello"} {
		if !bytes.Contains(answer, []byte(part)) {
			t.Errorf("%q lacks %q", answer, part)
		}
	}
}

func TestDocuments(t *testing.T) {
	if n := len(document(7, "")); n < documentBytes-2 || n > documentBytes {
		t.Errorf("a document has %d bytes", n)
	}
	if d := replicated(7); len(d) != replicatedBytes || !json.Valid(d) {
		t.Errorf("a document to replicate has %d bytes: %s", len(d), d)
	}
	var body struct{ Docs []map[string]any }
	if err := json.Unmarshal(bulk(40, 30, withID), &body); err != nil {
		t.Fatal(err)
	}
	if len(body.Docs) != 30 || body.Docs[0]["_id"] != documentID(40) {
		t.Errorf("%d documents, the first is %v", len(body.Docs), body.Docs[0]["_id"])
	}
}

// TestSigned: the servers would refuse what is not signed right, but a wrong benchmark should not take a server to show.
func TestSigned(t *testing.T) {
	body := []byte(`{"TableName":"bench"}`)
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(signer{"SK1", "secret"}.call("GetItem", body))))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := sigv4.Parse(r.Header.Get)
	if err != nil {
		t.Fatal(err)
	}
	values := func(name string) []string { return r.Header.Values(name) }
	request := &sigv4.Request{Method: "POST", Path: "/", Host: r.Host, Header: values, Payload: sha256.Sum256(body)}
	if err := signature.Verify("secret", request); err != nil || signature.KeyID != "SK1" {
		t.Errorf("%q: %v", signature.KeyID, err)
	}
	if err := signature.Verify("another", request); err == nil {
		t.Error("another secret is as good")
	}
}

func TestItems(t *testing.T) {
	if text := stored(7); len(text) < 1000 || len(text) > 1200 || !json.Valid([]byte(text)) {
		t.Errorf("an item has %d bytes: %s", len(text), text)
	}
}

func TestRawPebble(t *testing.T) {
	rows := feedRows(100)
	dir := t.TempDir()
	if r, err := rawBulk(dir, rows, 7); err != nil || r.operations != 7 {
		t.Fatalf("%v, %v", r, err)
	}
	stored, err := storedRows(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(stored) != len(rows) {
		t.Errorf("%d rows of %d", len(stored), len(rows))
	}
	if r, err := rawFeed(t.TempDir(), 1234); err != nil || r.operations != 1234 {
		t.Errorf("%v, %v", r, err)
	}
}

func TestReport(t *testing.T) {
	f := figure{name: "GET", unit: "requests/s", ceiling: "bare", goal: 0.5, couchdb: 10, factor: 5}
	for _, ours := range []float64{90, 60, 30} {
		f.add(ours, 100, 1e-5)
	}
	short := f
	short.goal = 0.7
	if diff := cmp.Diff([]string{"reached", "short"}, []string{f.verdict(), short.verdict()}); diff != "" {
		t.Error(diff)
	}
	var out bytes.Buffer
	r := report{figures: []figure{f}, resources: []resource{{"idle", 70, "MB", 60}}}
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, part := range []string{"GET 60 requests/s bare 100 0.60 0.50 10 6.0 (≥ 5) 10.0 reached", "idle 70.00 MB at most 60.0 short"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q lacks %q", text, part)
		}
	}
}
