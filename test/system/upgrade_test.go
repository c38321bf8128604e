package system

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/test/process"
)

// The data of an older build lies in testdata/formatN: its directory as
// data.tar.gz, and what it answered to questions in answers.json. The README
// there says how to make them.

// question is a request that changes nothing, and what the older build answered.
type question struct {
	Method, Path, Body string `json:",omitempty"`
	Status             int
	Answer             string
}

// TestUpgrade opens what older builds wrote and asks what they were asked: the
// answers must be the same. Then it writes, and everything is checked.
func TestUpgrade(t *testing.T) {
	if old := os.Getenv("SECTIONAL_OLD"); old != "" {
		makeUpgradeData(t, old, os.Getenv("SECTIONAL_OLD_DATA"))
		return
	}
	found, err := filepath.Glob("testdata/format*")
	if err != nil || len(found) == 0 {
		t.Fatalf("no data of older builds: %v", err)
	}
	for _, from := range found {
		t.Run(filepath.Base(from), func(t *testing.T) { upgrade(t, from) })
	}
}

func upgrade(t *testing.T, from string) {
	dir := t.TempDir()
	unpackData(t, filepath.Join(from, "data.tar.gz"), dir)
	s := process.Start(t, process.Options{Dir: dir})
	c := ask(s)
	var questions []question
	text, err := os.ReadFile(filepath.Join(from, "answers.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &questions); err != nil {
		t.Fatal(err)
	}
	for _, q := range questions {
		got := put(t, c, q)
		if changed, ok := changedAnswers[q.Method+" "+q.Path]; ok {
			q.Answer = changed
		}
		if got.Status != q.Status || got.Answer != q.Answer {
			t.Errorf("%s %s %s\n was %d %s\n now %d %s", q.Method, q.Path, q.Body, q.Status, q.Answer, got.Status, got.Answer)
		}
	}
	for _, r := range afterUpgrade {
		c.must(t, r.Status, r.Method, r.Path, r.Body, nil)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	check(t, dir)
}

// changedAnswers are those that a later build gives on purpose in another form.
var changedAnswers = map[string]string{
	"GET /shop/_expiry": `{"field":"expires","seconds_only":true,"ready":true}` + "\n", // made when there were no other forms
	// Of two indexes that serve alike, one is the database's, which tenants could not read before.
	"POST /shop/_owner/ann/_find": "{\"docs\":[\n{\"_id\":\"o1\"},\n{\"_id\":\"o2\"}\n],\n\"bookmark\":\"AxP8xgnYgP-zAAAABSKCFTMAbzI\"}\n",
}

// afterUpgrade are writes that touch the old rows once more.
var afterUpgrade = []question{
	{Method: "PUT", Path: "/shop/ann:o1?new_edits=true", Body: `{"type":"order"}`, Status: 409},
	{Method: "POST", Path: "/shop/_bulk_docs", Body: `{"docs":[{"_id":"ann:new","type":"order","total":1},{"_id":"bob:new","type":"order","total":2}]}`, Status: 201},
	{Method: "PUT", Path: "/shop/eve:again", Body: `{}`, Status: 201},
	{Method: "POST", Path: "/shop/_bulk_docs", Body: `{"new_edits":false,"docs":[{"_id":"ann:fork","_rev":"3-cccccccccccccccccccccccccccccccc","_revisions":{"start":3,"ids":["cccccccccccccccccccccccccccccccc","bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]},"n":3}]}`, Status: 201},
	{Method: "DELETE", Path: "/shop/_partition/bob", Status: 202},
	{Method: "PUT", Path: "/plain/new", Body: `{"n":1}`, Status: 201},
	{Method: "DELETE", Path: "/gonebase", Status: 200},
}

// unsteady are parts of answers that need not stay: of sequences what follows the number, and how many changes are
// left, which is less when a partition has been dropped.
var unsteady = regexp.MustCompile(`(?:("(?:seq|last_seq|update_seq)":"[0-9]+)-[^"]*|,"pending":[0-9]+)`)

// put asks a question.
func put(t *testing.T, c *client, q question) question {
	t.Helper()
	var body []byte
	if q.Body != "" {
		body = []byte(q.Body)
	}
	status, answer, err := c.do(q.Method, q.Path, body)
	if err != nil {
		t.Fatal(err)
	}
	q.Status, q.Answer = status, unsteady.ReplaceAllString(string(answer), `$1`)
	if n := len(q.Answer); n > 4000 {
		q.Answer = fmt.Sprintf("%s… %d bytes, SHA-256 %x", q.Answer[:200], n, sha256.Sum256([]byte(q.Answer)))
	}
	return q
}

// unpackData unpacks a data directory.
func unpackData(t *testing.T, archive, dir string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(zipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil && h.Typeflag == tar.TypeReg {
			err = unpackFile(r, filepath.Join(dir, filepath.FromSlash(h.Name)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unpackFile(r io.Reader, path string) error {
	text, err := io.ReadAll(r)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	return err
}

// makeUpgradeData makes the data of a build in a directory.
func makeUpgradeData(t *testing.T, binary, target string) {
	t.Helper()
	dir := t.TempDir()
	o := process.Options{Binary: binary, Dir: dir}
	s := launch(t, o)
	tell(t, s, firstStory())
	waitForMarker(t, ask(s))
	if err := s.Stop(); err != nil { // what was written so far becomes tables when it starts again
		t.Fatal(err)
	}
	s = launch(t, o)
	tell(t, s, secondStory())
	var answers []question
	for _, q := range oldQuestions {
		answers = append(answers, put(t, ask(s), q))
	}
	c := ask(s)
	c.must(t, 202, "DELETE", "/shop/_partition/zoe", "", nil)
	if err := s.Kill(); err != nil { // what was written since lies in the log
		t.Fatal(err)
	}
	answers = append(answers, question{Method: "GET", Path: "/shop/_partition/zoe/_all_docs", Status: 200, Answer: "{\"total_rows\":0,\"offset\":0,\"rows\":[\r\n]}\n"})
	text, err := json.MarshalIndent(answers, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(target, "answers.json"), append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	packData(t, dir, filepath.Join(target, "data.tar.gz"))
}

func launch(t *testing.T, o process.Options) *process.Server {
	t.Helper()
	s, err := process.Launch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Kill() })
	return s
}

// tell sends the requests of a story, each of which must succeed.
func tell(t *testing.T, s *process.Server, story []question) {
	t.Helper()
	for _, q := range story {
		if got := put(t, ask(s), q); got.Status > 299 {
			t.Fatalf("%s %s: %d %s", q.Method, q.Path, got.Status, got.Answer)
		}
	}
}

// waitForMarker waits until a tombstone has been dropped by age.
func waitForMarker(t *testing.T, c *client) {
	process.Within(t, 4*time.Minute, "a tombstone is dropped", func() bool {
		return strings.Contains(put(t, c, question{Method: "GET", Path: "/plain/buried"}).Answer, "missing")
	})
}

// packData packs a data directory.
func packData(t *testing.T, dir, archive string) {
	t.Helper()
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(zipped)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o600, Size: int64(len(text))})
		}
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
	if err := errors.Join(err, w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(archive, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s has %d bytes", archive, out.Len())
}

// longHistory is a document that comes with so many revisions that old ones lie in rows of their own.
func longHistory() string {
	var ids []string
	for i := range 900 {
		ids = append(ids, fmt.Sprintf(`"%032x"`, 1000-i))
	}
	return `{"new_edits":false,"docs":[{"_id":"ann:long","_rev":"900-` + fmt.Sprintf("%032x", 1000) + `","_revisions":{"start":900,"ids":[` + strings.Join(ids, ",") + `]},"n":900}]}`
}

// firstStory are the requests before the restart.
func firstStory() []question {
	large := strings.Repeat("a large body has rows of its own. ", 6000)
	file := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("an attachment of more than one piece ", 8000)))
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf(`{"_id":"zoe:%03d","n":%d}`, i, i))
	}
	return []question{
		{Method: "PUT", Path: "/_node/_local/_config/sectional/owner_design_docs", Body: `"admins"`},
		{Method: "PUT", Path: "/_node/_local/_config/subscriptions/allow_private", Body: `"true"`},
		{Method: "PUT", Path: "/_users/org.couchdb.user:ann", Body: `{"name":"ann","type":"user","roles":["staff"],"password":"apple"}`},
		{Method: "PUT", Path: "/plain"}, {Method: "PUT", Path: "/shop?partitioned=true"},
		{Method: "PUT", Path: "/dropped"}, {Method: "PUT", Path: "/gonebase"}, {Method: "PUT", Path: "/dropped/x", Body: `{}`},
		{Method: "PUT", Path: "/plain/_auto_purge", Body: `{"deleted_document_ttl":"1"}`},
		{Method: "POST", Path: "/plain/_bulk_docs", Body: `{"new_edits":false,"docs":[{"_id":"buried","_rev":"2-bb","_revisions":{"start":2,"ids":["bb","aa"]},"_deleted":true}]}`},
		{Method: "PUT", Path: "/plain/_revs_limit", Body: `50`}, {Method: "PUT", Path: "/plain/_purged_infos_limit", Body: `50`},
		{Method: "PUT", Path: "/shop/_security", Body: `{"admins":{"names":["boss"]},"members":{"roles":["service"]},"partitions":[{"who":"*","partition":"{name}","access":"write"}]}`},
		{Method: "PUT", Path: "/shop/_design/all", Body: `{"options":{"partitioned":false},"views":{"types":{"map":"function (doc) { if (doc.type) emit(doc.type, doc.total) }","reduce":"_sum"}}}`},
		{Method: "PUT", Path: "/shop/_design/own", Body: `{"views":{"totals":{"map":"function (doc) { if (doc.total) emit([doc.total, doc._id], 1) }","reduce":"function (k, v, r) { return r ? sum(v) : v.length }"}}}`},
		{Method: "POST", Path: "/shop/_index", Body: `{"index":{"fields":["type","total"],"partial_filter_selector":{"total":{"$gt":5}}},"name":"bytype","ddoc":"idx","partitioned":false}`},
		{Method: "POST", Path: "/shop/_index", Body: `{"index":{"fields":["total"]},"name":"bytotal","ddoc":"pidx"}`},
		{Method: "POST", Path: "/shop/_bulk_docs", Body: `{"docs":[{"_id":"ann:o1","type":"order","total":10},{"_id":"ann:o2","type":"order","total":20.50},{"_id":"bob:o1","type":"order","total":7},{"_id":"bob:i1","type":"item","total":3},{"_id":"ann:deleted","n":1}]}`},
		{Method: "POST", Path: "/shop/_bulk_docs", Body: `{"new_edits":false,"docs":[{"_id":"ann:fork","_rev":"2-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","_revisions":{"start":2,"ids":["bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]},"n":1},{"_id":"ann:fork","_rev":"2-dddddddddddddddddddddddddddddddd","_revisions":{"start":2,"ids":["dddddddddddddddddddddddddddddddd","aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]},"n":2},{"_id":"ann:fork","_rev":"3-eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee","_revisions":{"start":3,"ids":["eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"]},"_deleted":true}]}`},
		{Method: "POST", Path: "/shop/_bulk_docs", Body: longHistory()},
		{Method: "PUT", Path: "/shop/bob:large", Body: `{"text":"` + large + `"}`},
		{Method: "PUT", Path: "/shop/ann:file", Body: `{"_attachments":{"a.txt":{"content_type":"text/plain","data":"` + file + `"},"b.bin":{"content_type":"application/octet-stream","data":"AAEC"}}}`},
		{Method: "PUT", Path: "/shop/_local/one", Body: `{"n":1}`}, {Method: "PUT", Path: "/shop/_partition/ann/_local/two", Body: `{"n":2}`}, {Method: "PUT", Path: "/shop/_owner/ann/_local/three", Body: `{"n":3}`},
		{Method: "PUT", Path: "/shop/_owner/ann/_design/mine", Body: `{"views":{"n":{"map":"function (doc) { emit(doc._id, null) }","reduce":"_count"}}}`},
		{Method: "POST", Path: "/shop/_owner/ann/_index", Body: `{"index":{"fields":["total"]},"name":"t","ddoc":"ti"}`},
		{Method: "PUT", Path: "/shop/_subscriptions/all", Body: `{"url":"http://127.0.0.1:9/","secret":"0123456789abcdef","attempts":1,"since":"0"}`},
		{Method: "PUT", Path: "/shop/_partition/ann/_subscriptions/mine", Body: `{"url":"http://127.0.0.1:9/","secret":"0123456789abcdef","paused":true}`},
		{Method: "POST", Path: "/shop/_bulk_docs", Body: `{"docs":[` + strings.Join(many, ",") + `]}`},
		{Method: "GET", Path: "/shop/_design/all/_view/types?reduce=false"}, {Method: "GET", Path: "/shop/_partition/ann/_design/own/_view/totals"}, {Method: "GET", Path: "/shop/_owner/ann/_design/mine/_view/n"},
	}
}

// secondStory are the requests after it.
func secondStory() []question {
	return []question{
		{Method: "POST", Path: "/shop/_bulk_docs", Body: `{"docs":[{"_id":"eve:1","n":1},{"_id":"eve:2","n":2}]}`},
		{Method: "DELETE", Path: "/shop/_partition/eve?tombstones=true"},
		{Method: "PUT", Path: "/shop/_expiry", Body: `{"field":"expires"}`},
		{Method: "PUT", Path: "/shop/_partition/bob/_expiry", Body: `{"field":null}`},
		{Method: "POST", Path: "/shop/_bulk_docs", Body: `{"new_edits":false,"docs":[{"_id":"ann:expires","_rev":"1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","expires":4102444800},{"_id":"ann:purged","_rev":"1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","n":1},{"_id":"ann:deleted","_rev":"9-ffffffffffffffffffffffffffffffff","_deleted":true}]}`},
		{Method: "POST", Path: "/shop/_purge", Body: `{"ann:purged":["1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]}`},
		{Method: "PUT", Path: "/plain/doc", Body: `{"text":"plain","number":1.0}`},
		{Method: "PUT", Path: "/plain/_design/filters", Body: `{"filters":{"all":"function (doc) { return true }"},"views":{"v":{"map":"function (doc) { emit(doc.text) }"}}}`},
		{Method: "GET", Path: "/plain/_design/filters/_view/v"},
		{Method: "DELETE", Path: "/dropped"}, // its rows go minutes later
	}
}

// oldQuestions are what a build of every format is asked.
var oldQuestions = []question{
	{Method: "GET", Path: "/_all_dbs"},
	{Method: "GET", Path: "/shop/_partition/ann/_all_docs?include_docs=true"},
	{Method: "GET", Path: "/shop/_changes?style=all_docs&limit=13"},
	{Method: "GET", Path: "/shop/_partition/bob/_changes"},
	{Method: "GET", Path: "/shop/_partition/bob/_all_docs"},
	{Method: "GET", Path: "/shop/ann:fork?conflicts=true&deleted_conflicts=true&revs=true"},
	{Method: "GET", Path: "/shop/ann:fork?open_revs=all"},
	{Method: "GET", Path: "/shop/ann:long?revs=true"},
	{Method: "GET", Path: "/shop/bob:large"},
	{Method: "GET", Path: "/shop/ann:file"},
	{Method: "GET", Path: "/shop/ann:file/a.txt"},
	{Method: "GET", Path: "/shop/ann:file/b.bin"},
	{Method: "GET", Path: "/shop/_local_docs"}, {Method: "GET", Path: "/shop/_partition/ann/_local/two"}, {Method: "GET", Path: "/shop/_owner/ann/_local/three"},
	{Method: "GET", Path: "/shop/_design/all/_view/types?group=true"},
	{Method: "GET", Path: "/shop/_design/all/_view/types?reduce=false"},
	{Method: "GET", Path: "/shop/_partition/ann/_design/own/_view/totals?reduce=false"},
	{Method: "GET", Path: "/shop/_partition/ann/_design/own/_view/totals"},
	{Method: "GET", Path: "/shop/_owner/ann/_design/mine/_view/n"},
	{Method: "GET", Path: "/shop/_owner/ann/_all_docs"},
	{Method: "POST", Path: "/shop/_find", Body: `{"selector":{"type":"order","total":{"$gt":5}},"fields":["_id","total"],"use_index":"idx"}`},
	{Method: "POST", Path: "/shop/_partition/ann/_find", Body: `{"selector":{"total":{"$gt":15}}}`},
	{Method: "POST", Path: "/shop/_owner/ann/_find", Body: `{"selector":{"total":{"$gt":5}},"fields":["_id"]}`},
	{Method: "GET", Path: "/shop/_security"},
	{Method: "GET", Path: "/shop/_expiry"}, {Method: "GET", Path: "/shop/_partition/bob/_expiry"},
	{Method: "POST", Path: "/shop/_revs_diff", Body: `{"ann:purged":["1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],"ann:fork":["3-cccccccccccccccccccccccccccccccc","2-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"]}`},
	{Method: "GET", Path: "/shop/_purged_infos"},
	{Method: "GET", Path: "/shop/_subscriptions/all/_dead?limit=1"},
	{Method: "GET", Path: "/plain/_auto_purge"}, {Method: "GET", Path: "/plain/_revs_limit"}, {Method: "GET", Path: "/plain/_purged_infos_limit"},
	{Method: "POST", Path: "/plain/_revs_diff", Body: `{"buried":["2-bb","1-aa"]}`},
	{Method: "GET", Path: "/plain/buried"},
	{Method: "GET", Path: "/plain/_all_docs?include_docs=true"},
	{Method: "GET", Path: "/plain/_changes"},
	{Method: "GET", Path: "/plain/_design/filters/_view/v"},
	{Method: "GET", Path: "/_users/org.couchdb.user:ann"},
	{Method: "GET", Path: "/_node/_local/_config/sectional/owner_design_docs"},
}
