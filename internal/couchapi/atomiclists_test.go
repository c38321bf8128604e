package couchapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// slowReader is a client to whom something happens after the first part of an answer.
type slowReader struct {
	*httptest.ResponseRecorder
	then func()
}

func (s *slowReader) Write(p []byte) (int, error) {
	n, err := s.ResponseRecorder.Write(p)
	if then := s.then; then != nil {
		s.then = nil
		then()
	}
	return n, err
}

// TestListsOfAtomicBatches writes the same thousand documents in one atomic batch after the other, each time while a list of
// them has gone out in part: no list has a part of a batch.
func TestListsOfAtomicBatches(t *testing.T) {
	const docs = 1000
	a := newTestAPI(t)
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	a.do("PUT", "/db/_design/d", `{"views":{"v":{"map":"function(doc){emit(doc._id,doc);}"}}}`).want(201, "")
	a.do("POST", "/db/_index", `{"index":{"fields":["k"]},"ddoc":"x","name":"k"}`).want(200, "")
	pad, revs, batch := strings.Repeat("x", 200), make([]string, docs), 0
	var ids []string
	write := func() {
		batch++
		all := make([]string, docs)
		for i := range all {
			rev := ""
			if revs[i] != "" {
				rev = fmt.Sprintf(`"_rev":%q,`, revs[i])
			}
			all[i] = fmt.Sprintf(`{"_id":"p:%04d",%s"n":%d,"k":1,"pad":%q}`, i, rev, batch, pad)
		}
		var results []struct{ ID, Rev string }
		answer := a.do("POST", "/db/_bulk_docs", `{"atomic":true,"docs":[`+strings.Join(all, ",")+`]}`).want(201, "")
		must(t, json.Unmarshal([]byte(answer.Body), &results))
		ids = ids[:0]
		for i, r := range results {
			revs[i], ids = r.Rev, append(ids, r.ID)
		}
		a.do("GET", "/db/_partition/p/_design/d/_view/v?limit=1", "").want(200, "") // the view follows
	}
	write()
	keys, err := json.Marshal(map[string]any{"keys": ids})
	must(t, err)
	number := regexp.MustCompile(`"n":(\d+)`)
	for _, list := range [][3]string{
		{"GET", "/db/_all_docs?include_docs=true&endkey=\"q\"&startkey=\"p\"", ""},
		{"GET", "/db/_all_docs?include_docs=true&endkey=\"p\"&startkey=\"q\"&descending=true", ""},
		{"POST", "/db/_all_docs?include_docs=true", string(keys)},
		{"GET", "/db/_partition/p/_all_docs?include_docs=true", ""},
		{"POST", "/db/_find", `{"selector":{"n":{"$gt":0}},"limit":1000}`},
		{"POST", "/db/_partition/p/_find", `{"selector":{"k":1},"limit":1000}`},
		{"GET", "/db/_partition/p/_design/d/_view/v", ""},
		{"GET", "/db/_partition/p/_design/d/_view/v?include_docs=true", ""},
	} {
		r := httptest.NewRequest(list[0], list[1], strings.NewReader(list[2]))
		r.SetBasicAuth("adm", "pass")
		r.Header.Set("Content-Type", "application/json")
		w := &slowReader{httptest.NewRecorder(), write}
		before := batch
		a.ServeHTTP(w, r)
		if w.Code != http.StatusOK || batch == before {
			t.Fatalf("%s: %d, %d batches were written meanwhile: %.300s", list[1], w.Code, batch-before, w.Body)
		}
		var seen []string
		rows := number.FindAllStringSubmatch(w.Body.String(), -1)
		for _, m := range rows {
			if !slices.Contains(seen, m[1]) {
				seen = append(seen, m[1])
			}
		}
		if len(rows) < docs || len(seen) != 1 || seen[0] != fmt.Sprint(before) {
			t.Errorf("%s %s %.40s: %d documents, of the batches %v, want those of %d", list[0], list[1], list[2], len(rows), seen, before)
		}
	}
}
