package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/operate"
	"github.com/sectional/sectional/internal/testkit/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// served is a server with a partitioned database of three documents in two partitions, and its URL.
func served(t *testing.T) (*apitest.Server, string) {
	t.Helper()
	s := apitest.New(t)
	s.OK("PUT", "/shop?partitioned=true", "")
	s.OK("POST", "/shop/_bulk_docs", `{"docs":[{"_id":"a:1","n":1},{"_id":"a:2","n":2},{"_id":"b:1","n":3}]}`)
	s.OK("POST", "/shop/_index", `{"index":{"fields":["n"]},"ddoc":"byn","name":"byn","partitioned":false}`)
	s.OK("PUT", "/with%2Fslash", "")
	listener := httptest.NewServer(s)
	t.Cleanup(listener.Close)
	return s, strings.Replace(listener.URL, "://", "://adm:pass@", 1)
}

func TestStats(t *testing.T) {
	_, url := served(t)
	var server serverStats
	read(t, &server, "stats", "--json", "--server", url)
	found := map[string]int64{}
	for _, d := range server.Databases {
		found[d.Name] = d.Documents
	}
	if found["shop"] != 4 || len(found) < 2 || server.Version == "" || server.Classes["write"].Answered != 1 {
		t.Errorf("%+v", server)
	}
	if _, ok := found["with/slash"]; !ok {
		t.Errorf("%v", found)
	}
	var shop databaseStats
	read(t, &shop, "stats", "shop", "--json", "--server", url)
	if len(shop.Partitions) != 2 || shop.Partitions[0].Name != "a" || shop.Partitions[0].Documents != 2 || !shop.Database.Partition {
		t.Errorf("%+v", shop)
	}
	var byURL databaseStats
	read(t, &byURL, "stats", url+"/shop", "--json")
	if byURL.Name != "shop" || len(byURL.Partitions) != 2 {
		t.Errorf("%+v", byURL)
	}
	for _, of := range []string{url + "/shop/a", url + "/%zz", "http://u:secret@h:x/shop", url + "/shop/_partition/a/b"} {
		if c := sectional(t, "stats", of); c.code != exitFailed || !strings.Contains(c.err, "or by a URL such as") || strings.Contains(c.err, "secret") {
			t.Errorf("%s: %d %s", of, c.code, c.err)
		}
	}
	var a operate.Partition
	read(t, &a, "stats", url+"/shop/_partition/a", "--json")
	if a.Documents != 2 {
		t.Errorf("%+v", a)
	}
	a = operate.Partition{}
	read(t, &a, "stats", "shop/a", "--json", "--server", url)
	if a.Documents != 2 || a.Name != "a" || a.External == 0 {
		t.Errorf("%+v", a)
	}
	for _, c := range []struct{ of, want string }{
		{"", "DATABASE"}, {"shop", "PARTITION"}, {"shop/a", "documents  2"}, {"with%2Fslash", "documents  0"},
	} {
		args := []string{"stats", "--server", url}
		if c.of != "" {
			args = append(args, c.of)
		}
		if got := sectional(t, args...); got.code != exitDone || !strings.Contains(got.out, c.want) {
			t.Errorf("stats %s: %+v", c.of, got)
		}
	}
	if c := sectional(t, "stats", "missing", "--server", url); c.code != exitFailed || !strings.Contains(c.err, "Database does not exist") {
		t.Errorf("%+v", c)
	}
	if c := sectional(t, "stats", "--server", strings.Replace(url, "pass@", "wrong@", 1)); c.code != exitFailed || strings.Contains(c.err, "wrong") {
		t.Errorf("%+v", c)
	}
}

// read runs a command and decodes what it prints.
func read(t *testing.T, into any, args ...string) {
	t.Helper()
	c := sectional(t, args...)
	if c.code != exitDone || json.Unmarshal([]byte(c.out), into) != nil {
		t.Fatalf("%s: %+v", args, c)
	}
}

func TestDatabasesByPages(t *testing.T) {
	s, url := served(t)
	for i := range 205 {
		s.OK("PUT", fmt.Sprintf("/d%03d", i), "")
	}
	var server serverStats
	read(t, &server, "stats", "--json", "--server", url)
	seen := map[string]bool{}
	for _, d := range server.Databases {
		if seen[d.Name] {
			t.Errorf("%s is there twice", d.Name)
		}
		seen[d.Name] = true
	}
	for i := range 205 {
		if !seen[fmt.Sprintf("d%03d", i)] {
			t.Errorf("d%03d is missing", i)
		}
	}
}

func TestExplain(t *testing.T) {
	_, url := served(t)
	const query = `{"selector":{"n":{"$gt":1}}}`
	file := filepath.Join(t.TempDir(), "query.json")
	if err := os.WriteFile(file, []byte(query), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{query, "@" + file} {
		var e operate.Explained
		read(t, &e, "explain", "shop", q, "--json", "--server", url)
		if e.Run == nil || e.Run.Keys != 2 || e.Run.Returned != 2 || !strings.Contains(string(e.Index), "byn") {
			t.Errorf("%+v", e)
		}
	}
	c := sectional(t, "explain", "shop", query, "--server", url)
	c.out = regexp.MustCompile(`, [0-9.]+ k?B, for (.*) in .*ms`).ReplaceAllString(c.out, ", … for $1")
	if diff := cmp.Diff(`index  _design/byn/byn (json) [{"n":"asc"}]
reads  [1] to ["<MAX>"], fwd
not    _all_docs: unfavored type
read   2 keys, 2 documents of 2 partitions, … for 2 results
`, c.out); diff != "" {
		t.Error(diff, c.err)
	}
	if c := sectional(t, "explain", "shop/a", query, "--server", url); !strings.Contains(c.out, "documents of 1 partitions") {
		t.Errorf("%+v", c)
	}
	if c := sectional(t, "explain", "shop", query, "--no-run", "--server", url); strings.Contains(c.out, "results") || c.code != exitDone {
		t.Errorf("%+v", c)
	}
	for q, want := range map[string]string{"nonsense": "a query is a JSON object", "[]": "a query is a JSON object", `{"selector":7}`: "the server refuses", "@missing": "missing"} {
		if c := sectional(t, "explain", "shop", q, "--server", url); c.code != exitFailed || !strings.Contains(c.err, want) {
			t.Errorf("%s: %+v", q, c)
		}
	}
}

func TestTopOnce(t *testing.T) {
	_, url := served(t)
	var a activity
	read(t, &a, "top", "--once", "--json", "--server", url)
	if a.Requests["write"].Answered != 1 || len(a.Partitions) != 2 || len(a.Databases) < 2 || a.Version == "" {
		t.Errorf("%+v", a)
	}
	if c := sectional(t, "top", "--once", "--rows", "1", "--server", url); c.code != exitDone || !strings.Contains(c.out, "shop/a") || strings.Contains(c.out, "shop/b") || strings.Contains(c.out, "\x1b") {
		t.Errorf("%+v", c)
	}
	for _, flags := range [][]string{{"--every", "1ms"}, {"--rows", "0"}} {
		if c := sectional(t, append([]string{"top"}, flags...)...); c.code != exitUsage {
			t.Errorf("%s: %+v", flags, c)
		}
	}
}

// TestTopBetweenLooks: of two looks top tells what came between them.
func TestTopBetweenLooks(t *testing.T) {
	s, url := served(t)
	server, err := operate.New(url, "", "")
	if err != nil {
		t.Fatal(err)
	}
	k := &top{Rows: 10}
	before, err := k.look(context.Background(), server)
	if err != nil {
		t.Fatal(err)
	}
	s.OK("POST", "/shop/_bulk_docs", `{"docs":[{"_id":"b:2"},{"_id":"b:3"},{"_id":"b:4"}]}`)
	now, err := k.look(context.Background(), server)
	if err != nil {
		t.Fatal(err)
	}
	before.numbers.Uptime, now.numbers.Uptime = 100*time.Second, 102*time.Second
	a := now.since(before, 1)
	if a.Seconds != 2 || a.Requests["write"].PerSecond != 0.5 || a.Requests["write"].Answered != 1 || len(a.Databases) != 1 || a.Databases[0].Name != "shop" || a.Databases[0].PerSecond != 1.5 {
		t.Errorf("%+v", a)
	}
	if len(a.Partitions) != 1 || a.Partitions[0].Name != "b" {
		t.Errorf("%+v", a.Partitions)
	}
}

// TestRestorePartWhere: a part is restored where nothing is, unless asked otherwise, and a database is made for a partition.
func TestRestorePartWhere(t *testing.T) {
	s, url := served(t)
	at := func(r *restoring) error {
		_, err := r.target(t.Context())
		return err
	}
	for _, c := range []struct {
		r    restoring
		want string
	}{
		{restoring{Database: "db", To: url + "/shop"}, "shop has documents already"},
		{restoring{Database: "db", To: url + "/shop", Merge: true}, ""},
		{restoring{Database: "db", Partition: "a", To: url + "/shop"}, "shop has documents already"},
		{restoring{Database: "db", Partition: "new", To: url + "/shop"}, ""},
		{restoring{Database: "db", To: url + "/with%2Fslash"}, ""},
		{restoring{Database: "db", To: url + "/absent"}, ""},
		{restoring{Database: "db", Partition: "p", To: url + "/made"}, ""},
		{restoring{Database: "db", Partition: "p", To: url + "/with%2Fslash"}, "not partitioned"},
	} {
		err := at(&c.r)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s: %v", c.r.To, c.r.Partition, err)
		}
	}
	if made := s.OK("GET", "/made", ""); !strings.Contains(made, `"partitioned":true`) {
		t.Error(made)
	}
	side, err := (&restoring{Database: "db", Partition: "a/b", To: url + "/made"}).target(t.Context())
	if err != nil || !strings.HasSuffix(side.URL, "/made/_partition/a%2Fb") {
		t.Errorf("%s: %v", side.URL, err)
	}
}

// TestForPrograms: what commands came to is JSON for those who ask so.
func TestForPrograms(t *testing.T) {
	_, url := served(t)
	var made operate.AccessKey
	read(t, &made, "keys", "create", "adm", "--table", "shop", "--json", "--server", url)
	var keys []operate.AccessKey
	read(t, &keys, "keys", "list", "adm", "--json", "--server", url)
	if len(keys) != 1 || keys[0].ID != made.ID || keys[0].Secret != "" || made.Secret == "" {
		t.Errorf("made %+v, listed %+v", made, keys)
	}
	var carried struct{ Documents, Written, Refused int64 }
	read(t, &carried, "sync", url+"/shop", url+"/copy", "--create-target", "--json")
	if carried.Documents+carried.Written != 4 || carried.Refused != 0 {
		t.Errorf("carried over %+v", carried)
	}
	c := sectional(t, "check", "--json", "--data", filepath.Join(t.TempDir(), "none"))
	if c.code == exitDone || !strings.HasPrefix(c.out, `{"sound":false,"error":"there is no data directory`) {
		t.Errorf("%+v", c)
	}
}

// TestHostileNames has somebody who may write documents choose names by which a terminal would be cleared, its clipboard written, and
// rows be forged: the commands by which an operator looks at them print none of that.
func TestHostileNames(t *testing.T) {
	s, url := served(t)
	s.OK("PUT", "/evil?partitioned=true", "")
	s.OK("POST", "/evil/_bulk_docs", `{"docs":[{"_id":"\u001b]52;c;AA==\u0007:1","n":1},{"_id":"x\nforged\t9:1"},{"_id":"\u009b2J:1"},{"_id":"\u202eback:1"}]}`)
	s.OK("PUT", "/evil/_design/x%1B%5B2J", `{"language":"query","views":{"byn":{"map":{"fields":{"n":"asc"}},"reduce":"_count","options":{"def":{"fields":["n"]}}}}}`)
	for _, args := range [][]string{
		{"stats", "evil"}, {"stats", "evil/x"}, {"stats", "no\x1b"}, {"top", "--once"}, {"explain", "evil", `{"selector":{"n":{"$gt":0}}}`},
		{"import", url + "/evil", "-"}, {"migrate", "--partition-by", "n", "--dry-run", url + "/evil", url + "/new"},
		{"sync", url + "/evil", url + "/shop"},
	} {
		at := args
		if args[0] == "stats" || args[0] == "top" || args[0] == "explain" {
			at = append(args[:len(args):len(args)], "--server", url)
		}
		c := sectionalWith(t, `{"_id":"_x\u001b[2J\nforged\u009b\u202e"}`, at...)
		for _, text := range []string{"\x1b", "\a", "\u009b", "\u202e", "\nforged"} {
			if strings.Contains(c.out+c.err, text) {
				t.Errorf("%q prints %q: %q %q", args, text, c.out, c.err)
			}
		}
	}
	if c := sectional(t, "stats", "evil", "--server", url); !strings.Contains(c.out, `\x1b]52;c;AA==\a`) || !strings.Contains(c.out, `x\nforged\t9`) {
		t.Error(c.out)
	}
}
