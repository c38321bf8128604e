package server

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// commandActs returns the acts of commands that a server shows, the oldest first, without who did them: each has to be of
// this process's user, on the command line.
func (r *running) commandActs() (all []string) {
	r.t.Helper()
	who := commandLine("", nil, "", nil).user
	for _, one := range slices.Backward(r.auditEntries(100)) {
		if what, ok := strings.CutPrefix(one, who+" COMMAND sectional "); ok {
			all = append(all, what)
		}
	}
	return all
}

// wantActs compares the acts of commands with what they should be.
func (r *running) wantActs(want ...string) {
	r.t.Helper()
	if got := r.commandActs(); !slices.Equal(got, want) {
		r.t.Errorf("the audit log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// stopped makes a data directory with a database in it, on which no server runs.
func stopped(t *testing.T, o Options) string {
	t.Helper()
	if o.Data == "" {
		o.Data = t.TempDir()
	}
	o.User, o.Password = "adm", "pass"
	r := start(t, o)
	for _, q := range [][3]string{{"PUT", "/db", ""}, {"PUT", "/db/x", `{"a":"` + secret + `"}`}} {
		if status, body := r.send(q[0], q[1], q[2]); status >= 300 {
			t.Fatal(status, body)
		}
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	return o.Data
}

// TestAuditAtRest has commands work on a directory without a server, with and without success. A server that comes up
// then shows their acts as its own, from memory or from its file, once.
func TestAuditAtRest(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", filepath.Join(t.TempDir(), "audit.jsonl")} {
		data, two := stopped(t, Options{}), filepath.Join(t.TempDir(), "two")
		backups := t.TempDir()
		if err := Backup(t.Context(), BackupOptions{Data: data, Backups: backups, NoVerify: true, Out: io.Discard}); err != nil {
			t.Fatal(err)
		}
		if err := Backup(t.Context(), BackupOptions{Data: data, Backups: filepath.Join(data, localConfig), Out: io.Discard}); err == nil {
			t.Error("a backup into a file was made")
		}
		if err := Restore(t.Context(), BackupOptions{Data: data, Backups: backups, Out: io.Discard}); err == nil {
			t.Error("there was data, and it was restored")
		}
		if _, err := copied(t, data, two); err != nil {
			t.Fatal(err)
		}
		if _, err := copied(t, data, two); err == nil {
			t.Error("the target is not empty")
		}
		want := []string{"backup  202", "backup  200", "backup  202", "backup  500", "restore from " + backups + "/BACKUP 412"}
		for _, name := range []string{"first", "second"} {
			r := start(t, Options{Data: data, User: "adm", Password: "pass", Config: configured(t, "[audit]\nfile = "+file+"\n")})
			got := r.commandActs()
			for i := range got {
				if at := strings.Index(got[i], backups+"/"); at >= 0 { // the name of a backup is its time
					from := at + len(backups) + 1
					got[i] = got[i][:from] + "BACKUP" + got[i][from+strings.Index(got[i][from:], " "):]
				}
			}
			if name == "second" && file == "" {
				want = nil // memory has those since the start
			}
			if !slices.Equal(got, want) {
				t.Errorf("the %s server has\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if _, body := r.get("/_node/_local/_audit", "adm", "pass"); strings.Contains(body, secret) || len(got) > 0 && !strings.Contains(body, `"peer":"command line`) {
				t.Error(body)
			}
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
		}
		r := start(t, Options{Data: two, User: "adm", Password: "pass"})
		if got := r.commandActs(); len(got) != 6 || got[5] != "copy from "+data+" 200" {
			t.Errorf("the copy has %q", got)
		}
	}
}

// TestAuditOfRestore restores into an empty directory: the act is in what was restored.
func TestAuditOfRestore(t *testing.T) {
	t.Parallel()
	data, backups := stopped(t, Options{}), t.TempDir()
	if err := Backup(t.Context(), BackupOptions{Data: data, Backups: backups, NoVerify: true, Out: io.Discard}); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(t.TempDir(), "restored")
	if err := Restore(t.Context(), BackupOptions{Data: restored, Backups: backups, Out: io.Discard}); err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{Data: restored, User: "adm", Password: "pass"})
	if got := r.commandActs(); len(got) != 1 || !strings.HasPrefix(got[0], "restore from "+backups) || !strings.HasSuffix(got[0], " 200") {
		t.Error(got)
	}
}

// TestAuditOverPostgres copies everything into a PostgreSQL server, on which servers start then, and from there into a
// directory: each act is there, without a password.
func TestAuditOverPostgres(t *testing.T) {
	pg := ownDatabase(t)
	data := stopped(t, Options{})
	if _, err := copied(t, data, pg.Postgres); err != nil {
		t.Fatal(err)
	}
	last := filepath.Join(t.TempDir(), "last")
	if _, err := copied(t, pg.Postgres, last); err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{Data: t.TempDir(), Store: pg, User: "adm", Password: "pass"})
	r.wantActs("copy from " + data + " 200")
	r = start(t, Options{Data: last, User: "adm", Password: "pass"})
	r.wantActs("copy from "+data+" 200", "copy from "+withoutUser(pg.Postgres)+" 200")
}
