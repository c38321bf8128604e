package apitest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/golden"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

func TestMain(m *testing.M) { Main(m) }

// list returns n pieces of JSON, separated by commas; format says where the number goes.
func list(from, n int, format string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, from+i)
	}
	return strings.Join(out, ",")
}

type tripsRequest struct{ name, method, path, body string }

// writes and reads are the requests whose round trips are held. The databases shop, in an
// engine of the server's own, and parts, which is partitioned and in one that others may
// be writing to, have 300 documents each and a Mango index; a view
// comes before the reads, for in the background it follows what is written.
func writes() []tripsRequest {
	return []tripsRequest{{"PUT of a new document", "PUT", "/DB/p:new", `{"n":1}`},
		{"PUT of an update", "PUT", "/DB/p:0008", `{"_id":"p:0008","n":8,"more":1,"_rev":"REV"}`},
		{"_bulk_docs of 500 new documents", "POST", "/DB/_bulk_docs", `{"docs":[` + list(1000, 500, `{"_id":"p:%04d"}`) + `]}`},
		{"_bulk_docs of 100 updates", "POST", "/DB/_bulk_docs", `{"docs":[` + list(100, 100, `{"_id":"p:%04d","_rev":"REV","n":8}`) + `]}`},
		{"_bulk_docs of 100 replicated revisions", "POST", "/DB/_bulk_docs",
			`{"new_edits":false,"docs":[` + list(200, 100, `{"_id":"p:%04d","_rev":"1-aa","n":9}`) + `]}`},
	}
}

func reads() []tripsRequest {
	return []tripsRequest{
		{"GET of a document", "GET", "/DB/p:0007", ""},
		{"_bulk_get of 100", "POST", "/DB/_bulk_get", `{"docs":[` + list(0, 100, `{"id":"p:%04d"}`) + `]}`},
		{"_bulk_get of 100 by revision, with histories", "POST", "/DB/_bulk_get?revs=true", `{"docs":[` + list(0, 100, `{"id":"p:%04d","rev":"REV"}`) + `]}`},
		{"_revs_diff of 100", "POST", "/DB/_revs_diff", `{` + list(0, 100, `"p:%04d":["REV","1-ab"]`) + `}`},
		{"_all_docs of 100 keys", "POST", "/DB/_all_docs", `{"keys":[` + list(0, 100, `"p:%04d"`) + `]}`},
		{"_all_docs of 100 keys with documents", "POST", "/DB/_all_docs?include_docs=true", `{"keys":[` + list(0, 100, `"p:%04d"`) + `]}`},
		{"_all_docs of 100 with documents", "GET", "/DB/_all_docs?include_docs=true&limit=100", ""},
		{"_find of 25 by an index", "POST", "/DB/_find", `{"selector":{"n":8},"limit":25}`},
		{"100 groups of a view", "GET", "/DB/_design/v/_view/g?group=true&limit=100", ""},
		{"view page of 25", "GET", "/DB/_design/v/_view/n?limit=25", ""},
		{"view page of 25 with documents", "GET", "/DB/_design/v/_view/n?limit=25&include_docs=true", ""},
		{"_changes of 100", "GET", "/DB/_changes?limit=100", ""},
		{"_changes of 100 with documents", "GET", "/DB/_changes?limit=100&include_docs=true", ""},
		{"_changes of 100 documents by id", "POST", "/DB/_changes?filter=_doc_ids", `{"doc_ids":[` + list(0, 100, `"p:%04d"`) + `]}`},
	}
}

// TestTrips holds how many round trips requests take on an engine across a network
// (kvtest.Remote says what counts). Each line is one trip: what it asks for, and
// the first of its rows.
func TestTrips(t *testing.T) {
	var out strings.Builder
	for _, db := range []string{"shop", "parts"} {
		e := kvtest.NewRemote(kvtest.NewModel(kvtest.ModelOptions{}), nil)
		var engine kv.Engine = e
		if db == "parts" {
			engine = kvtest.NewShared(e)
		}
		s := With(t, Options{Engine: engine, Idle: true}) // what the background reads would count among a request's trips
		s.fill(db, "?partitioned="+fmt.Sprint(db == "parts"))
		for _, r := range writes() {
			s.trips(&out, e, db, r)
		}
		s.OK("PUT", "/"+db+"/_design/v", `{"options":{"partitioned":false},"views":{"n":{"map":"function(doc){emit(doc.n,null)}"},"g":{"map":"function(doc){emit(doc._id,null)}","reduce":"_count"}}}`)
		for range 2 { // the indexes are built then, and what that writes is written
			s.OK("GET", "/"+db+"/_design/v/_view/g?group=true&limit=1", "")
			s.OK("GET", "/"+db+"/_design/v/_view/n?limit=1", "")
		}
		for _, r := range reads() {
			s.trips(&out, e, db, r)
		}
	}
	golden.File(t, "testdata/trips.txt", out.String())
}

// trips makes a request and appends the trips that it took.
func (s *Server) trips(out *strings.Builder, e *kvtest.Remote, db string, r tripsRequest) {
	body := s.withRevs(db, r.body)
	e.Take()
	s.OK(r.method, strings.Replace(r.path, "DB", db, 1), body)
	trips := e.Take()
	fmt.Fprintf(out, "%s, %s: %d\n", db, r.name, len(trips))
	for _, trip := range trips {
		fmt.Fprintf(out, "\t%s %d %s\n", trip.Op, trip.Rows, keyspace.Print(trip.Key))
	}
}

// fill makes a database of 300 documents.
func (s *Server) fill(db, query string) {
	s.OK("PUT", "/"+db+query, "")
	s.OK("POST", "/"+db+"/_index", `{"index":{"fields":["n"]},"ddoc":"i","partitioned":false}`)
	s.OK("POST", "/"+db+"/_bulk_docs", `{"docs":[`+list(0, 300, `{"_id":"p:%04d","n":7}`)+`]}`)
	s.OK("POST", "/"+db+"/_find", `{"selector":{"n":7},"limit":1}`) // builds the index
}

var named = regexp.MustCompile(`"(p:\d{4})"(.*?)"REV"`)

// withRevs puts the revision of the document named before it in the place of each
// REV. All that are named so are as fill made them, or as the first to change them
// did.
func (s *Server) withRevs(db, body string) string {
	return named.ReplaceAllStringFunc(body, func(found string) string {
		parts := named.FindStringSubmatch(found)
		rev := s.Do("HEAD", "/"+db+"/"+parts[1], "").Header().Get("Etag")
		return `"` + parts[1] + `"` + parts[2] + rev
	})
}
