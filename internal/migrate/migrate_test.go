package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/couchclient"
)

// happen lets something happen to the source. What is refused is no matter.
func (w *world) happen(random *rand.Rand, n int) {
	ids := []string{"a", "b", "c", "d:x", "e/f", "ü +", "de:g", "h"}
	id := ids[random.IntN(len(ids))]
	country := []string{"de", "de", "fr", "it"}[random.IntN(4)]
	path := "/old/" + couchclient.Escape(id)
	rev := strings.Trim(w.a.Do("HEAD", path, "").Header().Get("Etag"), `"`)
	match := []string{}
	if rev != "" {
		match = []string{"If-Match", rev}
	}
	switch random.IntN(9) {
	case 0, 1, 2:
		w.a.Do("PUT", path, fmt.Sprintf(`{"country":%q,"n":%d}`, country, n), match...)
	case 3: // without a place
		w.a.Do("PUT", path, `{"n":1}`, match...)
	case 4:
		w.a.Do("DELETE", path, "", match...)
	case 5: // a tombstone that says where it belongs
		w.a.Do("PUT", path, fmt.Sprintf(`{"_deleted":true,"country":%q}`, country), match...)
	case 6: // a conflict
		w.a.Do("POST", "/old/_bulk_docs", fmt.Sprintf(`{"new_edits":false,"docs":[{"_id":%q,"_rev":"%d-%032x","_revisions":{"start":%[2]d,"ids":["%032[3]x"]},"country":%q}]}`, id, 1+random.IntN(4), random.IntN(1000), country))
	default: // attachments
		w.a.Do("PUT", fmt.Sprintf("%s/file%d", path, random.IntN(2)), strings.Repeat("x", random.IntN(3)*100_000)+"y", append(match, "Content-Type", "image/png")...)
	}
}

// TestHistories has a random history of the source go on between runs, in the middle of runs, and with runs that end at
// any request. In the end the target has what the source has, where it belongs.
func TestHistories(t *testing.T) {
	seeds := 12
	if testing.Short() {
		seeds = 3
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 16))
			w := newWorld(t)
			m := w.migration("country")
			for n := range 12 {
				for i := range 1 + random.IntN(8) {
					w.happen(random, 100*n+i)
				}
				if n%4 == 3 {
					w.followed(m, random)
				} else {
					w.broken(m, random)
				}
			}
			w.run(m)
			if diff := w.same(&m.Mapping); diff != "" {
				t.Fatalf("(-source +target)\n%s\n%s", diff, w.out.String())
			}
			if o := w.run(m); o.Written != 0 || o.Moved != 0 {
				t.Errorf("once more: %+v", o)
			}
		})
	}
}

// broken runs a migration that ends at a request, and has something happen in the middle.
func (w *world) broken(m *Migration, random *rand.Rand) {
	ctx, kill := context.WithCancel(w.t.Context())
	defer kill()
	end, write := 1+random.IntN(60), 1+random.IntN(30)
	w.requests = 0
	w.before = func(n int, _ *http.Request) (*http.Response, error) {
		if n == write {
			w.happen(random, 5000)
		}
		if n >= end {
			kill()
			return nil, ctx.Err()
		}
		return nil, nil
	}
	if _, err := m.Run(ctx); err != nil && ctx.Err() == nil {
		w.t.Fatal(err)
	}
	w.before = nil
}

// followed runs a migration that follows while things happen, and is then cut over, or killed.
func (w *world) followed(m *Migration, random *rand.Rand) {
	ctx, kill := context.WithCancel(w.t.Context())
	defer kill()
	cut := make(chan struct{})
	follow := *m
	follow.CutOver = cut
	caught := make(chan struct{})
	follow.Out = &watch{text: "caught up", seen: func() { close(caught) }}
	done := make(chan error)
	go func() {
		_, err := follow.Run(ctx)
		done <- err
	}()
	<-caught
	for i := range 25 {
		w.happen(random, 7000+i)
	}
	if random.IntN(2) == 0 {
		kill()
	} else {
		close(cut)
	}
	if err := <-done; err != nil && ctx.Err() == nil {
		w.t.Error(err)
	}
}

// TestInterrupted ends a run at each of its requests, one after the other; the next run goes on.
func TestInterrupted(t *testing.T) {
	for end, whole := 1, false; !whole; end++ {
		w := newWorld(t)
		m := w.migration("country")
		m.References = []string{"of"}
		for i := range 5 {
			w.put(fmt.Sprint("doc", i), fmt.Sprintf(`{"country":"c%d","of":"doc%d"}`, i%2, 4-i))
		}
		w.run(m)
		w.put("doc1", `{"country":"moved"}`)
		w.put("doc9", `{"country":"c1","of":"doc1","_attachments":{"a":{"data":"YWJj"}}}`)
		ctx, kill := context.WithCancel(t.Context())
		w.requests = 0
		w.before = func(n int, _ *http.Request) (*http.Response, error) {
			if n >= end {
				kill()
				return nil, ctx.Err()
			}
			return nil, nil
		}
		_, err := m.Run(ctx)
		if whole = err == nil; whole != (ctx.Err() == nil) {
			t.Fatalf("ended at %d: %v", end, err)
		}
		w.before = nil
		kill()
		w.run(m)
		want := []string{"c0:doc0", "c0:doc2", "c0:doc4", "c1:doc3", "c1:doc9", "moved:doc1"}
		if got := w.ids(); !slices.Equal(got, want) {
			t.Fatalf("ended at %d: %q\n%s", end, got, w.out.String())
		}
		if got := w.b.OK("GET", "/new/c1:doc9", ""); !strings.Contains(got, `"of":"moved:doc1"`) {
			t.Fatalf("ended at %d: %s", end, got)
		}
		if whole && end < 20 {
			t.Errorf("a run has %d requests only", end)
		}
	}
}

// ids are those of the target's live documents.
func (w *world) ids() (ids []string) {
	var list struct{ Rows []struct{ ID string } }
	decode(w.t, w.b.OK("GET", "/new/_all_docs", ""), &list)
	for _, r := range list.Rows {
		if !strings.HasPrefix(r.ID, "_design/") {
			ids = append(ids, r.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// TestReferences maps references by path, to documents that come later, in arrays, and leaves those to nothing.
func TestReferences(t *testing.T) {
	w := newWorld(t)
	w.put("order1", `{"shop":"x","user":"u1","lines":[{"product":"p1","n":1},{"product":"p2"}],"tags":["p1","nobody"],"a.b":"p2"}`)
	for _, id := range []string{"u1", "p1", "p2"} {
		w.put(id, `{"shop":"y","self":"`+id+`"}`)
	}
	w.put("far", `{"shop":"z","product":{"product":"p1"}}`)
	m := w.migration("shop")
	m.References = []string{"user", "lines.product", "tags", `a\.b`, "self", "product.product"}
	if o := w.run(m); o.References != 1 || o.Written != 5 || o.Rejected != 0 {
		t.Errorf("%+v", o)
	}
	var got map[string]any
	decode(t, w.b.OK("GET", "/new/x:order1", ""), &got)
	delete(got, "_rev")
	var want map[string]any
	decode(t, `{"_id":"x:order1","shop":"x","user":"y:u1","lines":[{"product":"y:p1","n":1},{"product":"y:p2"}],"tags":["y:p1","nobody"],"a.b":"y:p2"}`, &want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := w.b.OK("GET", "/new/z:far", ""); !strings.Contains(got, `"product":{"product":"y:p1"}`) {
		t.Error(got)
	}
}

// TestWithoutPlace lists documents that have no partition; --default gives them one.
func TestWithoutPlace(t *testing.T) {
	w := newWorld(t)
	w.put("a", `{"country":"de"}`)
	w.put("b", `{}`)
	w.put("c", `{"country":"_x"}`)
	m := w.migration("country")
	if o := w.run(m); o.Rejected != 2 || o.Written != 1 {
		t.Errorf("%+v", o)
	}
	want := []string{`b: no_partition: it has no member "country"`, `c: no_partition: "_x" can be no partition: Partition must not start with an underscore`}
	if diff := cmp.Diff(want, w.rejected); diff != "" {
		t.Error(diff)
	}
	w.put("a", `{}`) // loses its place
	w.run(m)
	if len(w.rejected) != 3 || !strings.Contains(w.rejected[2], "an earlier revision is in de") {
		t.Errorf("%q", w.rejected)
	}
	m = w.migration("country")
	m.Default = "nowhere"
	if o := w.run(m); o.Rejected != 0 || o.Moved != 1 {
		t.Errorf("%+v %q", o, w.rejected)
	}
	if got := w.ids(); !slices.Equal(got, []string{"nowhere:a", "nowhere:b", "nowhere:c"}) {
		t.Errorf("%q", got)
	}
}

// TestKeepIDs leaves ids as they are that begin with their partition.
func TestKeepIDs(t *testing.T) {
	w := newWorld(t)
	w.put("de:1", `{}`)
	w.put("fr:1:2", `{}`)
	w.put("none", `{}`)
	m := w.migration("{_id|before :}")
	m.KeepIDs = true
	if o := w.run(m); o.Rejected != 1 {
		t.Errorf("%+v", o)
	}
	if got := w.ids(); !slices.Equal(got, []string{"de:1", "fr:1:2"}) {
		t.Errorf("%q", got)
	}
	w.a.OK("DELETE", "/old/de:1", "", "If-Match", w.put("de:1", `{}`))
	w.run(m)
	if got := w.ids(); !slices.Equal(got, []string{"fr:1:2"}) {
		t.Errorf("%q", got)
	}
	m = w.migration("country")
	m.KeepIDs, m.Default = true, "de"
	if w.run(m); len(w.rejected) != 2 || w.rejected[0] != "fr:1:2: no_partition: its id does not begin with its partition, de:; an earlier revision is in fr" {
		t.Errorf("%q", w.rejected)
	}
}

// TestDesign lets design documents ask the whole database, as they did.
func TestDesign(t *testing.T) {
	w := newWorld(t)
	w.put("_design/app", `{"views":{"by":{"map":"function (doc) { emit(doc.n) }"}}}`)
	w.a.OK("POST", "/old/_index", `{"index":{"fields":["n"]},"ddoc":"idx"}`)
	for i := range 3 {
		w.put(fmt.Sprint(i), fmt.Sprintf(`{"n":%d,"country":"c%d"}`, i, i))
	}
	m := w.migration("country")
	if o := w.run(m); o.Rejected != 0 || o.Written != 5 {
		t.Errorf("%+v %q", o, w.rejected)
	}
	if got := w.b.OK("GET", "/new/_design/app/_view/by", ""); strings.Count(got, `"id"`) != 3 {
		t.Error(got)
	}
	if said := []byte(`{"options":{"partitioned":true}}`); func() bool { _, other := global(said); return other }() {
		t.Error("what says whom it asks is changed")
	}
	if got := w.b.OK("POST", "/new/_find", `{"selector":{"n":{"$gt":0}},"use_index":"idx"}`); strings.Count(got, `"_id"`) != 2 || strings.Contains(got, "warning") {
		t.Error(got)
	}
	if n := strings.Count(w.out.String(), "asks the whole database from now on"); n != 2 {
		t.Errorf("told of %d:\n%s", n, w.out.String())
	}
	w = newWorld(t)
	w.put("_design/app", `{}`)
	m = w.migration("country")
	m.NoDesign = true
	if o := w.run(m); o.Written != 0 {
		t.Errorf("%+v", o)
	}
}

// TestOthersStay holds that documents that no migration brought are not taken away, though they have an id that one may.
func TestOthersStay(t *testing.T) {
	w := newWorld(t)
	w.b.OK("PUT", "/new?partitioned=true", "")
	w.b.OK("PUT", "/new/fr:a", `{"mine":true}`)
	w.put("a", `{"country":"de"}`)
	m := w.migration("country")
	if o := w.run(m); o.Moved != 0 {
		t.Errorf("%+v", o)
	}
	if got := w.ids(); !slices.Equal(got, []string{"de:a", "fr:a"}) {
		t.Errorf("%q", got)
	}
}

// TestTargetWithoutPurge deletes what has moved where the target does not purge.
func TestTargetWithoutPurge(t *testing.T) {
	w := newWorld(t)
	w.before = func(_ int, q *http.Request) (*http.Response, error) {
		if strings.HasSuffix(q.URL.Path, "/_purge") {
			return answer(q, 501, `{"error":"not_implemented","reason":"no"}`), nil
		}
		return nil, nil
	}
	w.put("a", `{"country":"de"}`)
	m := w.migration("country")
	w.run(m)
	w.put("a", `{"country":"fr"}`)
	if o := w.run(m); o.Moved != 1 {
		t.Errorf("%+v", o)
	}
	if got := w.ids(); !slices.Equal(got, []string{"fr:a"}) {
		t.Errorf("%q", got)
	}
}

func answer(q *http.Request, status int, body string, header ...string) *http.Response {
	a := &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: q}
	for i := 0; i+1 < len(header); i += 2 {
		a.Header.Set(header[i], header[i+1])
	}
	return a
}

// TestFollow goes on with what is written, until the cut-over brings over what is left.
func TestFollow(t *testing.T) {
	w := newWorld(t)
	for i := range 20 {
		w.put(fmt.Sprint(i), `{"country":"de"}`)
	}
	m := w.migration("country")
	cut, caught := make(chan struct{}), make(chan struct{})
	m.CutOver = cut
	m.Out = &watch{text: "caught up", seen: func() { close(caught) }}
	done := make(chan error)
	go func() {
		_, err := m.Run(t.Context())
		done <- err
	}()
	select {
	case <-caught:
	case err := <-done:
		t.Fatal(err)
	}
	w.put("late", `{"country":"fr"}`)
	w.put("3", `{"country":"it"}`)
	close(cut)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if diff := w.same(&m.Mapping); diff != "" {
		t.Error(diff)
	}
	if got := w.ids(); !slices.Contains(got, "fr:late") || !slices.Contains(got, "it:3") || len(got) != 21 {
		t.Errorf("%q", got)
	}
}

// TestMovedOnItsWay has a document move while an earlier revision of it is on its way to where it was.
func TestMovedOnItsWay(t *testing.T) {
	w := newWorld(t)
	m := w.migration("country")
	cut, caught, looked, done := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan error)
	m.CutOver = cut
	m.Out = &watch{text: "caught up", seen: func() { close(caught) }}
	var once, lookedOnce sync.Once
	w.before = func(_ int, q *http.Request) (*http.Response, error) {
		switch {
		case q.URL.Host == "b" && strings.HasSuffix(q.URL.Path, "/_bulk_docs"):
			once.Do(func() {
				w.a.Do("PUT", "/old/a", `{"country":"fr"}`, "If-Match", strings.Trim(w.a.Do("HEAD", "/old/a", "").Header().Get("Etag"), `"`))
				<-looked
			})
		case q.URL.Host == "b" && q.Method == "GET" && strings.HasSuffix(q.URL.Path, "/de:a"):
			lookedOnce.Do(func() { close(looked) })
		}
		return nil, nil
	}
	go func() {
		_, err := m.Run(t.Context())
		done <- err
	}()
	<-caught
	w.put("a", `{"country":"de"}`)
	<-looked
	close(cut)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := w.ids(); !slices.Equal(got, []string{"fr:a"}) {
		t.Errorf("%q", got)
	}
}

// TestUnfinishedMove finds in the target what a run has left that was killed: a document in two partitions.
func TestUnfinishedMove(t *testing.T) {
	w := newWorld(t)
	rev := w.put("a", `{"country":"de"}`)
	m := w.migration("country")
	w.run(m)
	w.b.OK("POST", "/new/_bulk_docs", fmt.Sprintf(`{"new_edits":false,"docs":[{"_id":"fr:a","_rev":%q,"country":"de"},{"_id":"zz:a","_rev":"1-%032x"}]}`, rev, 5))
	w.run(m)
	if got := w.ids(); !slices.Equal(got, []string{"de:a", "zz:a"}) {
		t.Errorf("%q", got)
	}
}

// watch calls seen when a line holds a text.
type watch struct {
	text string
	seen func()
}

// Write implements io.Writer.
func (w *watch) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.text) {
		w.seen()
	}
	return len(p), nil
}

// TestSee shows what would become of a source.
func TestSee(t *testing.T) {
	w := newWorld(t)
	var docs []string
	for i := range 300 {
		docs = append(docs, fmt.Sprintf(`{"_id":"c%d:%03d","country":"c%d"}`, i%20, i, i%20))
	}
	w.a.OK("POST", "/old/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`,{"_id":"none"}]}`)
	w.put("_design/d", `{}`)
	m := w.migration("country")
	v, err := m.See(t.Context(), m.Source, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := v.Print(&text, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"301 documents by country: 20 partitions\n", "8 to         15          20  100 %", "c10          15    5 %",
		"warning: Less than 1 % of the documents have no partition", `without a partition: none: it has no member "country"`,
		"300 ids begin with their partition already", "1 design documents keep their ids"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	if _, err := json.Marshal(v); err != nil {
		t.Error(err)
	}
	if w.b.Do("GET", "/new", "").Code != 404 {
		t.Error("the target was made")
	}
}

// TestTargets refuses a target without partitions, and a source that is not there.
func TestTargets(t *testing.T) {
	w := newWorld(t)
	w.b.OK("PUT", "/new", "")
	if _, err := w.migration("country").Run(t.Context()); err == nil || !strings.Contains(err.Error(), "without partitions") {
		t.Errorf("%v", err)
	}
	w.a.OK("DELETE", "/old", "")
	w.b.OK("DELETE", "/new", "")
	if _, err := w.migration("country").Run(t.Context()); err == nil || !strings.Contains(err.Error(), "http://a/old") {
		t.Errorf("%v", err)
	}
	if a := w.b.Do("GET", "/new", ""); a.Code != 404 || w.out.String() != "" {
		t.Errorf("the target was made for a source that is not there: %s", w.out.String())
	}
	m := w.migration("country")
	m.References = []string{"a..b"}
	if _, err := m.Run(t.Context()); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestOntoItself refuses a target that is the source, also by another name of its server: each pass would bring over
// what the one before has written.
func TestOntoItself(t *testing.T) {
	w := newWorld(t)
	w.a.OK("PUT", "/shop?partitioned=true", "")
	w.a.OK("PUT", "/shop/a:1", `{"country":"de"}`)
	w.b.OK("PUT", "/shop?partitioned=true", "")
	for _, target := range []string{"http://a/shop", "http://also-a/shop", "http://a/shop/"} {
		m := w.migration("country")
		m.Source, m.Target = w.client("http://a/shop"), w.client(target)
		if _, err := m.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "same database") {
			t.Errorf("%s: %v", target, err)
		}
	}
	if a := w.a.OK("GET", "/shop", ""); !strings.Contains(a, `"doc_count":1,`) {
		t.Error(a)
	}
	m := w.migration("country")
	m.Source, m.Target = w.client("http://a/shop"), w.client("http://b/shop")
	if o := w.run(m); o.Written != 1 {
		t.Errorf("to another server: %+v", o)
	}
}

// TestBusySource is one as Cloudant is: it has partitions, has had enough of every third request, and lets nobody write.
func TestBusySource(t *testing.T) { synctest.Test(t, busySource) }

func busySource(t *testing.T) {
	w := newWorld(t)
	w.a.OK("DELETE", "/old", "")
	w.a.OK("PUT", "/old?partitioned=true", "")
	for i := range 20 {
		w.put(fmt.Sprintf("p%d:%d", i%3, i), fmt.Sprintf(`{"country":"c%d","of":"p0:0"}`, i%4))
	}
	w.before = func(n int, q *http.Request) (*http.Response, error) {
		switch {
		case q.URL.Host == "a" && q.Method == "PUT":
			return answer(q, 403, `{"error":"forbidden","reason":"_writer access is required for this request"}`), nil
		case n%3 == 0:
			return answer(q, 429, `{"error":"too_many_requests","reason":"You've exceeded your rate limit allowance."}`, "Retry-After", "1"), nil
		}
		return nil, nil
	}
	m := w.migration("country")
	m.References = []string{"of"}
	if o := w.run(m); o.Written != 20 || o.Rejected != 0 {
		t.Errorf("%+v %q", o, w.rejected)
	}
	if got := w.b.OK("GET", "/new/c1:p1:1", ""); !strings.Contains(got, `"of":"c0:p0:0"`) {
		t.Error(got)
	}
	w.a.OK("PUT", "/old/p0:new", `{"country":"c9"}`)
	if o := w.run(m); o.Written != 1 {
		t.Errorf("once more: %+v", o)
	}
}
