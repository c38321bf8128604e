package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       layer
	}{
		{"nothing", "", layer{}},
		{"outside a section", "k = v", layer{}},
		{"plain", "[s]\nk=v", layer{"s": {"k": "v"}}},
		{"spaces", "[s]\r\n  k  =  v  \r\n", layer{"s": {"k": "v"}}},
		{"comment after a value", "[s]\nk = v ; c", layer{"s": {"k": "v"}}},
		{"semicolon in a value", "[s]\nk = v1;v2\t;", layer{"s": {"k": "v1;v2"}}},
		{"semicolon first", "[s]\nk =;v", layer{"s": {"k": ";v"}}},
		{"hash and percent", "[s]\nk = a#b %20 # c", layer{"s": {"k": "a#b %20 # c"}}},
		{"comment lines", "[s]\n;k = v\n # k = v\n\t; k=v", layer{}},
		{"equal signs in a value", "[s]\nk=v=v", layer{"s": {"k": "v=v"}}},
		{"base64", "[jwt_keys]\nhmac:_default = aGVsbG8=", layer{"jwt_keys": {"hmac:_default": "aGVsbG8="}}},
		{"equal sign in a key", "[s]\nk= = v", layer{"s": {"k=": "v"}}},
		{"empty values delete", "[s]\na =\nb = ;c\nc=", layer{"s": {"a": "", "b": "", "c": ""}}},
		{"broken sections", "[s\nk=v\n[]\nk=v\n[t]x\nk=v", layer{}},
		{"garbage between", "[s]\nk1=v1\ngarbage\n= more\nk2=v2", layer{"s": {"k1": "v1", "k2": "v2"}}},
		{"the later wins", "[s]\nk=1\n[t]\nk=2\n[s]\nk=3", layer{"s": {"k": "3"}, "t": {"k": "2"}}},
		{"a host as section", "[cors:http://example.com]\norigins=*", layer{"cors:http://example.com": {"origins": "*"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, parse(c.text).layer()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWithKeepsTheRestOfTheFile(t *testing.T) {
	text := "; mine\n[couchdb]\nuuid = 1 ; kept\n\n[log]\nlevel = info\n"
	for _, c := range []struct {
		set  Setting
		want string
	}{
		{Setting{"log", "level", "debug"}, "; mine\n[couchdb]\nuuid = 1 ; kept\n\n[log]\nlevel = debug"},
		{Setting{"couchdb", "single_node", "true"}, "; mine\n[couchdb]\nuuid = 1 ; kept\nsingle_node = true\n\n[log]\nlevel = info"},
		{Setting{"admins", "jan", "x"}, "; mine\n[couchdb]\nuuid = 1 ; kept\n\n[log]\nlevel = info\n\n[admins]\njan = x"},
		{Setting{"couchdb", "uuid", ""}, "; mine\n[couchdb]\nuuid =\n\n[log]\nlevel = info"},
	} {
		if diff := cmp.Diff(c.want, strings.Join(parse(text).with(c.set).lines, "\n")); diff != "" {
			t.Errorf("set %v: %s", c.set, diff)
		}
	}
}

func open(t *testing.T, o Options) *Config {
	t.Helper()
	c, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func set(t *testing.T, c *Config, s Setting, persist bool) string {
	t.Helper()
	old, err := c.Set(s, persist)
	if err != nil {
		t.Fatalf("set %v: %v", s, err)
	}
	return old
}

func TestLayers(t *testing.T) {
	dir := t.TempDir()
	file, local := filepath.Join(dir, "my.ini"), filepath.Join(dir, "local.ini")
	write(t, file, "[log]\nlevel = warning\n[couchdb]\nmax_document_size = 5\n[chttpd]\nport = 1\n")
	write(t, local, "[couchdb]\nmax_document_size = 6\n[uuids]\nmax_count =\n")
	c := open(t, Options{File: file, Local: local, Overrides: []Setting{{"chttpd", "port", "2"}}})
	for _, w := range []struct{ section, key, want string }{
		{"log", "level", "warning"},
		{"couchdb", "max_document_size", "6"},
		{"uuids", "max_count", ""},
		{"chttpd", "port", "2"},
		{"uuids", "algorithm", "sequential"},
	} {
		if got, ok := c.Get(w.section, w.key); got != w.want || ok != (w.want != "") {
			t.Errorf("%s/%s is %q, want %q", w.section, w.key, got, w.want)
		}
	}

	if old := set(t, c, Setting{"couchdb", "max_document_size", "7"}, true); old != "6" {
		t.Errorf("the old value is %q", old)
	}
	set(t, c, Setting{"chttpd", "port", "3"}, true)
	set(t, c, Setting{"log", "level", "debug"}, false)
	if got, _ := c.Get("chttpd", "port"); got != "3" {
		t.Errorf("a persistent change of an overridden value has no effect: %q", got)
	}
	if err := c.Reload(); err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct{ section, key, want string }{
		{"couchdb", "max_document_size", "7"}, {"chttpd", "port", "2"}, {"log", "level", "warning"},
	} {
		if got, _ := c.Get(w.section, w.key); got != w.want {
			t.Errorf("after a reload %s/%s is %q, want %q", w.section, w.key, got, w.want)
		}
	}
}

func TestDelete(t *testing.T) {
	local := filepath.Join(t.TempDir(), "local.ini")
	c := open(t, Options{Local: local})
	if _, err := c.Set(Setting{"mine", "key", "1000"}, true); err != nil {
		t.Fatal(err)
	}
	if old, err := c.Delete("mine", "key", true); old != "1000" || err != nil {
		t.Fatalf("got %q, %v", old, err)
	}
	if _, err := c.Delete("mine", "key", true); !dberr.Is(err, dberr.NotFound) {
		t.Errorf("a second deletion gives %v", err)
	}
	again := open(t, Options{Local: local})
	if got, ok := again.Get("mine", "key"); ok {
		t.Errorf("after a restart the deleted value is %q", got)
	}
}

// TestDefaultsComeBack deletes every setting that has a default, wherever its value
// came from: then the default holds, now and after a restart.
func TestDefaultsComeBack(t *testing.T) {
	dir := t.TempDir()
	for section, keys := range defaults() {
		for key, want := range keys {
			for _, from := range []string{"default", "file", "local", "memory", "override"} {
				o := Options{Local: filepath.Join(dir, section+key+from+".ini")}
				switch from {
				case "file":
					o.File = filepath.Join(dir, section+key+"file")
					if err := os.WriteFile(o.File, []byte("["+section+"]\n"+key+" = other\n"), 0o600); err != nil {
						t.Fatal(err)
					}
				case "override":
					o.Overrides = []Setting{{section, key, "other"}}
				}
				c := open(t, o)
				if from == "local" || from == "memory" {
					if _, err := c.Set(Setting{section, key, "other"}, from == "local"); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := c.Delete(section, key, from != "memory"); err != nil {
					t.Fatal(err)
				}
				if got, _ := c.Get(section, key); got != want {
					t.Errorf("%s/%s from %s is %q after it was deleted, want %q", section, key, from, got, want)
				}
				if from == "override" {
					continue // which holds again after a restart
				}
				if got, _ := open(t, o).Get(section, key); got != want {
					t.Errorf("%s/%s from %s is %q after a restart, want %q", section, key, from, got, want)
				}
			}
		}
	}
}

func TestFailedWriteChangesNothing(t *testing.T) {
	c := open(t, Options{Local: filepath.Join(t.TempDir(), "missing", "local.ini")})
	before := c.Snapshot()
	if _, err := c.Set(Setting{"log", "level", "debug"}, true); err == nil {
		t.Fatal("a change that can't be persisted succeeded")
	}
	if c.Snapshot() != before {
		t.Error("the configuration changed")
	}
}

func TestFailedReloadChangesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my.ini")
	write(t, file, "[log]\nlevel = debug\n")
	c := open(t, Options{File: file})
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := c.Reload(); err == nil {
		t.Error("a reload without the file succeeded")
	}
	if got, _ := c.Get("log", "level"); got != "debug" {
		t.Errorf("the value is %q", got)
	}
}

func TestLocalFileIsPrivate(t *testing.T) {
	dir := t.TempDir()
	local := filepath.Join(dir, "local.ini")
	write(t, local, "; hello\n")
	set(t, open(t, Options{Local: local}), Setting{"admins", "jan", "-hashed-a,b"}, true)
	info, err := os.Stat(local)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("files left behind: %v, %v", entries, err)
	}
}

func TestOldSectionNames(t *testing.T) {
	c := open(t, Options{})
	set(t, c, Setting{"httpd", "enable_cors", "true"}, false)
	set(t, c, Setting{"httpd", "port", "5986"}, false)
	set(t, c, Setting{"couch_httpd_auth", "timeout", "60"}, false)
	for _, w := range []struct{ section, key, want string }{
		{"chttpd", "enable_cors", "true"}, {"chttpd", "port", "5984"}, {"chttpd_auth", "timeout", "60"},
	} {
		if got, _ := c.Get(w.section, w.key); got != w.want {
			t.Errorf("%s/%s is %q, want %q", w.section, w.key, got, w.want)
		}
	}
	set(t, c, Setting{"chttpd_auth", "timeout", "90"}, false)
	if got, _ := c.Get("chttpd_auth", "timeout"); got != "90" {
		t.Errorf("the old name wins over the new one: %q", got)
	}
}

func TestTypedValues(t *testing.T) {
	c := open(t, Options{Overrides: []Setting{
		{"t", "n", "12"}, {"t", "inf", "infinity"}, {"t", "bad", "x1"}, {"t", "yes", "true"}, {"t", "d", "90s"},
		{"t", "neg", "-5"}, {"t", "list", "a, b ,,c"},
	}})
	s := c.Snapshot()
	got := []any{s.Int("t", "n", 1), s.Int("t", "bad", 1), s.Int("t", "none", 2), s.Int("t", "inf", 0) > 1<<62,
		s.Bool("t", "yes", false), s.Bool("t", "bad", true), s.Duration("t", "n", time.Second, 0),
		s.Duration("t", "d", time.Second, 0), s.Duration("t", "bad", time.Second, 5), s.Duration("t", "neg", time.Second, 5),
		s.Duration("t", "inf", time.Second, 0) > 1<<62, s.List("t", "list")}
	want := []any{int64(12), int64(1), int64(2), true, true, true, 12 * time.Second,
		90 * time.Second, time.Duration(5), time.Duration(0), true, []string{"a", "b", "c"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSubscribeAndDerive(t *testing.T) {
	c := open(t, Options{})
	computed := 0
	level := Derive(c, func(s *Snapshot) string { computed++; return s.String("log", "level", "") })
	var told []string
	cancel := c.Subscribe(func(s *Snapshot) { told = append(told, s.String("log", "level", "")) })
	level.Value()
	level.Value()
	set(t, c, Setting{"log", "level", "debug"}, false)
	if level.Value() != "debug" || computed != 2 {
		t.Errorf("derived %q in %d computations", level.Value(), computed)
	}
	cancel()
	set(t, c, Setting{"log", "level", "error"}, false)
	if diff := cmp.Diff([]string{"debug"}, told); diff != "" {
		t.Error(diff)
	}
}

func TestSetRefuses(t *testing.T) {
	c := open(t, Options{})
	for _, s := range []Setting{
		{"", "k", "v"}, {"s", "", "v"}, {"a[b", "k", "v"}, {"s", "k]", "v"}, {"s", "k", "a\n[os_daemons]\nx = y"},
		{"s\r", "k", "v"}, {"s", ";k", "v"}, {"s", "#k", "v"}, {"s", "a=b", "v"}, {"s", "k", "a ; b"}, {"s", "k", ";b"},
		{"s", "k", "\x00"}, {"s", " k", "v"},
	} {
		if _, err := c.Set(s, false); !dberr.Is(err, dberr.Invalid) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestShown(t *testing.T) {
	for _, c := range []struct {
		s    Setting
		want string
	}{
		{Setting{"admins", "jan", "-pbkdf2:sha256-a,b,1"}, "-pbkdf2:sha256-a,b,1"},
		{Setting{"admins", "jan", "clear"}, Redacted},
		{Setting{"chttpd_auth", "secret", "s"}, Redacted},
		{Setting{"chttpd_auth", "timeout", "600"}, "600"},
		{Setting{"jwt_keys", "hmac:a", "s"}, Redacted},
		{Setting{"jwt_keys", "rsa:a", "public"}, "public"},
		{Setting{"chttpd_auth", "secret", ""}, ""},
	} {
		if got := Shown(c.s); got != c.want {
			t.Errorf("%v is shown as %q", c.s, got)
		}
	}
}

func TestCheckValue(t *testing.T) {
	for value, good := range map[string]bool{"couchdb": true, "cloudant": true, "claudant": false, "": false} {
		if err := CheckValue(Setting{"sectional", "limits", value}); (err == nil) != good {
			t.Errorf("%q: %v", value, err)
		}
	}
	for value, good := range map[string]bool{"none": true, "admins": true, "members": true, "none, admins": false, "all": false} {
		if err := CheckValue(Setting{"sectional", "owner_design_docs", value}); (err == nil) != good {
			t.Errorf("%q: %v", value, err)
		}
	}
	if err := CheckValue(Setting{"other", "limits", "x"}); err != nil {
		t.Error(err)
	}
}

func TestCheckWritable(t *testing.T) {
	if err := CheckWritable("query_servers"); !dberr.Is(err, dberr.Forbidden) {
		t.Errorf("query_servers: %v", err)
	}
	if err := CheckWritable("couchdb"); err != nil {
		t.Errorf("couchdb: %v", err)
	}
}

// Whatever Set accepts must be read back the same, and must leave all other
// settings alone.
func FuzzSetRoundTrip(f *testing.F) {
	f.Add("s", "k", "v", "[s]\nk = 1\n; c\n[t]\nx=y")
	f.Add("jwt_keys", "hmac:kid", "aGVsbG8=", "")
	f.Add("csp", "header_value", "default-src 'self'; img-src *", "[csp]\nheader_value = ;")
	f.Fuzz(func(t *testing.T, section, key, value, text string) {
		s, err := checked(Setting{section, key, value})
		if err != nil {
			return
		}
		before := parse(text)
		want := before.layer()
		want.apply(s)
		got := parse(strings.Join(before.with(s).lines, "\n") + "\n").layer()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("set %q in %q: %s", s, text, diff)
		}
	})
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
