package dynamoapi_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dynamoapi"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/testkit/apitest"
	"github.com/sectional/sectional/internal/testkit/golden"
	"github.com/sectional/sectional/internal/testkit/testrun"
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
	other *dynamoapi.API // answers in the place of the server's own; nil: it does not
}

// newServer makes a server, which is open: requests of the DynamoDB API need no signature.
func newServer(t testing.TB, open bool, settings ...config.Setting) *server {
	return &server{Server: apitest.With(t, apitest.Options{Settings: settings, DynamoDBOpen: open})}
}

// signed is the server with a DynamoDB API for which requests have to be signed.
func (s *server) signed() *server { return &server{s.Server, s.NewDynamoDB(false)} }

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
	_, one := s.Deal()
	cmp.Or(s.other, one.DynamoDB).ServeHTTP(w, r)
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
		return (&server{Server: apitest.With(t, apitest.Options{Engine: e, Servers: 2, DynamoDBOpen: true})}).script()
	})
	golden.Scripts(t, "testdata/scripts/*.txt", func(t *testing.T) func(string) string {
		return (&server{Server: apitest.With(t, apitest.Options{Servers: 3, DynamoDBOpen: true})}).script()
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
