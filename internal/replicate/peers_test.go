package replicate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sectional/sectional/internal/replicate"
)

// flight counts the bytes that were read from the source and not yet by the
// target.
type flight struct{ now, max atomic.Int64 }

func (f *flight) add(n int) {
	now := f.now.Add(int64(n))
	for most := f.max.Load(); now > most && !f.max.CompareAndSwap(most, now); most = f.max.Load() {
	}
}

// counted notes how many bytes are read of a body.
type counted struct {
	io.ReadCloser
	read func(n int)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.read(n)
	return n, err
}

// TestLargeAttachments counts what is held of attachments of 10 MB: buffers.
func TestLargeAttachments(t *testing.T) {
	const most = 1 << 20 // for the five that are under way at once
	w := newWorld(t)
	large := make([]byte, 10<<20)
	for i := range large {
		large[i] = byte(rand.Uint32())
	}
	for i := range 3 {
		w.OK("PUT", fmt.Sprintf("/a/doc%d/x.bin", i), string(large[i:]), "Content-Type", "application/octet-stream")
	}
	var f flight
	task := w.task(&record{})
	source, target := task.Source.Transport, task.Target.Transport
	task.Source.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := source.RoundTrip(r)
		if err == nil {
			response.Body = &counted{response.Body, func(n int) { f.add(n) }}
		}
		return response, err
	})
	task.Target.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Body != nil && r.Body != http.NoBody {
			r = r.Clone(r.Context())
			r.Body = &counted{r.Body, func(n int) { f.add(-n) }}
		}
		return target.RoundTrip(r)
	})
	w.run(task)
	if f.max.Load() > most || f.max.Load() == 0 {
		t.Errorf("%d bytes were held at once", f.max.Load())
	}
	for i := range 3 {
		id := fmt.Sprintf("/doc%d", i)
		if a, b := w.OK("GET", "/a"+id, ""), w.OK("GET", "/b"+id, ""); a != b {
			t.Errorf("got %s, want %s", b, a)
		}
		if got := w.OK("GET", "/b"+id+"/x.bin", ""); got != string(large[i:]) {
			t.Errorf("%s: other bytes", id)
		}
	}
}

// historyOf makes a document with a history of the generations from to 1, as it
// is in a body of _bulk_docs.
func historyOf(from int) string {
	ids := make([]string, from)
	for i := range ids {
		ids[i] = fmt.Sprintf(`"%032x"`, from-i)
	}
	return fmt.Sprintf(`{"new_edits":false,"docs":[{"_id":"doc","n":%d,"_revisions":{"start":%d,"ids":[%s]}}]}`, from, from, strings.Join(ids, ","))
}

// TestLongHistories replicates histories of a thousand revisions among databases
// that keep unlike parts of them: nothing branches as long as they meet.
func TestLongHistories(t *testing.T) {
	w := newWorld(t)
	w.OK("PUT", "/b/_revs_limit", "20")
	carry := func(from, to, want string, leaves, length int) {
		t.Helper()
		w.run(&replicate.Task{ID: from + to, Source: w.at(from), Target: w.at(to)})
		if tag := w.Do("HEAD", "/"+to+"/doc", "").Header().Get("Etag"); tag != `"`+want+`"` {
			t.Errorf("%s has the winner %s, want %s", to, tag, want)
		}
		var all []any
		must(t, json.Unmarshal([]byte(w.OK("GET", "/"+to+"/doc?open_revs=all&revs=true", "", "Accept", "application/json")), &all))
		if len(all) != leaves {
			t.Fatalf("%s has %d leaves, want %d", to, len(all), leaves)
		}
		for _, leaf := range leavesOf([]any{all}) {
			if path := pathOf(leaf); slices.Contains(path, want) && len(path) != length {
				t.Errorf("%s has a history of %d, want %d", to, len(path), length)
			}
		}
	}
	rev := func(n int) string { return fmt.Sprintf("%d-%032x", n, n) }
	w.OK("POST", "/a/_bulk_docs", historyOf(1200))
	carry("a", "b", rev(1200), 1, 20)
	w.OK("POST", "/a/_bulk_docs", historyOf(1250))
	carry("a", "b", rev(1250), 1, 20)
	// What grew where little is kept goes on where much is kept.
	var made struct{ Rev string }
	must(t, json.Unmarshal([]byte(w.OK("PUT", "/b/doc?rev="+rev(1250), "{}")), &made))
	carry("b", "a", made.Rev, 1, 1000)
	// If what they keep does not meet, there are two branches, as in CouchDB.
	w.OK("PUT", "/a/_revs_limit", "5")
	for range 30 {
		must(t, json.Unmarshal([]byte(w.OK("PUT", "/a/doc?rev="+made.Rev, "{}")), &made))
	}
	carry("a", "b", made.Rev, 2, 5)
	carry("b", "a", made.Rev, 2, 5)
}

// tight takes a certain number of bytes in one request, and counts.
type tight struct {
	next           http.RoundTripper
	path           string
	max            int64
	taken, refused atomic.Int64
}

func (p *tight) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case !strings.HasSuffix(r.URL.Path, p.path):
	case r.ContentLength > p.max:
		p.refused.Add(1)
		return says(http.StatusRequestEntityTooLarge)(p.next, r)
	default:
		p.taken.Add(1)
	}
	return p.next.RoundTrip(r)
}

// TestTooLarge has peers that take less in one request than is sent: it halves
// until it fits, and grows again too slowly to knock at every request.
func TestTooLarge(t *testing.T) {
	const documents = 6000
	w := newWorld(t)
	w.OK("POST", "/a/_bulk_docs", bulkOf(0, documents, 500))
	w.OK("PUT", "/a/large", `{"text":"`+strings.Repeat("x", 50_000)+`"}`)
	var r record
	task := w.task(&r)
	task.SnapshotFrom = math.MaxInt64
	get := &tight{next: task.Source.Transport, path: "_bulk_get", max: 10_000}
	diff := &tight{next: task.Target.Transport, path: "_revs_diff", max: 10_000}
	write := &tight{next: diff, path: "_bulk_docs", max: 40_000}
	task.Source.Transport, task.Target.Transport = get, write
	w.run(task)
	if len(r.failures) != 1 || r.failures[0].ID != "large" || r.failures[0].Status != 413 {
		t.Errorf("failures: %s", r.summary())
	}
	if got := w.OK("GET", "/b", ""); !strings.Contains(got, fmt.Sprintf(`"doc_count":%d`, documents)) {
		t.Errorf("arrived: %s", got)
	}
	for _, p := range []*tight{get, diff, write} {
		taken, refused := p.taken.Load(), p.refused.Load()
		t.Logf("%s: %d were taken, %d refused", p.path, taken, refused)
		if refused == 0 || refused > taken/2 {
			t.Errorf("%s: %d were taken, %d refused", p.path, taken, refused)
		}
	}
}

// TestSourceThatKnowsJSONOnly never answers with multipart, as PouchDB's servers
// do not: attachments come in the document.
func TestSourceThatKnowsJSONOnly(t *testing.T) {
	w := newWorld(t)
	w.OK("POST", "/a/_bulk_docs", bulkOf(0, 3, 10))
	w.OK("PUT", "/a/file/x.bin", strings.Repeat("bytes\x00", 10_000), "Content-Type", "application/octet-stream")
	w.OK("PUT", "/a/file2", `{"_attachments":{"x.txt":{"content_type":"text/plain","data":"eHh4"},"y.bin":{"data":"eQ=="}}}`)
	w.OK("PUT", "/a/_design/d", `{"_attachments":{"x.txt":{"data":"eHh4"}}}`)
	var r record
	task := w.task(&r)
	next := task.Source.Transport
	task.Source.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.Header.Set("Accept", "application/json")
		response, err := next.RoundTrip(r)
		if err == nil && strings.HasPrefix(response.Header.Get("Content-Type"), "multipart/") {
			t.Errorf("%s was answered with multipart", r.URL)
		}
		return response, err
	})
	w.run(task)
	if len(r.failures) > 0 {
		t.Errorf("failures: %s", r.summary())
	}
	w.same("a", "b")
	// The attachment stays when the document changes; nothing is sent again.
	tag := strings.Trim(w.Do("HEAD", "/a/file", "").Header().Get("Etag"), `"`)
	doc := []byte(w.OK("GET", "/a/file", ""))
	w.OK("PUT", "/a/file?rev="+tag, string(bytes.Replace(doc, []byte("{"), []byte(`{"more":1,`), 1)))
	w.run(task)
	w.same("a", "b")
}
