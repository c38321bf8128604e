package couchapi_test

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/testkit/apitest"
	"github.com/sectional/sectional/internal/testkit/golden"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// TestScripts runs the files in testdata/scripts, each against a server of its own whose clock stands still. A file is a list of
// paragraphs; each has a request, as HTTP writes it: a method and a target, headers, the body; then ---- and the answer: the status, the
// headers that say something, the body. It is sent as the administrator unless there is an Authorization header: a user's name and
// password, or none. A line "advance 10m" moves the clock; a line with # is a comment. -update writes the answers anew.
func TestScripts(t *testing.T) {
	golden.Scripts(t, "testdata/scripts/*.txt", func(t *testing.T) func(string) string { return newScript(t, "", 1) })
}

// TestScriptsOnSeveral runs them against servers over one engine, which the requests are dealt out to: nobody can
// tell.
func TestScriptsOnSeveral(t *testing.T) {
	testrun.Sequential(t)
	if testrun.IsLong() {
		golden.Scripts(t, "testdata/scripts/*.txt", func(t *testing.T) func(string) string { return newScript(t, "pebble", 2) })
	}
	golden.Scripts(t, "testdata/scripts/*.txt", func(t *testing.T) func(string) string { return newScript(t, "model", 3) })
}

// scriptClock is when scripts begin.
var scriptClock = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func newScript(t *testing.T, engine string, servers int) func(paragraph string) string {
	o := apitest.Options{Begin: scriptClock, Servers: servers, Settings: []config.Setting{{Section: "sectional", Key: "owner_design_docs", Value: "members"}}}
	if engine == "model" {
		o.Engine = kvtest.NewModel(kvtest.ModelOptions{})
	}
	a := newTestAPIWith(t, o)
	return a.scripted
}

// scripted sends the request of a paragraph and returns what is to be written below it.
func (a *testAPI) scripted(paragraph string) string {
	var lines []string
	for line := range strings.SplitSeq(paragraph, "\n") {
		if after, moves := strings.CutPrefix(line, "advance "); moves {
			by, err := time.ParseDuration(after)
			must(a.t, err)
			a.Later(by)
		} else if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	method, target, _ := strings.Cut(lines[0], " ")
	lines = lines[1:]
	var header []string
	for len(lines) > 0 && headerLine.MatchString(lines[0]) {
		name, value, _ := strings.Cut(lines[0], ":")
		if value = strings.TrimSpace(value); name == "Authorization" && value != "" {
			user, password, _ := strings.Cut(value, ":")
			r := http.Request{Header: http.Header{}}
			r.SetBasicAuth(user, password)
			value = r.Header.Get(name)
		}
		header, lines = append(header, name, value), lines[1:]
	}
	body := strings.Join(lines, "\n")
	w := a.do(method, target, body, header...)
	text := w.text()
	if design, _, _ := strings.Cut(target, "?"); method == "PUT" && w.Status == http.StatusCreated && strings.Contains(design, "/_design/") && strings.Contains(body, `"map":`) {
		a.eventually(design+"/_info", `"updates_pending":{"minimum":0,`) // answers from views that are being built have no ETag
	}
	if strings.HasPrefix(target, "/_") { // salts are drawn, and what the server says of itself is another in each run
		text = drawn.ReplaceAllString(text, "…")
	}
	return text
}

// headerLine is a line with a header of a request.
var headerLine = regexp.MustCompile(`^[A-Z][A-Za-z0-9-]+:( |$)`)

// comparedHeaders are the headers of answers that scripts show, those of every answer but the content type of JSON left out.
var comparedHeaders = []string{"Accept-Ranges", "Allow", "Content-Disposition", "Content-Encoding", "Content-Md5", "Content-Range", "Content-Type", "Etag", "Location", "Retry-After", "Set-Cookie", "Vary", "Www-Authenticate", "X-Sectional-Warning"}

// text returns an answer as scripts show it.
func (w answer) text() string {
	var b strings.Builder
	b.WriteString(strconv.Itoa(w.Status) + "\n")
	for _, name := range comparedHeaders {
		if v := strings.Join(w.Header[name], ", "); v != "" && v != "application/json" {
			b.WriteString(name + ": " + v + "\n")
		}
	}
	body := strings.ReplaceAll(strings.TrimSpace(w.Body), "\r", "")
	b.WriteString(strings.ReplaceAll(body, "\n\n", "\n~\n"))
	text := b.String()
	for _, m := range varying {
		text = m.pattern.ReplaceAllString(text, m.with)
	}
	return text
}

// drawn is a hash or a number that a server draws.
var drawn = regexp.MustCompile(`\b([0-9a-f]{32}|[0-9a-f]{16})\b`)

// varying is what is another in each run.
var varying = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`("(?:seq|last_seq|update_seq|since|end_last_seq|recorded_seq|source_last_seq)": ?)"?(\d+)-[\w-]+"?`), `$1"$2-…"`},
	{regexp.MustCompile(`"uuids":\["[^"]*"`), `"uuids":["…"`},
	{regexp.MustCompile(`Etag: "(\d+)-[\w-]{6,11}-\d+"`), `Etag: "$1-…"`},
	{regexp.MustCompile(`"(uuid|instance_start_time|token|password|version|derived_key|salt|session_id|started_on|updated_on|pid|start_last_seq|state_time|last_updated|start_time|end_time|date|signature)": ?("[^"]*"|\d+)`), `"$1":"…"`},
	{regexp.MustCompile(`Etag: "[0-9a-z]{5,14}"`), `Etag: "…"`},
	{regexp.MustCompile(`Expires=[^;]+`), `Expires=…`},
	{regexp.MustCompile(`AuthSession=[^;]+`), `AuthSession=…`},
	{regexp.MustCompile(`"(file|active|external|disk_size|data_size|update_latency)": ?\d+`), `"$1":…`},
	{regexp.MustCompile(`--[0-9a-f]{20,}`), `--boundary`},
	{regexp.MustCompile(`boundary="?[0-9a-f]{20,}"?`), `boundary=…`},
	{regexp.MustCompile(`"execution_time_ms": ?[\d.]+`), `"execution_time_ms":…`},
}
