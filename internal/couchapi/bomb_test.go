package couchapi_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	runtimemetrics "runtime/metrics"
	"strconv"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// bomb packs a body of JSON that unpacks to 48 MiB: head, and then element again and
// again.
func bomb(t *testing.T, head, element string) []byte {
	t.Helper()
	const unpacked, block = 48 << 20, 1 << 20
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(head))
	must(t, err)
	run := bytes.Repeat([]byte(element), block/len(element))
	for range unpacked / block {
		_, err := z.Write(run)
		must(t, err)
	}
	must(t, z.Close())
	return b.Bytes()
}

// allocated returns how many bytes the process has ever allocated on its heap.
func allocated() int64 {
	s := []runtimemetrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	runtimemetrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// throw sends a packed body and returns the answer and what was allocated for it. What is
// allocated is no less than what was held at any moment. Where it is more than most, it
// may have been somebody else's in this process, so it is sent again.
func (a *testAPI) throw(method, target, user string, body []byte, most int64) (w *httptest.ResponseRecorder, took int64) {
	for range 3 {
		if w, took = a.throwOnce(method, target, user, body); took <= most {
			break
		}
	}
	return w, took
}

func (a *testAPI) throwOnce(method, target, user string, body []byte) (*httptest.ResponseRecorder, int64) {
	r := httptest.NewRequest(method, target, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	if user != "" {
		r.SetBasicAuth(user, "pass")
	}
	w := httptest.NewRecorder()
	before := allocated()
	a.ServeHTTP(w, r)
	return w, allocated() - before
}

// TestBombs sends every route a body that is small until it is unpacked, as nobody and as
// an administrator, and looks at what is allocated for it: little for those who may not,
// and for all others no more than bodies may take.
func TestBombs(t *testing.T) {
	testrun.Sequential(t)
	const budget = 1 << 20
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "max_bodies_memory", Value: strconv.Itoa(budget)})
	a.do("PUT", "/plain", "").want(201, "")
	a.do("PUT", "/parted?partitioned=true", "").want(201, "")
	blanks := bomb(t, "{", " ")
	methods := strings.NewReplacer("*", "GET,POST,PUT,DELETE", "GET", "GET")
	for _, row := range couchhttp.ExpandRoutes(couchapi.AllRoutes()) {
		for method := range strings.SplitSeq(methods.Replace(row.Methods), ",") {
			for _, user := range []string{"", "adm"} {
				most := int64(8 * budget)
				if user == "" {
					most = 512 << 10 // a login is read from anybody
				}
				if w, took := a.throw(method, concrete(row.Pattern), user, blanks, most); took > most {
					t.Errorf("%s %s as %q: %d bytes were allocated, answer %d", method, row.Pattern, user, took, w.Code)
				}
			}
			if t.Failed() && testing.Short() {
				return
			}
		}
	}
}

// elementBombs are bodies of many small things, which cost more than their bytes once
// they are taken apart.
var elementBombs = map[string][2]string{
	"documents":     {`{"docs":[`, `{},`},
	"keys":          {`{"keys":[`, `0,`},
	"texts":         {`{"keys":[`, `"",`},
	"ids":           {`{"doc_ids":[`, `"a",`},
	"queries":       {`{"queries":[`, `{},`},
	"members":       {`{`, `"":0,`},
	"lists":         {`{`, `"a":["1-a"],`},
	"alternatives":  {`{"selector":{"$or":[`, `{},`},
	"fields":        {`{"selector":{},"fields":[`, `"a",`},
	"depth":         {`{"selector":`, `[`},
	"attachments":   {`{"_attachments":{`, `"a":{"stub":true},`},
	"revisions":     {`{"_revisions":{"start":1,"ids":[`, `"a",`},
	"manyDocuments": {`{"docs":[`, `{"a":1},`},
}

// closers end the bodies of elementBombs so that they are well-formed.
func wellFormed(head, element string, size int) []byte {
	b := append([]byte(head), bytes.Repeat([]byte(element), size/len(element))...)
	b = bytes.TrimSuffix(b, []byte(","))
	var open []byte
	quoted := false
	for _, c := range b {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			open = append(open, '}')
		case c == '[':
			open = append(open, ']')
		case c == '}' || c == ']':
			open = open[:len(open)-1]
		}
	}
	for i := len(open) - 1; i >= 0; i-- {
		b = append(b, open[i])
	}
	return b
}

// TestElementBombs sends every route that reads a body what is cheap to write and dear to
// take apart.
func TestElementBombs(t *testing.T) {
	testrun.Sequential(t)
	const budget = 4 << 20
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "max_bodies_memory", Value: strconv.Itoa(budget)})
	a.do("PUT", "/plain", "").want(201, "")
	a.do("PUT", "/parted?partitioned=true", "").want(201, "")
	for name, parts := range elementBombs {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err := z.Write(wellFormed(parts[0], parts[1], 1<<20))
		must(t, err)
		must(t, z.Close())
		for _, row := range couchapi.AllRoutes() {
			for method := range strings.SplitSeq(strings.ReplaceAll(row.Methods, "*", "POST"), ",") {
				if method == http.MethodGet || method == http.MethodDelete || row.Missing != "" {
					continue
				}
				w, took := a.throw(method, concrete(row.Pattern), "adm", packed.Bytes(), 4*budget)
				if took > 4*budget {
					t.Errorf("%s to %s %s: %d bytes were allocated, answer %d %.200s", name, method, row.Pattern, took, w.Code, w.Body)
				}
				t.Logf("%s to %s %s: %d, %d", name, method, row.Pattern, took, w.Code)
			}
		}
	}
}
