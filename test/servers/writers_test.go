package servers

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// writer makes requests through the balancer while servers fail, and says afterwards what does not hold. Its client's
// number is 1 for the first. A step reports whether it got its answer.
type writer interface {
	step(c *client, client, n int) (answered bool)
	verify(t *testing.T, c *client)
}

// sort tells the outcome of a request from its answer. What the balancer says of itself is no answer of a server.
func sort(a answer, err error) outcome {
	switch {
	case err != nil || a.status == http.StatusBadGateway && a.header.Get("X-Balancer") != "":
		return unknown
	case a.status < 300:
		return done
	case a.status >= 500:
		return failed
	}
	return refused
}

// claims gathers answers that must not be.
type claims struct {
	mu    sync.Mutex
	wrong []string
}

// look notes an answer that tells that nobody knows, or that makes no sense.
func (l *claims) look(what string, a answer, out outcome, legal ...int) {
	if out == unknown || out == done || out == failed && !strings.Contains(string(a.body), "unknown_outcome") || slices.Contains(legal, a.status) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, fmt.Sprintf("%s: %d %.200s", what, a.status, a.body))
}

func (l *claims) report(t *testing.T) {
	t.Helper()
	for _, w := range l.wrong[:min(len(l.wrong), 5)] {
		t.Error(w)
	}
}

// single writes one document by PUT with the revision that it has read.
type single struct {
	history
	claims
	path string
}

type value struct {
	Rev string `json:"_rev"`
	N   int
}

func (w *single) step(c *client, client, n int) (answered bool) {
	var now value
	out := w.run(client, asked{read: true}, func(asked) (out told) {
		a, err := c.do("GET", w.path, "")
		if out.outcome = sort(a, err); out.outcome == done && json.Unmarshal(a.body, &now) != nil {
			out.outcome = unknown // a torn answer
		}
		if out.outcome == refused && a.status == 404 {
			out.outcome = done
		}
		w.look("GET", a, out.outcome)
		out.values[0] = now.N
		return out
	})
	if out.outcome != done {
		return false
	}
	in := asked{sets: []setting{{0, now.N, client*100_000 + n}}}
	return w.run(client, in, func(asked) told {
		body := fmt.Sprintf(`{"n":%d}`, in.sets[0].n)
		if now.Rev != "" {
			body = fmt.Sprintf(`{"_rev":%q,"n":%d}`, now.Rev, in.sets[0].n)
		}
		a, err := c.do("PUT", w.path, body)
		out := sort(a, err)
		w.look("PUT", a, out, 409)
		return told{outcome: out}
	}).outcome != unknown
}

func (w *single) verify(t *testing.T, c *client) {
	verifyHistory(t, "single documents", &w.history, &w.claims)
}

func verifyHistory(t *testing.T, what string, h *history, l *claims) {
	t.Helper()
	l.report(t)
	holds, anything := h.linearizable()
	t.Logf("%s: %d carried out, %d refused, %d failed, %d without an answer", what, h.counted[done], h.counted[refused], h.counted[failed], h.counted[unknown])
	if !holds {
		t.Errorf("%s: the history is not linearizable", what)
	}
	if anything {
		t.Error("the model takes anything")
	}
	if h.counted[done] < 20 {
		t.Errorf("%s: only %d requests were carried out", what, h.counted[done])
	}
}

// batches sets two of three documents of a partition in one atomic batch.
type batches struct {
	history
	claims
	partition string
}

func (w *batches) step(c *client, client, n int) (answered bool) {
	var revs [cells]string
	now := w.run(client, asked{read: true}, func(asked) (out told) {
		a, err := c.do("GET", "/divided/_partition/"+w.partition+"/_all_docs?include_docs=true", "")
		var list struct {
			Rows []struct {
				ID  string
				Doc value
			}
		}
		if out.outcome = sort(a, err); out.outcome == done && json.Unmarshal(a.body, &list) != nil {
			out.outcome = unknown
		}
		w.look("_all_docs", a, out.outcome)
		for _, row := range list.Rows {
			cell := int(row.ID[len(row.ID)-1] - '0')
			out.values[cell], revs[cell] = row.Doc.N, row.Doc.Rev
		}
		return out
	})
	if now.outcome != done {
		return false
	}
	in, body := asked{}, []string{}
	for i := range 2 {
		cell := (n + i) % cells
		in.sets = append(in.sets, setting{cell, now.values[cell], client*100_000 + n})
		rev := ""
		if revs[cell] != "" {
			rev = fmt.Sprintf(`"_rev":%q,`, revs[cell])
		}
		body = append(body, fmt.Sprintf(`{"_id":"%s:%d",%s"n":%d}`, w.partition, cell, rev, client*100_000+n))
	}
	return w.run(client, in, func(asked) told {
		a, err := c.do("POST", "/divided/_bulk_docs", `{"atomic":true,"docs":[`+strings.Join(body, ",")+`]}`)
		out := sort(a, err)
		w.look("_bulk_docs", a, out, 409)
		return told{outcome: out}
	}).outcome != unknown
}

func (w *batches) verify(t *testing.T, c *client) {
	verifyHistory(t, "atomic batches", &w.history, &w.claims)
}

// outcomes are what was told of requests, by what each of them makes.
type outcomes struct {
	mu   sync.Mutex
	told map[string]outcome
}

// note notes what was told, and reports whether that was anything.
func (o *outcomes) note(name string, out outcome) (answered bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told[name] = out
	return out != unknown
}

// count returns how many there are of each.
func (o *outcomes) count() (of [4]int) {
	for _, out := range o.told {
		of[out]++
	}
	return of
}

// counters increments one document by PATCH, with a name for each increment beside the sum.
type counters struct {
	claims
	outcomes // by the increment's name
}

func (w *counters) step(c *client, client, n int) (answered bool) {
	name := fmt.Sprintf("%d-%d", client, n)
	a, err := c.do("PATCH", "/divided/counter:all?upsert=true", fmt.Sprintf(`{"$inc":{"n":1},"$append":{"names":[%q]}}`, name))
	out := sort(a, err)
	w.look("PATCH", a, out)
	return w.note(name, out)
}

func (w *counters) verify(t *testing.T, c *client) {
	w.report(t)
	var doc struct {
		N     int
		Names []string
	}
	c.must(t, 200, "GET", "/divided/counter:all", "", &doc)
	seen := map[string]int{}
	for _, name := range doc.Names {
		seen[name]++
	}
	if doc.N != len(doc.Names) {
		t.Errorf("the sum is %d of %d increments", doc.N, len(doc.Names))
	}
	count := w.count()
	for name, out := range w.told {
		if n := seen[name]; n > 1 || out == done && n != 1 || (out == failed || out == refused) && n != 0 {
			t.Errorf("increment %s, of which was told %d, is there %d times", name, out, n)
		}
	}
	t.Logf("increments: %d carried out, %d refused, %d failed, %d without an answer", count[done], count[refused], count[failed], count[unknown])
	if count[done] < 20 {
		t.Error("hardly any increments")
	}
}

// creations makes new documents; each that was acknowledged has to be in the feed.
type creations struct {
	claims
	outcomes // by the document's id
}

func (w *creations) step(c *client, client, n int) (answered bool) {
	id := fmt.Sprintf("new%d:%d", client, n)
	a, err := c.do("PUT", "/divided/"+id, `{"n":1}`)
	out := sort(a, err)
	w.look("PUT of a new one", a, out)
	return w.note(id, out)
}

// verify recounts: what is there, what the counters say, and what the feed has.
func (w *creations) verify(t *testing.T, c *client) {
	w.report(t)
	there, feed := map[string]bool{}, readFeed(t, c, "/divided")
	var list struct{ Rows []struct{ ID string } }
	c.must(t, 200, "GET", "/divided/_all_docs", "", &list)
	for _, row := range list.Rows {
		there[row.ID] = true
	}
	count := w.count()
	for id, out := range w.told {
		if out == done && (!there[id] || !feed[id]) {
			t.Errorf("%s was acknowledged; it is there: %t, in the feed: %t", id, there[id], feed[id])
		}
		if (out == failed || out == refused) && there[id] {
			t.Errorf("%s was refused and is there", id)
		}
	}
	t.Logf("new documents: %d carried out, %d refused, %d failed, %d without an answer", count[done], count[refused], count[failed], count[unknown])
	if extra := len(there) - len(feed); extra != 0 || len(feed) == 0 {
		t.Errorf("%d documents, %d in the feed", len(there), len(feed))
	}
	var info struct {
		Count int `json:"doc_count"`
	}
	if c.must(t, 200, "GET", "/divided", "", &info); info.Count != len(there) {
		t.Errorf("the counter says %d, there are %d", info.Count, len(there))
	}
	partitions := map[string]int{}
	for id := range there {
		p, _, _ := strings.Cut(id, ":")
		partitions[p]++
	}
	for _, p := range slices.Sorted(maps.Keys(partitions)) {
		if c.must(t, 200, "GET", "/divided/_partition/"+p, "", &info); info.Count != partitions[p] {
			t.Errorf("the counter of %s says %d, there are %d", p, info.Count, partitions[p])
		}
	}
}

// readFeed reads a feed page by page, holds its sequences to ascending, and returns whose changes it has.
func readFeed(t *testing.T, c *client, db string) map[string]bool {
	t.Helper()
	seen, last := map[string]bool{}, int64(0)
	for since := "0"; ; {
		var page struct {
			Results []row
			Last    string `json:"last_seq"`
			Pending int
		}
		c.must(t, 200, "GET", db+"/_changes?limit=50&since="+since, "", &page)
		for _, r := range page.Results {
			if n := r.number(); n <= last || seen[r.ID] {
				t.Errorf("the feed has %s at %d, after %d; before: %t", r.ID, n, last, seen[r.ID])
			} else {
				last = n
			}
			seen[r.ID] = true
		}
		if since = page.Last; len(page.Results) == 0 {
			return seen
		}
	}
}

// row is a line of a feed.
type row struct {
	Seq     string
	ID      string
	Changes []struct{ Rev string }
}

// number is the part of a sequence before the dash, which grows from change to change.
func (r row) number() (n int64) {
	if _, err := fmt.Sscanf(r.Seq, "%d-", &n); err != nil {
		return -1
	}
	return n
}
