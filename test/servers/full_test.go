package servers

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/sectional/sectional/internal/testkit/pgtest"
	"github.com/sectional/sectional/internal/testkit/process"
)

// filling writes documents until one is refused.
type filling struct {
	t    *testing.T
	c    *client
	told map[string]int // statuses by id; 0 for no answer
	n    int
}

// put writes one more document and returns the status.
func (f *filling) put() int {
	f.n++
	id := fmt.Sprintf("d%d", f.n)
	a, err := f.c.do("PUT", "/full/"+id, fmt.Sprintf(`{"text":%q}`, noise(f.n)))
	if err != nil {
		a.status = 0
	}
	f.told[id] = a.status
	return a.status
}

// noise is a text that does not become much shorter by compression.
func noise(seed int) string {
	b, state := make([]byte, 200_000), uint64(seed)*0x9e3779b97f4a7c15+1
	for i := range b {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		b[i] = 'A' + byte(state%26)
	}
	return string(b)
}

// verify holds what is there against what was told, and the counter against both.
func (f *filling) verify(when string) {
	f.t.Helper()
	var list struct{ Rows []struct{ ID string } }
	f.c.must(f.t, 200, "GET", "/full/_all_docs", "", &list)
	there := map[string]bool{}
	for _, row := range list.Rows {
		there[row.ID] = true
	}
	for id, status := range f.told {
		if status == http.StatusCreated && !there[id] {
			f.t.Errorf("%s: %s was acknowledged and is not there", when, id)
		}
		if status >= 400 && there[id] {
			f.t.Errorf("%s: %s was refused with %d and is there", when, id, status)
		}
	}
	var info struct {
		Count int `json:"doc_count"`
	}
	if f.c.must(f.t, 200, "GET", "/full", "", &info); info.Count != len(there) {
		f.t.Errorf("%s: the counter says %d, there are %d", when, info.Count, len(there))
	}
	f.c.must(f.t, 200, "GET", "/full/d1", "", nil)
}

// fill fills a server's disk.
func fill(t *testing.T, url string) *filling {
	t.Helper()
	s := process.Start(t, process.Options{Args: []string{"--engine", "postgres", "--postgres", url}, Env: []string{"SECTIONAL_TEST_FSYNC_OFF=1"}})
	f := &filling{t: t, c: ask(s.Base), told: map[string]int{}}
	f.c.http.Timeout = answerWithin
	f.c.must(t, 201, "PUT", "/full", "", nil)
	for f.put() == http.StatusCreated {
		if f.n == 5000 {
			t.Fatal("the disk does not become full")
		}
	}
	return f
}

// TestFullTables: where PostgreSQL finds no room for its tables, writes are refused with 507 and nothing of them is
// stored; reads go on; when there is room again, so do writes.
func TestFullTables(t *testing.T) {
	t.Parallel()
	pgtest.Need(t)
	room := pgtest.NewRoom(t, "48m")
	c := own(t, pgtest.Options{})
	f := fill(t, c.DatabaseIn(t, room))
	if status := f.told[fmt.Sprintf("d%d", f.n)]; status != http.StatusInsufficientStorage {
		t.Errorf("without room a document was answered %d", status)
	}
	up := string(f.c.must(t, 200, "GET", "/_up", "", nil).body)
	if !strings.Contains(up, `"full"`) {
		t.Errorf("_up says %s", up)
	}
	f.verify("without room")
	for range 20 {
		f.put()
	}
	f.verify("after more was tried")
	if err := room.Resize("96m"); err != nil {
		t.Fatal(err)
	}
	f.c.must(t, 201, "PUT", "/full/after", "{}", nil)
	if up := string(f.c.must(t, 200, "GET", "/_up", "", nil).body); !strings.Contains(up, `"ok"`) {
		t.Errorf("with room _up says %s", up)
	}
	f.told["after"] = http.StatusCreated
	f.verify("with room")
	remove(t, f)
}

// remove deletes a document, which takes a little room itself.
func remove(t *testing.T, f *filling) {
	t.Helper()
	var doc value
	f.c.must(t, 200, "GET", "/full/d1", "", &doc)
	f.c.must(t, 200, "DELETE", "/full/d1?rev="+doc.Rev, "", nil)
	f.c.must(t, 404, "GET", "/full/d1", "", nil)
}

// TestFullLog: where PostgreSQL finds no room for its log it stops. Then requests are told to come again, and all that
// was acknowledged is there when it runs again with more room.
func TestFullLog(t *testing.T) {
	t.Parallel()
	pgtest.Need(t)
	room := pgtest.NewRoom(t, "64m")
	c := own(t, pgtest.Options{Log: room.Dir + "/log", Settings: []string{"max_wal_size=1GB"}})
	f := fill(t, c.URL())
	// What became of the last one is found out before it is answered.
	if last := f.told[fmt.Sprintf("d%d", f.n)]; last != 0 && last != http.StatusServiceUnavailable {
		t.Errorf("without a log it was answered %d", last)
	}
	t.Logf("PostgreSQL stopped at document %d", f.n)
	if err := room.Resize("512m"); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	process.Within(t, patience, "it takes writes again", func() bool { return f.put() == http.StatusCreated })
	f.verify("with room")
	remove(t, f)
}

// own starts a cluster for the length of a test.
func own(t *testing.T, o pgtest.Options) *pgtest.Cluster {
	t.Helper()
	c, err := pgtest.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}
