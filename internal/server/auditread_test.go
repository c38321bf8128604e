package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// auditEntries reads all pages of the audit log, each of so many acts, and returns what they are about, the newest first.
func (r *running) auditEntries(limit int) (about []string) {
	r.t.Helper()
	for bookmark := ""; ; {
		status, body := r.get(fmt.Sprintf("/_node/_local/_audit?limit=%d&bookmark=%s", limit, url.QueryEscape(bookmark)), "adm", "pass")
		var page struct {
			Acts     []line
			Bookmark string
		}
		if err := json.Unmarshal([]byte(body), &page); err != nil || status != 200 || len(page.Acts) > limit {
			r.t.Fatal(status, body, err)
		}
		for _, l := range page.Acts {
			about = append(about, fmt.Sprint(l.User, " ", l.Method, " ", l.Route, " ", l.Database, l.Object, " ", l.Status))
		}
		if bookmark = page.Bookmark; bookmark == "" {
			return about
		}
	}
}

// TestAuditRead reads acts page by page, from a file and from memory, and has others than administrators refused.
func TestAuditRead(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", filepath.Join(t.TempDir(), "audit.jsonl")} {
		r := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass", Config: configured(t, "[audit]\nfile = "+file+"\n")})
		if got := r.auditEntries(10); got != nil {
			t.Errorf("before there was any: %q", got)
		}
		for i := range 25 {
			r.ask("PUT", fmt.Sprint("/db", i), "", "adm", "pass", nil)
		}
		for _, limit := range []int{1, 7, 25, 1000} {
			got := r.auditEntries(limit)
			if len(got) != 25 || got[0] != "adm PUT /{db} db24 201" || got[24] != "adm PUT /{db} db0 201" {
				t.Errorf("%q, %d at a time: %q", file, limit, got)
			}
		}
		for query, want := range map[string]int{"?limit=0": 400, "?limit=1001": 400, "?limit=x": 400, "?bookmark=-1": 400, "?bookmark=x": 400, "?bookmark=99999999": 400} {
			if status, body := r.get("/_node/_local/_audit"+query, "adm", "pass"); status != want {
				t.Error(query, status, body)
			}
		}
		r.ask("PUT", "/_users/org.couchdb.user:jan", `{"name":"jan","type":"user","roles":["_metrics"],"password":"pass"}`, "adm", "pass", nil)
		for _, user := range []string{"", "jan"} {
			if status, body := r.get("/_node/_local/_audit", user, "pass"); status != 401 && status != 403 {
				t.Error(user, status, body)
			}
		}
	}
}

// TestAuditReadsOnlyActs has the setting name a file that has other lines than acts, and what is no file.
func TestAuditReadsOnlyActs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "other")
	act := `{"time":"2026-11-23T07:10:26.1Z","user":"u","peer":"p","method":"PUT","route":"/{db}","database":"%s","status":201}`
	lines := []string{"root:" + secret, `{"` + secret + `":1}`, fmt.Sprintf(act, "one"), strings.Replace(fmt.Sprintf(act, "x"), `{`, `{"password":"`+secret+`",`, 1),
		`"` + secret + `"`, strings.Repeat("x", maxRead+100), fmt.Sprintf(act, "two"), "", fmt.Sprintf(act, secret)[:40]}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass", Config: configured(t, "[audit]\nfile = "+file+"\n")})
	for _, limit := range []int{1, 100} {
		if got := fmt.Sprint(r.auditEntries(limit)); got != "[u PUT /{db} two 201 u PUT /{db} one 201]" {
			t.Error(got)
		}
	}
	r.ask("PUT", "/_node/_local/_config/audit/file", `"`+dir+`"`, "adm", "pass", nil)
	if status, body := r.get("/_node/_local/_audit", "adm", "pass"); status != 400 {
		t.Error(status, body)
	}
}

// TestAuditOfCommands makes backups by the control socket: they are acts, and in the metrics.
func TestAuditOfCommands(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	r := start(t, Options{Data: data, User: "adm", Password: "pass"})
	r.ask("PUT", "/db", "", "adm", "pass", nil)
	if err := Backup(t.Context(), BackupOptions{Data: data, Backups: t.TempDir(), NoVerify: true, Out: io.Discard}); err != nil {
		t.Fatal(err)
	}
	if err := Backup(t.Context(), BackupOptions{Data: data, Backups: filepath.Join(data, localConfig), NoVerify: true, Out: io.Discard}); err == nil {
		t.Error("a backup into a file was made")
	}
	want := []string{"COMMAND sectional backup  500", "COMMAND sectional backup  202", "COMMAND sectional backup  200", "COMMAND sectional backup  202"}
	got := r.auditEntries(100)
	for i, one := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], "system:") || !strings.HasSuffix(got[i], one) {
			t.Fatalf("%d: %q, want %q", i, got, one)
		}
	}
	_, text := r.get("/_node/_local/_prometheus", "adm", "pass")
	for _, want := range []string{"sectional_backups_completed_total 1\n", "sectional_backups_running 0\n", "sectional_backups_last_success_seconds "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
}
