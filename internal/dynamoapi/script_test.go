package dynamoapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi/apitest"
	"github.com/sectional/sectional/internal/dynamoapi"
	"github.com/sectional/sectional/internal/golden"
	"github.com/sectional/sectional/internal/kv/kvtest"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/testrun"
	"github.com/sectional/sectional/internal/web"
)

func TestMain(m *testing.M) { apitest.Main(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// server is both APIs over one store.
type server struct {
	*apitest.Server
	dynamo []*dynamoapi.API // of each server over its engine
}

func newServer(t testing.TB, open bool, settings ...config.Setting) *server {
	return over(apitest.New(t, settings...), open)
}

// over is the API over a server's store.
func over(s *apitest.Server, open bool) *server {
	both := &server{Server: s}
	for _, one := range s.All() {
		both.dynamo = append(both.dynamo, dynamoapi.New(dynamoapi.Options{
			Shared: one.Shared, Store: one.Store, Indexes: one.Indexes, Auth: one.Auth, Rules: one.Rules, Open: open,
			Settings: func() *web.Settings { return &one.Settings.Value().Web },
			Access:   func() *auth.Security { return one.Settings.Value().DefaultAccess },
		}))
	}
	return both
}

// request makes the request of an operation, not signed.
func request(operation, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Host = "127.0.0.1:8000"
	r.Header.Set("X-Amz-Target", targetOf(operation))
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	return r
}

// targetOf returns the header that names an operation.
func targetOf(operation string) string {
	switch operation {
	case "ListStreams", "DescribeStream", "GetShardIterator", "GetRecords":
		return "DynamoDBStreams_20120810." + operation
	}
	return "DynamoDB_20120810." + operation
}

func (s *server) send(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	i, _ := s.Deal()
	s.dynamo[i].ServeHTTP(w, r)
	return w
}

// TestScripts runs the files in testdata/scripts, each against an open server of its own.
// A paragraph has an operation and the request, or a request of CouchDB's API: a method, a
// path and the body; then ---- and the answer. "wait" waits until a table is active.
// $Member stands for what the last answer with that member had in it. A line with # is a
// comment. -update writes the answers anew.
func TestScripts(t *testing.T) {
	golden.Scripts(t, "testdata/scripts/*.txt", func(t *testing.T) func(string) string { return newServer(t, true).script() })
}

// TestScriptsOnSeveral runs them against servers over one engine, which the requests are dealt
// out to: nobody can tell.
func TestScriptsOnSeveral(t *testing.T) {
	testrun.Sequential(t)
	golden.Scripts(t, "testdata/scripts/*.txt", func(t *testing.T) func(string) string {
		e, err := pebblekv.Open(pebblekv.Options{Dir: "data", FS: vfs.NewMem(), CacheBytes: 24 << 20, MemTableBytes: 4 << 20})
		must(t, err)
		return over(apitest.Several(t, e, 2), true).script()
	})
	golden.Scripts(t, "testdata/scripts/*.txt", func(t *testing.T) func(string) string {
		return over(apitest.Several(t, kvtest.NewModel(kvtest.ModelOptions{}), 3), true).script()
	})
}

// script sends the paragraphs of a script.
func (s *server) script() func(paragraph string) string {
	last := map[string]string{}
	return func(paragraph string) string {
		for name, value := range last {
			paragraph = strings.ReplaceAll(paragraph, "$"+name, value)
		}
		return s.scripted(paragraph, last)
	}
}

// drawn is what is another in each run.
var drawn = regexp.MustCompile(`"(CreationDateTime|LastUpdateToPayPerRequestDateTime|TableId|LatestStreamLabel|TableSizeBytes|created|changed|since|_rev|CreationRequestDateTime|ApproximateCreationDateTime|StreamLabel|ShardId|ShardIterator|NextShardIterator|StartingSequenceNumber|eventID|NextToken)":("[^"]*"|[0-9.]+)|/stream/[0-9T:.-]+`)

// remembered is what requests of a script may have from the answers before.
var remembered = regexp.MustCompile(`"(StreamArn|ShardId|ShardIterator|NextShardIterator|StartingSequenceNumber|NextToken)":"([^"]*)"`)

func (s *server) scripted(paragraph string, last map[string]string) string {
	var lines []string
	for line := range strings.SplitSeq(paragraph, "\n") {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	body := strings.Join(lines[1:], "\n")
	if lines[0] == "wait" {
		s.wait(body)
		return "active"
	}
	var w *httptest.ResponseRecorder
	if method, target, http := strings.Cut(lines[0], " "); http {
		w = s.Do(method, target, body)
	} else {
		w = s.send(request(lines[0], body))
	}
	for _, found := range remembered.FindAllStringSubmatch(w.Body.String(), -1) {
		last[found[1]] = found[2]
	}
	text := drawn.ReplaceAllStringFunc(w.Body.String(), func(found string) string {
		if strings.HasPrefix(found, "/stream/") {
			return "/stream/…"
		}
		name, _, _ := strings.Cut(found, ":")
		return name + ":…"
	})
	return fmt.Sprintf("%d\n%s", w.Code, strings.TrimSpace(text))
}

// wait waits until the table of a request is active: the indexes of a new one are built in
// the background.
func (s *server) wait(body string) {
	for !strings.Contains(s.send(request("DescribeTable", body)).Body.String(), `"TableStatus":"ACTIVE"`) {
		runtime.Gosched()
	}
}
