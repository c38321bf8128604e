package apitest

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// sequences are what differs between two databases of the same documents.
var sequences = regexp.MustCompile(`"(seq|last_seq)":"[^"]*"`)

// TestChangesAcross asks for feeds where an engine's calls are round trips, so that rows, numbers
// and what is pending come in one, and where they are not: the answers are the same.
func TestChangesAcross(t *testing.T) {
	remote := func() kv.Engine { return kvtest.NewRemote(kvtest.NewModel(kvtest.ModelOptions{}), nil) }
	var servers []*Server
	for _, e := range []kv.Engine{kvtest.NewModel(kvtest.ModelOptions{}), remote(), kvtest.NewShared(remote())} {
		s := With(t, Options{Engine: e, Idle: true})
		s.fill("db", "?partitioned=true")
		s.OK("POST", "/db/_bulk_docs", `{"docs":[`+list(0, 40, `{"_id":"q:%04d"}`)+`]}`)
		for n := range 20 {
			id := fmt.Sprintf("/db/q:%04d", 2*n)
			s.OK("DELETE", id, "", "If-Match", s.Do("HEAD", id, "").Header().Get("Etag"))
		}
		s.OK("PUT", "/db/empty:1", "{}")
		servers = append(servers, s)
	}
	paths := []string{"/db", "/db/_partition/q", "/db/_partition/p", "/db/_partition/empty", "/db/_partition/none"}
	for _, path := range paths {
		for _, query := range []string{"", "limit=0", "limit=1", "limit=7", "limit=40", "limit=41", "limit=100", "limit=341", "limit=499", "limit=500",
			"limit=7&include_docs=true", "limit=40&include_docs=true&conflicts=true", "include_docs=true", "limit=7&descending=true", "limit=7&style=all_docs",
			"limit=7&filter=_design", "limit=5&feed=longpoll&timeout=1", "since=now", "since=now&limit=3"} {
			target, want := path+"/_changes?"+query, ""
			for i, s := range servers {
				w := s.Do("GET", target, "")
				got := sequences.ReplaceAllString(w.Body.String(), `"$1":""`)
				if i == 0 {
					want = got
				}
				if w.Code != 200 || got != want {
					t.Errorf("%s at %d: %d %s\nwant %s", target, i, w.Code, got, want)
				}
				if again := s.Do("GET", target, "", "If-None-Match", w.Header().Get("Etag")); w.Header().Get("Etag") != "" && again.Code != 304 {
					t.Errorf("%s at %d, seen: %d", target, i, again.Code)
				}
			}
		}
	}
}
