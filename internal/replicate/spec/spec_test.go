package spec

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
)

func settings(t *testing.T, overrides ...config.Setting) *Settings {
	t.Helper()
	c, err := config.Open(config.Options{Overrides: overrides})
	if err != nil {
		t.Fatal(err)
	}
	return ParseSettings(c.Snapshot())
}

func parse(t *testing.T, body string) *Replication {
	t.Helper()
	r, err := Parse([]byte(body), settings(t))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return r
}

func TestParse(t *testing.T) {
	got := parse(t, `{"source":"http://u:p%40ss@H:5984/db/","target":{"url":"my/db/_partition/alice","headers":{"x-a":"1"}},
		"continuous":true,"create_target":true,"create_target_params":{"q":"1","n":2,"partitioned":true},
		"doc_ids":["b","a%20c","a"],"winning_revs_only":true,"use_checkpoints":false,"use_bulk_get":false,"since_seq":12,
		"worker_processes":"2","worker_batch_size":999999,"http_connections":3,"retries_per_request":0,"connection_timeout":5000,
		"checkpoint_interval":1000,"owner":"ann","user_ctx":{"name":"ann","roles":["x"]},"socket_options":"[{keepalive,true}]","more":1}`)
	want := &Replication{
		Source:     Endpoint{URL: "http://H:5984/db", User: "u", Password: "p@ss"},
		Target:     Endpoint{Local: "my/db/_partition/alice", Path: "/my%2Fdb/_partition/alice", Header: map[string]string{"X-A": "1"}},
		Continuous: true, CreateTarget: true, CreateParams: url.Values{"q": {"1"}, "n": {"2"}, "partitioned": {"true"}},
		DocIDs: []string{"a", "a c", "a%20c", "b"}, WinnersOnly: true, NoCheckpoints: true, NoBulkGet: true, SinceSeq: "12",
		Workers: 2, Batch: 5000, Connections: 3, Timeout: 5 * time.Second, CheckpointEvery: time.Second,
		Owner: "ann", UserContext: &UserContext{Name: "ann", Roles: []string{"x"}, HasRoles: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDefaultsAreCouchDBs(t *testing.T) {
	got := parse(t, `{"source":"a","target":"b"}`)
	want := &Replication{
		Source: Endpoint{Local: "a", Path: "/a"}, Target: Endpoint{Local: "b", Path: "/b"},
		Workers: 4, Batch: 500, Connections: 20, Retries: 5, Timeout: 30 * time.Second, CheckpointEvery: 30 * time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRefusals holds what can't be done to CouchDB's sentences, where it has one.
func TestRefusals(t *testing.T) {
	const ends = `"source":"http://h/a","target":"http://h/b"`
	for body, want := range map[string]string{
		`{}`:                                                                         "Missing replicator database",
		`{"source":"http://h/a"}`:                                                    "Missing replicator database",
		`{"source":null,"target":"b"}`:                                               "Missing replicator database",
		`{"source":5,"target":"b"}`:                                                  "endpoint has an invalid url",
		`{"source":{},"target":"b"}`:                                                 "endpoint has an invalid url",
		`{"source":{"url":""},"target":"b"}`:                                         "endpoint has an invalid url",
		`{"source":"http://","target":"b"}`:                                          "endpoint has an invalid url",
		`{"source":"http://h","target":"b"}`:                                         "endpoint has an invalid url",
		`{"source":"http://h/","target":"b"}`:                                        "endpoint has an invalid url",
		`{"source":"http://h/a?x=1","target":"b"}`:                                   "endpoint has an invalid url",
		`{"source":"ftp://h/a","target":"b"}`:                                        "endpoint has an invalid url",
		`{"source":"http://h:port/a","target":"b"}`:                                  "endpoint has an invalid url",
		`{"source":"foo/_partition/","target":"b"}`:                                  "endpoint has an invalid url",
		`{"source":"Not A Name","target":"b"}`:                                       "Name: 'Not A Name'.",
		`{` + ends + `,"doc_ids":["a"],"filter":"f/x"}`:                              "`doc_ids`,`filter`,`selector` are mutually exclusive",
		`{` + ends + `,"doc_ids":["a"],"selector":{}}`:                               "`doc_ids`,`filter`,`selector` are mutually exclusive",
		`{` + ends + `,"selector":{},"filter":"f/x"}`:                                "`doc_ids`,`filter`,`selector` are mutually exclusive",
		`{` + ends + `,"cancel":"true"}`:                                             "parameter `cancel` must be a boolean",
		`{` + ends + `,"continuous":1}`:                                              "parameter `continuous` must be a boolean",
		`{` + ends + `,"create_target":"true"}`:                                      "parameter `create_target` must be a boolean",
		`{` + ends + `,"create_target_params":[]}`:                                   "parameter `create_target_params` must be a JSON object",
		`{` + ends + `,"winning_revs_only":"x"}`:                                     "parameter `winning_revs_only` must be a boolean",
		`{` + ends + `,"use_bulk_get":"x"}`:                                          "parameter `use_bulk_get` must be a boolean",
		`{` + ends + `,"doc_ids":"a"}`:                                               "parameter `doc_ids` must be an array",
		`{` + ends + `,"doc_ids":[1]}`:                                               "parameter `doc_ids` must be an array of strings",
		`{` + ends + `,"selector":"x"}`:                                              "parameter `selector` must be a JSON object",
		`{` + ends + `,"selector":{"a":{"$nope":1}}}`:                                "Invalid operator: $nope",
		`{` + ends + `,"filter":"nope"}`:                                             "Invalid filter. Must match `ddocname/filtername`.",
		`{` + ends + `,"query_params":[]}`:                                           "parameter `query_params` must be an object",
		`{` + ends + `,"worker_processes":0}`:                                        "parameter `worker_processes` must be an integer of at least 1",
		`{` + ends + `,"since_seq":{}}`:                                              "parameter `since_seq` must be a sequence",
		`{` + ends + `,"proxy":"http://p","source_proxy":"http://q"}`:                "`proxy` is mutually exclusive with `source_proxy`",
		`{` + ends + `,"proxy":"http://p","target_proxy":"http://q"}`:                "`proxy` is mutually exclusive with `target_proxy`",
		`{` + ends + `,"proxy":"gopher://p"}`:                                        "proxy has an invalid url",
		`{` + ends + `,"user_ctx":{"name":5}}`:                                       "The `user_ctx.name` property must be a non-empty string or null.",
		`{` + ends + `,"user_ctx":{"roles":[""]}}`:                                   "The `user_ctx.roles` property must be an array of strings.",
		`{"source":{"url":"http://h/a","headers":{"a b":"c"}},"target":"b"}`:         "`headers` must hold strings that can be sent",
		`{"source":{"url":"http://h/a","headers":{"a":"c\r\nd: e"}},"target":"b"}`:   "`headers` must hold strings that can be sent",
		`{"source":{"url":"http://h/a","auth":{"iam":{"api_key":"x"}}},"target":""}`: "`auth` knows `basic` with `username` and `password` only",
		`{"source":{"url":"http://h/a","auth":{"basic":{}}},"target":"b"}`:           "`auth.basic` needs `username` and `password`",
	} {
		_, err := Parse([]byte(body), settings(t))
		var e *dberr.Error
		if !errors.As(err, &e) || e.Kind != dberr.Invalid || !strings.HasPrefix(e.Reason, want) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
	only := settings(t, config.Setting{Section: "replicator", Key: "valid_endpoint_protocols", Value: "https"})
	if _, err := Parse([]byte(`{`+ends+`}`), only); err == nil {
		t.Error("http passes where https alone is allowed")
	}
}

func TestCredentials(t *testing.T) {
	for source, want := range map[string][2]string{
		`"http://u:p@h/a"`: {"u", "p"},
		`{"url":"http://h/a","headers":{"authorization":"bAsIc dTpwOnE="}}`:                                                  {"u", "p:q"},
		`{"url":"http://u:p@h/a","headers":{"Authorization":"Basic eDp5"}}`:                                                  {"u", "p"},
		`{"url":"http://u:p@h/a","auth":{"basic":{"username":"v","password":"q"}},"headers":{"Authorization":"Basic eDp5"}}`: {"v", "q"},
		`{"url":"a","headers":{"Authorization":"Basic eDp5"}}`:                                                               {"x", "y"},
		`{"url":"http://h/a","headers":{"Authorization":"Bearer x"}}`:                                                        {"", ""},
	} {
		e := parse(t, `{"source":`+source+`,"target":"b"}`).Source
		if e.User != want[0] || e.Password != want[1] {
			t.Errorf("%s: %q %q", source, e.User, e.Password)
		}
		if strings.Contains(e.Shown(), "@") {
			t.Errorf("%s is shown as %s", source, e.Shown())
		}
		if bearer := strings.Contains(source, "Bearer"); (e.Header["Authorization"] != "") != bearer {
			t.Errorf("%s leaves the headers %v", source, e.Header)
		}
	}
}

func TestCancelByID(t *testing.T) {
	for _, name := range []string{"replication_id", "_local_id", "id"} {
		r := parse(t, `{"cancel":true,"`+name+`":"abc continuous"}`)
		if !r.Cancel || r.CancelID != "abc+continuous" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestDocumentsCancelNothing(t *testing.T) {
	r, err := ParseDocument([]byte(`{"source":"a","target":"b","cancel":true,"id":5}`), settings(t))
	if err != nil || r.Cancel || r.CancelID != "" || r.Source.Local != "a" {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := ParseDocument([]byte(`{"cancel":true,"id":"x"}`), settings(t)); err == nil {
		t.Error("a document without endpoints passes")
	}
}

// TestIDs: what makes an id another one, and what does not.
func TestIDs(t *testing.T) {
	base := `"source":"http://u:p@h/a","target":"fit/_partition/alice"`
	id := func(body, caller, code string) string {
		return parse(t, "{"+body+"}").BaseID(Subject{Server: "s", Caller: caller, Code: code})
	}
	first := id(base, "ann", "")
	if len(first) != 32 {
		t.Errorf("an id %q", first)
	}
	for _, same := range []string{
		`"source":"http://u:new@h/a/","target":"fit/_partition/alice"`,
		`"source":"http://u:p@H:80/a","target":"fit/_partition/alice","worker_processes":1`,
		`"source":{"url":"http://h/a","auth":{"basic":{"username":"u","password":"x"}},"headers":{"Cookie":"c"}},"target":"fit/_partition/alice"`,
		base + `,"owner":"ann","continuous":true`,
	} {
		if id(same, "ann", "") != first {
			t.Errorf("%s has another id", same)
		}
	}
	seen := []string{first}
	for _, other := range []string{
		`"source":"http://v:p@h/a","target":"fit/_partition/alice"`,
		`"source":"http://u:p@h:81/a","target":"fit/_partition/alice"`,
		`"source":"http://u:p@h/b","target":"fit/_partition/alice"`,
		`"source":"http://u:p@h/a","target":"fat/_partition/alice"`,
		`"source":"http://u:p@h/a","target":"fit/_owner/alice"`,
		`"source":"http://u:p@h/a","target":"fit/_partition/bob"`,
		`"source":{"url":"http://u:p@h/a","headers":{"X-A":"1"}},"target":"fit/_partition/alice"`,
		base + `,"doc_ids":["a"]`, base + `,"doc_ids":["b"]`, base + `,"selector":{"a":1}`, base + `,"filter":"f/x"`,
		base + `,"filter":"f/x","query_params":{"a":"1"}`, base + `,"winning_revs_only":true`, base + `,"since_seq":"5-x"`,
	} {
		next := id(other, "ann", "")
		if slices.Contains(seen, next) {
			t.Errorf("%s has the id of another one", other)
		}
		seen = append(seen, next)
	}
	if id(base, "bob", "") == first || id(base+`,"filter":"f/x"`, "ann", "one") == id(base+`,"filter":"f/x"`, "ann", "two") {
		t.Error("the caller and the filter's code must count")
	}
	if full := parse(t, "{"+base+`,"continuous":true,"create_target":true}`).FullID("x"); full != "x+continuous+create_target" {
		t.Errorf("the full id is %s", full)
	}
}

func TestStrip(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":1,"source":"http://u:p@h/a","target":"b"}`: `{"a":1,"source":"http://h/a","target":"b"}`,
		`{"source":{"url":"https://u:p@h/a","headers":{"a":"b"},"auth":{"basic":1},"x":2},"target":{"url":"http://h/b"},"owner":"o"}`: `{"source":{"url":"https://h/a","x":2},"target":{"url":"http://h/b"},"owner":"o"}`,
		`{"source":"http://u@h/a@b","proxy":"socks5://u:p@h","source_proxy":"http://u:p@h","target_proxy":null}`:                      `{"source":"http://h/a@b","proxy":"socks5://h","source_proxy":"http://h","target_proxy":null}`,
		`{"source":"http://u:p/p@ss@h/a"}`: `{"source":"http://h/a"}`,
		`{"source":5,"target":[]}`:         `{"source":5,"target":[]}`,
		`{"source":"http://h/a@b"}`:        `{"source":"http://h/a@b"}`,
		`{}`:                               `{}`,
	} {
		if got := string(Strip([]byte(body))); got != want {
			t.Errorf("%s became %s, want %s", body, got, want)
		}
	}
}

func TestShownEndpoint(t *testing.T) {
	for member, want := range map[string]string{
		`"http://u:p@h/a"`: "http://h/a/", `"http://h/a/"`: "http://h/a/", `{"url":"https://u:p@h/a","auth":1}`: "https://h/a/", `"a/_partition/b"`: "a/_partition/b", `5`: "", `{}`: "",
	} {
		if got := ShownEndpoint([]byte(member)); got != want {
			t.Errorf("%s is shown as %q, want %q", member, got, want)
		}
	}
}

// FuzzStrip looks for a password that is left.
func FuzzStrip(f *testing.F) {
	f.Add("u", "h")
	f.Add("", "h:5984")
	f.Add("a%40b:c", "[::1]:5984")
	f.Add("u ", "h%zz")
	f.Fuzz(func(t *testing.T, user, host string) {
		if strings.ContainsAny(user+host, "/?#@\\\"") || strings.Contains(user+host, "SECRET") || host == "" {
			t.Skip()
		}
		if got := StripURL("http://" + user + ":SECRET@" + host + "/db"); strings.Contains(got, "SECRET") {
			t.Errorf("%s", got)
		}
	})
}
