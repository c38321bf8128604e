package server

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// commandActs returns the acts of commands that a server shows, the oldest first, without who did them: each has to be of
// this process's user, on the command line.
func (r *running) commandActs() (all []string) {
	r.t.Helper()
	who := commandLine("", nil, "", nil).user
	for _, one := range slices.Backward(r.acts(100)) {
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
		if _, err := copied(t, data, CopyRequest{To: two, Databases: []string{"db"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := copied(t, data, CopyRequest{To: two, Databases: []string{"none"}}); err == nil {
			t.Error("what is not there was copied")
		}
		if _, err := copied(t, data, CopyRequest{To: two, DryRun: true}); err == nil {
			t.Error("the target is not empty")
		}
		for _, o := range []CopiesOptions{{TakeBack: true}, {TakeBack: true, Yes: true}, {Abandon: true}, {}} {
			if o.Place = data; o.TakeBack {
				o.Databases = []string{"db"}
			}
			_, _, err := manage(t, o, "no\n")
			if failed := err != nil; failed == (o.Yes || !o.TakeBack && !o.Abandon) {
				t.Error(o, err)
			}
		}
		want := []string{"backup  202", "backup  200", "backup  202", "backup  500", "restore from " + backups + "/BACKUP 412",
			"copy db" + two + " 202", "copy db" + two + " 200", "copy none" + two + " 202", "copy none" + two + " 404",
			"copies --take-back db 202", "copies --take-back db 403", "copies --take-back db 202", "copies --take-back db 200",
			"copies --abandon  202", "copies --abandon  404"}
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
		r.wantActs("copy dbfrom "+data+" 202", "copy dbfrom "+data+" 200", "copy nonefrom "+data+" 202", "copy nonefrom "+data+" 404")
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

// TestAuditOverPostgres copies everything into a PostgreSQL server, on which servers start then; and a database while they
// are there: one of them shows each act, which is of nobody's password. Then everything goes on into a directory, with its acts.
func TestAuditOverPostgres(t *testing.T) {
	pg := ownDatabase(t)
	at := withoutUser(pg.Postgres)
	data, other := stopped(t, Options{}), stopped(t, Options{})
	if _, err := copied(t, data, CopyRequest{To: pg.Postgres}); err != nil {
		t.Fatal(err)
	}
	one, two := t.TempDir(), t.TempDir()
	r := start(t, Options{Data: one, Store: pg, User: "adm", Password: "pass"})
	r.wantActs("copy "+at+" 202", "copy from "+data+" 202", "copy from "+data+" 200")
	second := start(t, Options{Data: two, Store: pg, User: "adm", Password: "pass"})
	if _, err := copied(t, other, CopyRequest{To: pg.Postgres, Databases: []string{"db"}}); err == nil {
		t.Error("there are two of one name")
	}
	for end := time.Now().Add(time.Minute); ; {
		if all := append(r.commandActs()[3:], second.commandActs()...); len(all) >= 2 {
			if want := fmt.Sprintf("[copy dbfrom %s 202 copy dbfrom %s 412]", other, other); fmt.Sprint(all) != want {
				t.Errorf("%s, want %s", all, want)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatal("no server shows the act")
		}
	}
	for _, r := range []*running{r, second} {
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	}
	last := filepath.Join(t.TempDir(), "last")
	if _, err := copied(t, pg.Postgres, CopyRequest{To: last}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := manage(t, CopiesOptions{Place: pg.Postgres, TakeBack: true, Yes: true}, ""); err != nil {
		t.Fatal(err)
	}
	r = start(t, Options{Data: last, User: "adm", Password: "pass"})
	r.wantActs("copy "+last+" 202", "copy from "+at+" 202", "copy from "+at+" 200")
	r = start(t, Options{Data: t.TempDir(), Store: pg, User: "adm", Password: "pass"})
	r.wantActs("copy "+last+" 202", "copies --take-back  200")
}

// TestAuditOfCopiesByServers has a server copy its data: the target knows who asked.
func TestAuditOfCopiesByServers(t *testing.T) {
	t.Parallel()
	data, target := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	r := start(t, Options{Data: data, User: "adm", Password: "pass"})
	r.send("PUT", "/db", "")
	if _, err := copied(t, data, CopyRequest{To: target, Databases: []string{"db"}, Keep: true}); err != nil {
		t.Fatal(err)
	}
	r = start(t, Options{Data: target, User: "adm", Password: "pass"})
	r.wantActs("copy dbfrom "+data+" 202", "copy dbfrom "+data+" 200")
}
