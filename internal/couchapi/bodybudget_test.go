package couchapi_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sectional/sectional/internal/config"
)

// slowBody is a request whose body comes as the test writes it.
type slowBody struct {
	to     *io.PipeWriter
	answer chan answer
}

// sendSlowly begins a request, whose body the test writes and ends.
func (a *testAPI) sendSlowly(method, target string, header ...string) slowBody {
	from, to := io.Pipe()
	r := httptest.NewRequest(method, target, from)
	r.SetBasicAuth("adm", "pass")
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = -1
	for i := 0; i < len(header); i += 2 {
		if r.Header.Del(header[i]); header[i+1] != "" {
			r.Header.Set(header[i], header[i+1])
		}
	}
	s := slowBody{to, make(chan answer, 1)}
	go func() {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		_ = from.Close() // whoever still writes is told
		s.answer <- answer{a.t, w.Code, w.Result().Header, w.Body.String()}
	}()
	return s
}

// TestBodiesShareABudget fills what a caller may have of the budget with bodies that do not end: what is too much
// then is refused after it has waited, what is small passes, and everything is given back.
func TestBodiesShareABudget(t *testing.T) {
	synctest.Test(t, testSharedBudget)
}

func testSharedBudget(t *testing.T) {
	const budget = 1 << 20
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "max_bodies_memory", Value: strconv.Itoa(budget)})
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_security", `{"members":{"roles":[]},"admins":{"roles":[]}}`).want(200, "")
	run := strings.Repeat(" ", 110<<10) // documents cost three times their bytes, and once more where they are kept to be read again

	waits := a.sendSlowly("PUT", "/db/waits")
	_, err := io.WriteString(waits.to, "{"+run)
	must(t, err)
	_, err = io.WriteString(waits.to, " ") // the run before it is charged by now
	must(t, err)
	w := a.do("PUT", "/db/other", "{"+run+"}").want(503, "")
	if w.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", w.Header.Get("Retry-After"))
	}
	a.do("PUT", "/db/small", `{"a":1}`).want(201, "")
	a.do("POST", "/_session", `{"name":"adm","password":"pass"}`, "Authorization", "").want(200, "")

	_, err = io.WriteString(waits.to, "}")
	must(t, err)
	must(t, waits.to.Close())
	if got := <-waits.answer; got.Status != 201 {
		t.Errorf("the one that waited: %d %s", got.Status, got.Body)
	}
	a.do("PUT", "/db/other", "{"+run+"}").want(201, "")
	a.do("PUT", "/db/never", "{"+run+run+"}").want(413, `{"error":"too_large","reason":"the request entity is too large (the limit is 524288 bytes of memory, a part of [sectional] max_bodies_memory)"}`)
	find := `{"selector":{}` + run[:100<<10] + `}`
	a.do("POST", "/db/_find", find).want(200, "")
	a.do("POST", "/db/_find", find, "Authorization", "").want(413, "") // half of that is for nobody
}

// TestDeclaredLengthsCostNothing declares much and sends little.
func TestDeclaredLengthsCostNothing(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	for method, target := range map[string]string{
		"PUT": "/db/doc", "POST": "/db/_bulk_docs", "PATCH": "/db/doc",
	} {
		r := httptest.NewRequest(method, target, strings.NewReader("{"))
		r.SetBasicAuth("adm", "pass")
		r.Header.Set("Content-Type", "application/json")
		r.ContentLength = 60 << 20
		before := allocated()
		a.ServeHTTP(httptest.NewRecorder(), r)
		if took := allocated() - before; took > 512<<10 {
			t.Errorf("%s %s: %d bytes were allocated", method, target, took)
		}
	}
}

// TestInlinePartsAreCharged sends many small attachments in parts of their own, which are
// held until the document is stored.
func TestInlinePartsAreCharged(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "max_bodies_memory", Value: strconv.Itoa(1 << 20)})
	a.do("PUT", "/db", "").want(201, "")
	related := func(n int) string {
		var doc, parts strings.Builder
		for i := range n {
			fmt.Fprintf(&doc, `,"a%d":{"follows":true,"length":10000}`, i)
			parts.WriteString("\r\n--B\r\n\r\n" + strings.Repeat("x", 10000))
		}
		return "--B\r\n\r\n{\"_attachments\":{" + doc.String()[1:] + "}}" + parts.String() + "\r\n--B--"
	}
	a.do("PUT", "/db/some", related(10), "Content-Type", `multipart/related;boundary="B"`).want(201, "")
	a.do("PUT", "/db/many", related(50), "Content-Type", `multipart/related;boundary="B"`).want(413, "")
	form := func(n int) string {
		var parts strings.Builder
		for i := range n {
			fmt.Fprintf(&parts, "--B\r\nContent-Disposition: form-data; name=\"_attachments\"; filename=\"a%d\"\r\n\r\n%s\r\n", i, strings.Repeat("x", 10000))
		}
		return "--B\r\nContent-Disposition: form-data; name=\"_doc\"\r\n\r\n{}\r\n" + parts.String() + "--B--"
	}
	as := []string{"Content-Type", `multipart/form-data;boundary="B"`, "Referer", "http://example.com/"}
	a.do("POST", "/db/formed", form(10), as...).want(201, "")
	a.do("POST", "/db/formed2", form(50), as...).want(413, "")
}

// TestUploadsAreCharged charges an upload for its buffer while it lasts, not for its bytes.
func TestUploadsAreCharged(t *testing.T) {
	synctest.Test(t, testChargedUploads)
}

func testChargedUploads(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "max_bodies_memory", Value: strconv.Itoa(5 << 20)})
	a.do("PUT", "/db", "").want(201, "")
	large := strings.Repeat("x", 3<<20)
	a.do("PUT", "/db/doc/a", large+large, "Content-Type", "image/png").want(201, "")
	waits := a.sendSlowly("PUT", "/db/waits/a", "Content-Type", "image/png")
	_, err := io.WriteString(waits.to, large)
	must(t, err)
	a.do("PUT", "/db/doc2/a", large, "Content-Type", "image/png").want(503, "")
	must(t, waits.to.Close())
	if got := <-waits.answer; got.Status != 201 {
		t.Errorf("the one that waited: %d %s", got.Status, got.Body)
	}
	a.do("PUT", "/db/doc2/a", large, "Content-Type", "image/png").want(201, "")
}

// TestRightsComeBeforeBodies asks for what the caller may not with a body that never
// comes: the answer does not wait for it.
func TestRightsComeBeforeBodies(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_security", `{"members":{"names":["jan"]},"admins":{"roles":["_admin"]}}`).want(200, "")
	a.do("PUT", "/_users/org.couchdb.user:jan", `{"name":"jan","password":"jan","roles":[],"type":"user"}`).want(201, "")
	jan := "Basic " + base64.StdEncoding.EncodeToString([]byte("jan:jan"))
	for _, ask := range []struct {
		method, target, as string
		status             int
	}{
		{"POST", "/_replicate", "", 401}, {"POST", "/_cluster_setup", jan, 401}, {"PUT", "/_node/_local/_config/a/b", jan, 401},
		{"POST", "/db/_find", "", 401}, {"POST", "/db/_bulk_docs", "", 401}, {"PUT", "/db/doc", "", 401}, {"PUT", "/db/_local/x", "", 401},
		{"PUT", "/db/_design/x", jan, 403}, {"PATCH", "/db/_design/x", jan, 403}, {"PUT", "/db/_design/x/att", jan, 403},
		{"PUT", "/db/_security", jan, 403}, {"POST", "/_users/_find", jan, 403},
	} {
		s := a.sendSlowly(ask.method, ask.target, "Authorization", ask.as)
		if got := <-s.answer; got.Status != ask.status {
			t.Errorf("%s %s: %d %s, want %d", ask.method, ask.target, got.Status, got.Body, ask.status)
		}
	}
}

// TestLoadedSnapshotsAreCharged loads a snapshot while there is room for it, and while there is none.
func TestLoadedSnapshotsAreCharged(t *testing.T) {
	synctest.Test(t, testChargedSnapshots)
}

func testChargedSnapshots(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "max_bodies_memory", Value: strconv.Itoa(1 << 20)})
	for _, db := range []string{"from", "to"} {
		a.do("PUT", "/"+db, "").want(201, "")
	}
	a.do("PUT", "/from/doc", `{"x":"`+strings.Repeat("x", 100<<10)+`"}`).want(201, "")
	text := a.do("GET", "/from/_snapshot", "", "Accept-Encoding", "identity").want(200, "")
	load := func(status int) {
		t.Helper()
		a.do("POST", "/to/_snapshot", text.Body, "Content-Type", text.Header.Get("Content-Type")).want(status, "")
	}
	waits := a.sendSlowly("PUT", "/from/waits")
	_, err := io.WriteString(waits.to, "{"+strings.Repeat(" ", 50<<10))
	must(t, err)
	_, err = io.WriteString(waits.to, "}")
	must(t, err)
	load(503)
	must(t, waits.to.Close())
	if got := <-waits.answer; got.Status != 201 {
		t.Errorf("the one that waited: %d %s", got.Status, got.Body)
	}
	load(201)
}
