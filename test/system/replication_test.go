package system

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/testkit/process"
)

// leaves returns the leaves of every document of a database, by id.
func leaves(t *testing.T, c *client, db string) map[string][]string {
	t.Helper()
	var feed struct{ Results []changesRow }
	c.must(t, 200, "GET", "/"+db+"/_changes?style=all_docs", "", &feed)
	all := map[string][]string{}
	for _, row := range feed.Results {
		if _, twice := all[row.ID]; twice {
			t.Fatalf("%s stands in the feed of %s twice", row.ID, db)
		}
		for _, change := range row.Changes {
			all[row.ID] = append(all[row.ID], change.Rev)
		}
		slices.Sort(all[row.ID])
	}
	return all
}

// load writes documents into a database: new ones, updates, conflicts and some with an attachment.
func load(t *testing.T, c *client, db string, from, to int) {
	t.Helper()
	for from < to {
		var docs []string
		n := min(to-from, 500)
		for i := range n {
			id := fmt.Sprintf("p%d:%06d", (from+i)%7, from+i)
			attachment := ""
			if i%50 == 0 {
				attachment = `,"_attachments":{"f":{"content_type":"application/octet-stream","data":"` + strings.Repeat("QUJD", 200) + `"}}`
			}
			for j := range 1 + i%3/2 {
				docs = append(docs, fmt.Sprintf(`{"_id":%q,"_rev":"1-%032x","n":%d%s}`, id, from+i+j<<32, i, attachment))
			}
		}
		c.must(t, 201, "POST", "/"+db+"/_bulk_docs", `{"new_edits":false,"docs":[`+strings.Join(docs, ",")+`]}`, nil)
		from += n
	}
}

// TestReplicationSurvivesKills kills the server that replicates with SIGKILL, again and again in the middle of it, while
// the source goes on growing. Each time it goes on from a checkpoint, and in the end the target has every leaf of the
// source and no other.
func TestReplicationSurvivesKills(t *testing.T) {
	source := ask(process.Start(t, process.Options{Dir: t.TempDir()}))
	source.must(t, 201, "PUT", "/from", "", nil)
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(3, 5))
	const rounds, each = 6, 3000
	body := fmt.Sprintf(`{"source":"http://%s:%s@%s/from","target":"to","create_target":true,"create_target_params":{"partitioned":true},"continuous":true,
		"checkpoint_interval":100,"worker_batch_size":50}`, process.User, process.Password, strings.TrimPrefix(source.base, "http://"))
	done := 0
	for round := range rounds {
		s := process.Start(t, process.Options{Dir: dir})
		c := ask(s)
		if round == 0 {
			c.must(t, 201, "PUT", "/_replicator/copy", body, nil)
		}
		load(t, source, "from", round*each, (round+1)*each)
		// Somewhere on the way the server dies.
		wanted := done + 1 + random.IntN(each/2)
		process.Within(t, time.Minute, "documents arrive", func() bool {
			done = count(c, "to")
			return done >= wanted
		})
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		check(t, dir)
	}
	s := process.Start(t, process.Options{Dir: dir})
	c := ask(s)
	process.Within(t, 2*time.Minute, "all documents arrive", func() bool { return count(c, "to") == rounds*each })
	want := leaves(t, source, "from")
	process.Within(t, time.Minute, "all leaves arrive", func() bool { return cmp.Equal(want, leaves(t, c, "to")) })
	resumed(t, source)
	var row struct {
		State string
		Info  struct {
			Failures int `json:"doc_write_failures"`
		}
	}
	c.must(t, 200, "GET", "/_scheduler/docs/_replicator/copy", "", &row)
	if row.State != "running" || row.Info.Failures != 0 {
		t.Errorf("the document tells %+v", row)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	check(t, dir)
}

// count returns how many documents a database has, 0 if it is not there.
func count(c *client, db string) int {
	var info struct {
		Docs int `json:"doc_count"`
	}
	status, answer, err := c.do("GET", "/"+db, nil)
	if err != nil || status != 200 || json.Unmarshal(answer, &info) != nil {
		return 0
	}
	return info.Docs
}

// resumed fails the test unless the checkpoint at the source shows runs that began where another one had ended.
func resumed(t *testing.T, source *client) {
	t.Helper()
	var locals struct {
		Rows []struct {
			Doc struct {
				History []struct {
					Start json.RawMessage `json:"start_last_seq"`
				}
			}
		}
	}
	source.must(t, 200, "GET", "/from/_local_docs?include_docs=true", "", &locals)
	if len(locals.Rows) != 1 {
		t.Fatalf("there are %d checkpoints", len(locals.Rows))
	}
	later := 0
	for _, session := range locals.Rows[0].Doc.History {
		if string(session.Start) != "0" {
			later++
		}
	}
	if later < 2 {
		t.Errorf("%d of %d runs went on from a checkpoint", later, len(locals.Rows[0].Doc.History))
	}
}

// TestReplicationEndsWithTheServer: a server that replicates from itself, by URL and by name, stops in good order.
func TestReplicationEndsWithTheServer(t *testing.T) {
	dir := t.TempDir()
	s := process.Start(t, process.Options{Dir: dir})
	c := ask(s)
	c.must(t, 201, "PUT", "/a", "", nil)
	load(t, c, "a", 0, 100)
	url := fmt.Sprintf("http://%s:%s@%s", process.User, process.Password, s.Address)
	c.must(t, 202, "POST", "/_replicate", `{"source":"`+url+`/a","target":"`+url+`/b","create_target":true,"continuous":true}`, nil)
	c.must(t, 202, "POST", "/_replicate", `{"source":"a","target":"c","create_target":true,"continuous":true}`, nil)
	process.Within(t, time.Minute, "documents arrive", func() bool { return count(c, "b") == 100 && count(c, "c") == 100 })
	if err := s.Interrupt(); err != nil {
		t.Fatal(err)
	}
	if code, err := s.Wait(time.Minute); code != 0 || err != nil {
		t.Errorf("it ended with %d, %v", code, err)
	}
	if strings.Contains(s.Output(), process.Password+"@") || strings.Contains(s.Output(), "were cut") {
		t.Errorf("it printed:\n%s", s.Output())
	}
	check(t, dir)
}
