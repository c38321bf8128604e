package replicate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/replicate"
)

// liar changes the answers of a peer: of each that comes of a path that contains
// where, old becomes new. Lengths are left to be found out.
type liar struct {
	next            http.RoundTripper
	where, old, new string
	invalid         int
}

func (l *liar) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(r)
	if err != nil || !strings.Contains(r.URL.Path, l.where) {
		return response, err
	}
	raw, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	changed := bytes.ReplaceAll(raw, []byte(l.old), []byte(l.new))
	if !bytes.Equal(raw, changed) {
		l.invalid++
	}
	response.Header.Del("Content-Length")
	response.ContentLength = -1
	response.Body = io.NopCloser(bytes.NewReader(changed))
	return response, nil
}

// TestLies lets the source lie about one document: it is a failure with a
// reason, and neither it nor anything else is stored wrongly.
func TestLies(t *testing.T) {
	const history = `"_revisions":{"start":2,"ids":["bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]}`
	for name, lie := range map[string]struct{ old, new, want string }{
		"another id":               {`"_id":"victim"`, `"_id":"other"`, "under another id"},
		"another id, escaped":      {`"_id":"victim"`, `"\u005fid":"other"`, "under another id"},
		"two ids":                  {`"_id":"victim"`, `"_id":"victim","_id":"other"`, ""},
		"two ids, escaped":         {`"_id":"victim"`, `"_id":"victim","\u005fid":"other"`, ""},
		"no id":                    {`"_id":"victim",`, ``, ""},
		"another revision":         {`bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb`, `cccccccccccccccccccccccccccccccc`, "not asked for"},
		"a revision of long ago":   {`2-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb`, `1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`, "history does not belong"},
		"a history of another":     {`"ids":["bb`, `"ids":["cc`, "history does not belong"},
		"a history of another gen": {`"start":2`, `"start":3`, "history does not belong"},
		"a history too long":       {`"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]`, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","00","01"]`, "history does not belong"},
		"no history":               {history, `"x":1`, "without its history"},
		"history of numbers":       {`"ids":["bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"`, `"ids":[7`, "history does not belong"},
		"no revision":              {`"_rev":"2-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",`, ``, "without a revision"},
		"no JSON":                  {`"n":1`, `"n":1]`, ""},
		"documents within":         {`"n":1`, `"n":1},{"_id":"other","_rev":"1-aa"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.OK("POST", "/a/_bulk_docs", bulkOf(0, 3, 10))
				w.OK("POST", "/a/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"victim","n":1,`+history+`}]}`)
				var r record
				task := w.task(&r)
				l := &liar{next: task.Source.Transport, old: lie.old, new: lie.new, where: "victim"}
				task.Source.Transport = &liar{next: l, old: lie.old, new: lie.new, where: "_bulk_get"}
				_, err := task.Run(context.Background())
				var peer *replicate.PeerError
				if err != nil && !errors.As(err, &peer) {
					t.Fatal(err)
				}
				if err == nil && (len(r.failures) != 1 || r.failures[0].ID != "victim" || !strings.Contains(r.summary(), lie.want)) {
					t.Errorf("failures: %s", r.summary())
				}
				if err != nil && lie.want != "" {
					t.Errorf("the run failed: %v", err)
				}
				got := w.tree("b")
				if got["victim"] != nil || got["other"] != nil {
					t.Errorf("stored: %v", got)
				}
				if err == nil && len(got) != 3 {
					t.Errorf("the others did not come through: %v", got)
				}
			})
		})
	}
}

// TestAttachmentsThatAreNotAsToldAreNotStored lets the source send other bytes
// than its document says.
func TestAttachmentsThatAreNotAsToldAreNotStored(t *testing.T) {
	for name, lie := range map[string]struct{ old, new, want string }{
		"other bytes":    {"some bytes", "evil bytes", "another digest"},
		"more bytes":     {"some bytes", "some bytes, and more", "another length"},
		"fewer bytes":    {"some bytes", "some", "another length"},
		"another digest": {"md5-nQVoRp0gbBrt8bcfEvR0vA==", "md5-BAAAAAAAAAAAAAAAAAAAAA==", "another digest"},
		"another length": {`"length":10`, `"length":11`, "another length"},
		"another name":   {`filename="x.bin"`, `filename="y.bin"`, "other bytes in place"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.OK("PUT", "/a/victim", `{"_attachments":{"x.bin":{"content_type":"a/b","data":"c29tZSBieXRlcw=="},"y.bin":{"content_type":"a/b","data":"eQ=="}}}`)
				var r record
				task := w.task(&r)
				l := &liar{next: task.Source.Transport, old: lie.old, new: lie.new, where: "victim"}
				task.Source.Transport = l
				w.run(task)
				if l.invalid == 0 {
					t.Fatal("the lie was not told")
				}
				if len(r.failures) != 1 || !strings.Contains(r.summary(), lie.want) {
					t.Errorf("failures: %s", r.summary())
				}
				if got := w.tree("b"); len(got) != 0 {
					t.Errorf("stored: %v", got)
				}
			})
		})
	}
}

// TestTargetsLies lets the target ask for what was not offered.
func TestTargetsLies(t *testing.T) {
	w := newWorld(t)
	w.OK("POST", "/a/_bulk_docs", bulkOf(0, 2, 10))
	var r record
	task := w.task(&r)
	l := &liar{next: task.Target.Transport, where: "_revs_diff", old: `"missing":[`, new: `"missing":["7-abc",`}
	task.Target.Transport = &liar{next: l, where: "_revs_diff", old: "doc000001", new: "doc000009"}
	w.run(task)
	if got := w.tree("b"); l.invalid != 1 || len(got) != 1 || got["doc000000"] == nil || len(r.failures) > 0 {
		t.Errorf("invalid %d times, stored %v, failures %s", l.invalid, got, r.summary())
	}
}

// TestBadFeed ends with a reason when the source's feed makes no sense.
func TestBadFeed(t *testing.T) {
	for name, feed := range map[string]string{
		"not JSON": "<html>", "cut": `{"results":[`, "no rows": `{"rows":[]}`, "a list": `[]`, "no id": `{"results":[{"seq":1,"changes":[{"rev":"1-a"}]}]}`,
		"no revisions": `{"results":[{"seq":1,"id":"a","changes":[]}]}`, "bad row": `{"results":[{"seq":1,"id":"a","changes":[{"rev":"1-a"]}]}]}`,
		"an error": `{"results":[` + "\n" + `{"error":"timeout","reason":"too slow"}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				task := w.task(&record{})
				next := task.Source.Transport
				task.Source.Transport = answering(next, "_changes", feed)
				_, err := task.Run(context.Background())
				var peer *replicate.PeerError
				if !errors.As(err, &peer) || !strings.HasSuffix(peer.URL, "/a/_changes") || peer.Reason == "" {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// answering returns a body for a path, and lets other requests pass.
func answering(next http.RoundTripper, path, body string) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, path) {
			return next.RoundTrip(r)
		}
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
	})
}

type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestRefusals lets the target refuse single documents: each is counted and reported
// with its reason, and the others come through.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	w.OK("PUT", "/b/_design/v", `{"validate_doc_update":"function(doc){if(doc.n==3)throw({forbidden:'not three'});if(doc.n==4)throw({unauthorized:'not four'});if(doc.n==5)throw({odd:{five:5}})}"}`)
	w.OK("POST", "/a/_bulk_docs", bulkOf(0, 10, 10))
	w.OK("PUT", "/a/file", `{"n":3,"_attachments":{"x":{"data":"eA=="}}}`)
	w.OK("PUT", "/a/file5", `{"n":5,"_attachments":{"x":{"data":"eA=="}}}`)
	var r record
	result := w.run(w.task(&r))
	want := map[string]string{"doc000003": "forbidden: not three", "doc000004": "unauthorized: not four", "file": "forbidden: not three",
		"doc000005": `unknown_error: {"five":5}`, "file5": `unknown_error: {"five":5}`}
	got := map[string]string{}
	for _, f := range r.failures {
		got[f.ID] = f.Code + ": " + f.Reason
		if f.Reading || f.Rev == "" || f.Time.IsZero() {
			t.Errorf("%+v", f)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	h := result.Checkpoint.History[0]
	if h.DocWriteFailures != 5 || h.DocsWritten != 7 || h.DocsRead != 12 || h.MissingFound != 12 {
		t.Errorf("history: %+v", h)
	}
	if len(w.tree("b")) != 8 {
		t.Errorf("stored: %v", w.tree("b"))
	}
}

// TestPartitionedTarget has no place for ids without a partition.
func TestPartitionedTarget(t *testing.T) {
	for _, told := range []bool{true, false} {
		t.Run(fmt.Sprint(told), func(t *testing.T) {
			w := newWorld(t)
			w.OK("PUT", "/p?partitioned=true", "")
			w.OK("POST", "/a/_bulk_docs", `{"docs":[{"_id":"p:1"},{"_id":"plain"},{"_id":"p:2"},{"_id":":"},{"_id":"p:3"},{"_id":"_design/d"}]}`)
			var r record
			task := w.task(&r)
			task.Target = w.at("p")
			if !told { // then it is found out by what the target refuses
				task.Target.Transport = &liar{next: task.Target.Transport, where: "/p", old: `"partitioned":true`, new: ""}
			}
			w.run(task)
			for _, f := range r.failures {
				if f.Code != "illegal_docid" && f.Code != "illegal_partition" || f.Status != 400 {
					t.Errorf("%+v", f)
				}
			}
			if got := w.tree("p"); len(got) != 4 || len(r.failures) != 2 {
				t.Errorf("failures:\n%sstored %v", r.summary(), got)
			}
		})
	}
}

// TestTargetsOwnFaults has a target that can't write one document, for a while
// or for ever: the run waits, or ends without a checkpoint beyond it.
func TestTargetsOwnFaults(t *testing.T) {
	for _, ever := range []bool{false, true} {
		t.Run(fmt.Sprint(ever), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.OK("POST", "/a/_bulk_docs", bulkOf(0, 3, 10))
				var r record
				task := w.task(&r)
				next := task.Target.Transport
				faults := 0
				task.Target.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
					if faults == 3 && !ever || !strings.HasSuffix(r.URL.Path, "_bulk_docs") {
						return next.RoundTrip(r)
					}
					faults++
					body := `[{"id":"doc000001","error":"internal_server_error","reason":"the disk is full"}]`
					return answering(next, "_bulk_docs", body).RoundTrip(r)
				})
				_, err := task.Run(context.Background())
				var peer *replicate.PeerError
				switch {
				case ever && (!errors.As(err, &peer) || peer.Reason != "the disk is full"):
					t.Errorf("ended with %v", err)
				case !ever && err != nil:
					t.Error(err)
				}
				if got := w.Do("GET", "/b/_local/test", "").Code; ever != (got == 404) {
					t.Errorf("checkpoint: %d", got)
				}
				if len(r.failures) > 0 {
					t.Errorf("failures: %s", r.summary())
				}
			})
		})
	}
}
