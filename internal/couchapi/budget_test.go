package couchapi_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// endless are selectors that would keep a server busy for hours on the document of hardWork.
func endless() map[string]string {
	return map[string]string{
		"pattern":  `{"l":{"$elemMatch":{"$regex":"^(a|aa)+\\1b$"}}}`,
		"negated":  `{"l":{"$elemMatch":{"$not":{"$regex":"(?!x)^(a+)+b$"}}}}`,
		"nested":   `{"$nor":[{"l":{"$allMatch":{"$not":{"$regex":"(a+)+b(?=x)"}}}}]}`,
		"elements": `{"$and":[` + strings.Repeat(`{"l":{"$elemMatch":{"$or":[{"x":1},{"$eq":"`+strings.Repeat("a", 4000)+`é"}]}}},`, 400) + `{"n":2}]}`,
		"number":   `{"$nor":[` + strings.Repeat(`{"m":{"$elemMatch":{"$eq":0.`+strings.Repeat("1", 9000)+`}}},`, 400) + `{"n":2}]}`,
	}
}

// hardWork makes a database with the document that endless selectors are about.
func hardWork(t *testing.T, settings ...config.Setting) *testAPI {
	t.Helper()
	a := newDB(t, "", settings...)
	var l, m []string
	for i := range 2000 {
		l = append(l, `"`+strings.Repeat("a", 50+i%7)+`"`)
		m = append(m, `0.`+strings.Repeat("1", 300)+fmt.Sprint(i%9+1))
	}
	a.put("/db/hard", `{"n":1,"l":[`+strings.Join(l, ",")+`],"m":[`+strings.Join(m, ",")+`]}`)
	return a
}

// TestWorkHasAnEnd sends work without an end to all requests that take a selector: an error says so,
// and names the setting.
func TestWorkHasAnEnd(t *testing.T) {
	testrun.Sequential(t)
	a := hardWork(t, config.Setting{Section: "sectional", Key: "selector_steps", Value: "200000"})
	for name, sel := range endless() {
		for _, target := range []string{"/db/_find", "/db/_changes?filter=_selector", "/db/_changes?filter=_selector&feed=longpoll"} {
			w := a.do("POST", target, `{"selector":`+sel+`}`)
			w.want(400, "")
			if !strings.Contains(w.Body, `"too_many_steps"`) || !strings.Contains(w.Body, "selector_steps") && !strings.Contains(w.Body, "on one string") {
				t.Errorf("%s, %s: %.300s", target, name, w.Body)
			}
		}
	}
	a.do("POST", "/db/_find", `{"selector":{"n":1},"fields":["n"]}`).want(200, "")
	fields := `"fields":[` + strings.Repeat(`"l.1",`, 999) + `"n"]`
	for _, target := range []string{"/db/_find", "/db/_changes?filter=_selector&include_docs=true"} {
		if w := a.do("POST", target, `{"selector":{"n":1},`+fields+`}`); w.Status != 400 || !strings.Contains(w.Body, "selector_steps") {
			t.Errorf("%s with many fields: %d %.200s", target, w.Status, w.Body)
		}
	}
	paths := strings.ReplaceAll(fields, `"fields"`, `"by"`)
	a.do("POST", "/db/_find", `{"selector":{"n":1},"group":{`+paths+`}}`).want(400, "")
}

// TestNobodyWaitsForWork takes the client away while a document is being looked at.
func TestNobodyWaitsForWork(t *testing.T) {
	a := hardWork(t, config.Setting{Section: "sectional", Key: "selector_steps", Value: "0"})
	for name, sel := range endless() {
		for _, target := range []string{"/db/_find", "/db/_changes?filter=_selector"} {
			ctx, leave := context.WithCancel(t.Context())
			r := httptest.NewRequestWithContext(ctx, "POST", target, strings.NewReader(`{"selector":`+sel+`}`))
			r.SetBasicAuth("adm", "pass")
			r.Header.Set("Content-Type", "application/json")
			done := make(chan struct{})
			go func() {
				defer close(done)
				a.ServeHTTP(httptest.NewRecorder(), r)
			}()
			leave()
			select {
			case <-done:
			case <-time.After(5 * time.Minute):
				t.Fatalf("%s, %s: it goes on for nobody", target, name)
			}
		}
	}
}

// TestSelectorsAreBounded holds the bounds of what a selector may be made of, wherever one is taken.
func TestSelectorsAreBounded(t *testing.T) {
	testrun.Sequential(t)
	a := newDB(t, "")
	many := strings.TrimSuffix(strings.Repeat(`{"a":1},`, 10_001), ",")
	for name, sel := range map[string]string{
		"conditions": `{"$or":[` + many + `]}`,
		"patterns":   `{"$or":[` + strings.TrimSuffix(strings.Repeat(`{"a":{"$regex":"`+strings.Repeat("a", 9000)+`"}},`, 8), ",") + `]}`,
		"bytes":      `{"a":"` + strings.Repeat("a", 8<<20) + `"}`,
	} {
		for target, body := range map[string]string{
			"/db/_find": `{"selector":%}`, "/db/_explain": `{"selector":%}`, "/db/_changes?filter=_selector": `{"selector":%}`,
			"/db/_index": `{"index":{"fields":["a"],"partial_filter_selector":%}}`, "/_replicate": `{"source":"db","target":"other","selector":%}`,
		} {
			w := a.do("POST", target, strings.ReplaceAll(body, "%", sel))
			if w.Status == 413 && name == "bytes" {
				continue // the body is too large for this request, whatever is in it
			}
			if w.Status != 400 || !strings.Contains(w.Body, "more than") && !strings.Contains(w.Body, "too large") {
				t.Errorf("%s, %s: %d %.200s", target, name, w.Status, w.Body)
			}
		}
	}
	// However many members, each document costs few comparisons.
	var in strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&in, `%d,"é%d",`, i, i)
	}
	a.put("/db/d", `{"n":49999,"s":"é7","l":[0.5,"é9"]}`)
	for _, field := range []string{"n", "s", "l"} {
		a.do("POST", "/db/_find", `{"selector":{"`+field+`":{"$in":[`+in.String()+`null]}},"fields":["_id"]}`).want(200, "")
	}
	a.do("POST", "/db/_index", `{"index":{"fields":["n"],"partial_filter_selector":{"s":{"$regex":"(a)\\1"}}}}`).want(400, "")
}
