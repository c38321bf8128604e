package replicate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// fault is what becomes of a request.
type fault func(next http.RoundTripper, r *http.Request) (*http.Response, error)

var errCut = errors.New("the connection was cut")

// gone: the request never arrives.
func gone(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return nil, errCut
}

// lost: the request is carried out, and its answer does not arrive.
func dropAnswer(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	response, err := next.RoundTrip(r)
	if err == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
		_ = response.Body.Close()
		err = errCut
	}
	return nil, err
}

// halved: the answer breaks off in its middle.
func halved(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	response, err := next.RoundTrip(r)
	if err != nil || strings.Contains(r.URL.RawQuery, "feed=continuous") {
		return response, err
	}
	whole, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), broken{}))
	return response, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// halfSent: the request breaks off in the middle of its body.
func halfSent(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return gone(next, r)
	}
	whole, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), broken{}))
	response, err := next.RoundTrip(r)
	if err == nil {
		_ = response.Body.Close()
		err = errCut
	}
	return nil, err
}

// silent: nothing ever comes back.
func silent(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// says answers with a status.
func says(status int, header ...string) fault {
	return func(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(`{"error":"made_up","reason":"` + strconv.Itoa(status) + `"}`))}, nil
	}
}

var faults = map[string]fault{
	"gone": gone, "lost": dropAnswer, "halved": halved, "half sent": halfSent, "silent": silent,
	"500": says(500), "502": says(502), "429": says(429, "Retry-After", "2"), "503": says(503, "Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"),
}

// faulty lets one request, or all from one on, go wrong.
type faulty struct {
	next  http.RoundTripper
	fault fault
	at    int64
	ever  bool // all from there on
	count atomic.Int64
}

func (f *faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	if n := f.count.Add(1); n == f.at || f.ever && n >= f.at {
		return f.fault(f.next, r)
	}
	return f.next.RoundTrip(r)
}

// fill puts a bit of everything into a database.
func (w *world) fill(path string) {
	w.OK("POST", "/"+path+"/_bulk_docs", bulkOf(0, 12, 50))
	w.OK("POST", "/"+path+"/_bulk_docs", `{"new_edits":false,"docs":[
		{"_id":"conflict","_revisions":{"start":2,"ids":["aa","00"]},"s":1},
		{"_id":"conflict","_revisions":{"start":3,"ids":["cc","bb","00"]},"s":2},
		{"_id":"gone","_revisions":{"start":2,"ids":["ff","ee"]},"_deleted":true},
		{"_id":"_design/d","_rev":"1-11","views":{}}]}`)
	w.OK("PUT", "/"+path+"/file/x.bin?", "some bytes", "Content-Type", "application/octet-stream")
	w.OK("PUT", "/"+path+"/file2/t.txt", strings.Repeat("some text ", 3000), "Content-Type", "text/plain")
}

// ways are how a run may go about its work: by the protocol, or by a snapshot first.
var ways = map[string]int64{"": 0, " by a snapshot": 1}

// TestEachRequestMayFail lets each request of a run in turn meet each fault, of which make test leaves three of four to
// make test-long, and the run has to end as if nothing had been.
func TestEachRequestMayFail(t *testing.T) {
	step := int64(4)
	if testrun.IsLong() {
		step = 1
	}
	first := int64(0)
	for name, fault := range faults {
		for _, side := range []string{"source", "target"} {
			for way, from := range ways {
				first = first%step + 1
				t.Run(name+" at the "+side+way, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { eachMayFail(t, fault, side, from, first, step) })
				})
			}
		}
	}
}

func eachMayFail(t *testing.T, fault fault, side string, from, first, step int64) {
	w := newWorld(t)
	w.fill("a")
	for n := first; ; n += step {
		var r record
		target := fmt.Sprintf("to%d", n)
		task, f := w.faulty(&r, target, side, from, &faulty{fault: fault, at: n})
		result := w.run(task)
		if len(r.failures) > 0 {
			t.Fatalf("request %d: failures:\n%s", n, r.summary())
		}
		if (result.Stats.Snapshot.Documents > 0) != (from == 1) {
			t.Fatalf("request %d: %+v", n, result.Stats)
		}
		w.same("a", target)
		if f.count.Load() < n {
			t.Logf("%d requests", f.count.Load())
			return
		}
	}
}

// faulty makes a task from a to a new database, one side of which has a fault.
func (w *world) faulty(r *record, target, side string, from int64, f *faulty) (*replicate.Task, *faulty) {
	w.OK("PUT", "/"+target, "")
	task := w.task(r)
	task.ID, task.Target, task.Batch, task.SnapshotFrom = target, w.at(target), 5, from
	broken := &task.Source
	if side == "target" {
		broken = &task.Target
	}
	f.next, broken.Transport = broken.Transport, f
	return task, f
}

// TestEachRequestMayBeTheLast lets a peer die at each request in turn: the run
// fails, and the next one finishes what it began.
func TestEachRequestMayBeTheLast(t *testing.T) {
	for _, side := range []string{"source", "target"} {
		for way, from := range ways {
			t.Run(side+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { eachMayBeTheLast(t, side, from) })
			})
		}
	}
}

func eachMayBeTheLast(t *testing.T, side string, from int64) {
	w := newWorld(t)
	w.fill("a")
	for n := int64(1); ; n++ {
		var r record
		target := fmt.Sprintf("to%d", n)
		task, f := w.faulty(&r, target, side, from, &faulty{fault: dropAnswer, at: n, ever: true})
		_, err := task.Run(context.Background())
		if f.count.Load() < n {
			must(t, err)
			return
		}
		var peer *replicate.PeerError
		if !errors.As(err, &peer) {
			t.Fatalf("request %d: %v", n, err)
		}
		whole := *task
		whole.Source, whole.Target = w.at("a"), w.at(target)
		w.run(&whole)
		w.same("a", target)
	}
}

// lingering refuses what has attachments at once, and reads on in the request
// after a while, as the contract of http.RoundTripper allows and net/http does
// with a target that answers before it has read.
type lingering struct {
	next http.RoundTripper
	owns atomic.Bool // it will read on
}

func (l *lingering) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		return l.next.RoundTrip(r)
	}
	body := r.Body
	r = r.Clone(r.Context())
	r.Body = http.NoBody
	l.owns.Store(true)
	go func() {
		time.Sleep(time.Second) // in the test's own time
		l.owns.Store(false)
		_, _ = io.Copy(io.Discard, body)
		_ = body.Close()
	}()
	return says(403)(nil, r)
}

// TestRefusedAttachmentsAreLeftAlone: nobody goes on in the source's answer while
// the target's client may still read attachments from it.
func TestRefusedAttachmentsAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.OK("PUT", "/a/file/x.bin", strings.Repeat("bytes", 100_000), "Content-Type", "application/octet-stream")
		var r record
		task := w.task(&r)
		target := &lingering{next: task.Target.Transport}
		var both atomic.Int64
		source := task.Source.Transport
		task.Source.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			response, err := source.RoundTrip(r)
			if err == nil {
				response.Body = &counted{response.Body, func(int) {
					if target.owns.Load() {
						both.Add(1)
					}
				}}
			}
			return response, err
		})
		task.Target.Transport = target
		w.run(task)
		if len(r.failures) != 1 || r.failures[0].Status != 403 {
			t.Errorf("failures: %s", r.summary())
		}
		if both.Load() > 0 {
			t.Error("two read in the source's answer")
		}
		time.Sleep(time.Minute) // in the test's own time: nobody reads any more
	})
}
