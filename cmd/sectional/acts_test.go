package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/sectional/sectional/internal/server"
)

// What a command does, for the audit log.
const (
	onlyReads = "only reads"
	// asksServer: what it changes it changes by requests to a server, whose audit log has what is an act of them.
	asksServer = "asks a server"
	// isServer: it is the server that has the audit log.
	isServer = "is the server"
	// isAudited: it changes data without a server, or copies all of it, and leaves its acts for the audit log.
	isAudited = "changes and is audited"
)

// effects say what each command does. One that is not here fails the test; one that is audited is run by it.
var effects = map[string]string{
	"serve": isServer, "script-child": isServer,
	"check": onlyReads, "stats": onlyReads, "top": onlyReads, "explain": onlyReads, "up": onlyReads, "export": onlyReads, "keys list": onlyReads,
	"version": onlyReads, "completion": onlyReads, "man": onlyReads, "complete": onlyReads,
	"sync": asksServer, "migrate": asksServer, "import": asksServer, "keys create": asksServer, "keys revoke": asksServer,
	"backup": isAudited, "restore": isAudited, "salvage": isAudited, "copy": isAudited,
}

// leaves returns the commands that are not groups of others, by their words.
func leaves(n *kong.Node, before string) (all []string) {
	for _, child := range n.Children {
		name := strings.TrimSpace(before + " " + child.Name)
		if len(child.Children) > 0 {
			all = append(all, leaves(child, name)...)
			continue
		}
		all = append(all, name)
	}
	return all
}

// TestEffects: each command is declared to change data, which the audit log is told of, or to read it alone; and those of the
// first kind are told, by the server that comes up on the data.
func TestEffects(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	data, backups := in("data"), in("backups")
	r := serveOn(t, data)
	r.ask("PUT", "/db", "", 201)
	r.stop()
	told := map[string][]string{} // the routes of the acts of each audited command
	for _, k := range []struct {
		command, data string // which directory has the acts
		args          []string
	}{
		{"backup", data, []string{"backup", "--data", data, backups}},
		{"restore", in("restored"), []string{"restore", "--data", in("restored"), backups}},
		{"salvage", in("salvaged"), []string{"salvage", in("restored"), in("salvaged")}},
		{"copy", in("copy"), []string{"copy", data, in("copy")}},
	} {
		c := sectional(t, k.args...)
		if c.code != exitDone || strings.Contains(c.err, "WARNING: the audit log") {
			t.Fatal(k.args, c)
		}
		r := serveOn(t, k.data)
		told[k.command] = append(told[k.command], r.auditEntries()...)
		r.stop()
	}
	want := map[string][]string{
		"backup":  {"sectional backup 202", "sectional backup 200"},
		"restore": {"sectional restore 200"},
		"salvage": {"sectional salvage 200"},
		"copy":    {"sectional copy 200"},
	}
	for _, name := range leaves(declared(t).Model.Node, "") {
		effect, known := effects[name]
		switch {
		case !known:
			t.Errorf("%s: does it change data on a directory or an engine? Say so in effects, and have it leave its act (internal/server, deed)", name)
		case effect == isAudited && len(want[name]) == 0:
			t.Errorf("%s is to be audited, and the test does not run it", name)
		case !slices.Equal(told[name], want[name]):
			t.Errorf("%s: the audit log has %q, want %q", name, told[name], want[name])
		}
	}
}

// serving is a server over a directory, in this process.
type serving struct {
	t          *testing.T
	base, host string
	stop       func()
}

func serveOn(t *testing.T, data string) *serving {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan server.Addresses, 1), make(chan error, 1)
	go func() {
		ended <- server.Run(ctx, server.Options{Data: data, Listen: "127.0.0.1:0", User: "adm", Password: "pass", Version: "test", Out: io.Discard, Log: io.Discard, Embedded: true,
			Ready: func(a server.Addresses) { ready <- a }})
	}()
	r := &serving{t: t}
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	select {
	case a := <-ready:
		r.host, r.base = a.HTTP, "http://adm:pass@"+a.HTTP
	case err := <-ended:
		t.Fatal(err)
	}
	t.Cleanup(r.stop)
	return r
}

// ask makes a request as the administrator.
func (r *serving) ask(method, path, body string, status int) []byte {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), method, r.base+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != status {
		r.t.Fatal(method, path, a.StatusCode, string(text), err)
	}
	return text
}

// auditEntries returns what the audit log has, the oldest first: route and status, of requests with who, what and on what.
func (r *serving) auditEntries() (all []string) {
	r.t.Helper()
	var page struct {
		Acts []struct {
			User, Peer, Method, Route, Database, Object string
			Status                                      int
		}
	}
	if err := json.Unmarshal(r.ask("GET", "/_node/_local/_audit", "", 200), &page); err != nil {
		r.t.Fatal(err)
	}
	for _, a := range slices.Backward(page.Acts) {
		if a.Method != "COMMAND" {
			all = append(all, fmt.Sprint(a.User, " ", a.Method, " ", a.Route, " ", a.Database, a.Object, " ", a.Status))
			continue
		}
		if !strings.HasPrefix(a.User, "system:") || !strings.HasPrefix(a.Peer, "command line") && a.Peer != "control.sock" {
			r.t.Error(a)
		}
		all = append(all, fmt.Sprint(a.Route, " ", a.Status))
	}
	return all
}

// TestCommandsAreActs has commands ask a server: what they do to databases, rights and users is an act of whose name they
// ask in, as any other request; documents are none.
func TestCommandsAreActs(t *testing.T) {
	dir := t.TempDir()
	r := serveOn(t, filepath.Join(dir, "data"))
	r.ask("PUT", "/db", "", 201)
	r.ask("PUT", "/db/x", `{"country":"nl"}`, 201)
	r.ask("PUT", "/db/_security", `{"members":{"names":["jan"]}}`, 200)
	r.ask("PUT", "/_users/org.couchdb.user:jan", `{"name":"jan","type":"user","roles":[],"password":"pass"}`, 201)
	before := len(r.auditEntries())
	file := filepath.Join(dir, "users.jsonl")
	if err := os.WriteFile(file, []byte(`{"_id":"org.couchdb.user:eva","name":"eva","type":"user","roles":[],"password":"pass"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	backups := filepath.Join(dir, "backups")
	for _, args := range [][]string{
		{"backup", "--data", filepath.Join(dir, "data"), backups},
		{"restore", backups, "--database", "db", "--to", r.base + "/restored"},
		{"migrate", r.base + "/db", r.base + "/parts", "--partition-by", "country"},
		{"import", r.base + "/_users", file},
		{"import", r.base + "/db", file},
		{"sync", r.base + "/db", r.base + "/synced", "--create-target"},
		{"keys", "create", "jan", "--server", r.base},
	} {
		if c := sectional(t, args...); c.code != exitDone {
			t.Error(args, c)
		}
	}
	want := []string{"sectional backup 202", "sectional backup 200", "adm PUT /{db} restored 201", "adm PUT /{db}/_security restored 200",
		"adm PUT /{db} parts 201", "adm POST /{db}/_bulk_docs _users 201", "adm PUT /{db} synced 201", "adm POST /_access_keys/{user} jan 201"}
	if got := r.auditEntries()[before:]; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	other := serveOn(t, filepath.Join(dir, "other"))
	if c := sectional(t, "sync", r.base+"/_users", other.base+"/_users"); c.code != exitDone {
		t.Error(c)
	}
	if got := other.auditEntries(); len(got) == 0 || got[0] != "adm POST /{db}/_snapshot _users 201" {
		t.Errorf("%q", got)
	}
}
