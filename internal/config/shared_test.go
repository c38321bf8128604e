package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
)

// sharedText is a Shared in memory.
type sharedText struct {
	sync.Mutex
	text    string
	version uint64
	fail    error // of each call; nil for none
	// failWrites is the error of writes to the last version.
	failWrites error
	reads      int
}

func (s *sharedText) Read() (string, uint64, error) {
	s.Lock()
	defer s.Unlock()
	s.reads++
	return s.text, s.version, s.fail
}

func (s *sharedText) Version() (uint64, error) {
	s.Lock()
	defer s.Unlock()
	return s.version, s.fail
}

func (s *sharedText) Write(text string, version uint64) error {
	s.Lock()
	defer s.Unlock()
	if s.fail == nil && version != s.version {
		return ErrChanged
	}
	err := cmp.Or(s.fail, s.failWrites)
	if err == nil {
		s.text, s.version = text, version+1
	}
	return err
}

// shares opens a configuration that shares what is set.
func shares(t *testing.T, from Shared, o Options) *Config {
	t.Helper()
	c := open(t, o)
	if err := c.Share(from); err != nil {
		t.Fatal(err)
	}
	return c
}

func get(t *testing.T, c *Config, section, key, want string) {
	t.Helper()
	if got, _ := c.Get(section, key); got != want {
		t.Errorf("[%s] %s is %q, want %q", section, key, got, want)
	}
}

func refresh(t *testing.T, c *Config) {
	t.Helper()
	if err := c.Refresh(); err != nil {
		t.Fatal(err)
	}
}

func TestServersShareWhatIsSet(t *testing.T) {
	from := &sharedText{}
	file := filepath.Join(t.TempDir(), "operator.ini")
	write(t, file, "[log]\nlevel = debug\n[admins]\njan = fromthefile\n")
	a := shares(t, from, Options{File: file, Local: filepath.Join(t.TempDir(), "a.ini")})
	b := shares(t, from, Options{File: file, Local: filepath.Join(t.TempDir(), "b.ini")})
	told := 0
	b.Subscribe(func(*Snapshot) { told++ })

	set(t, a, Setting{"log", "level", "error"}, true)
	get(t, b, "log", "level", "debug")
	refresh(t, b)
	get(t, b, "log", "level", "error")
	reads := from.reads
	refresh(t, b)
	if told != 1 || from.reads != reads {
		t.Errorf("told %d times, read %d times more where nothing had changed", told, from.reads-reads)
	}

	// b knows nothing of the administrator yet, and does not undo what a set.
	set(t, a, Setting{"admins", "eva", "x"}, true)
	set(t, b, Setting{"admins", "jan", ""}, true)
	refresh(t, a)
	for _, c := range []*Config{a, b} {
		get(t, c, "admins", "eva", "x")
		get(t, c, "admins", "jan", "")
		get(t, c, "log", "level", "error")
	}

	// What is gone shows what lies below.
	if _, err := b.Delete("log", "level", true); err != nil {
		t.Fatal(err)
	}
	refresh(t, a)
	get(t, a, "log", "level", "info") // the default: the file says something else
}

func TestWhatIsOfAMachineIsNotShared(t *testing.T) {
	from := &sharedText{}
	local := filepath.Join(t.TempDir(), "a.ini")
	a := shares(t, from, Options{Local: local})
	b := shares(t, from, Options{})
	set(t, a, Setting{"chttpd", "port", "1"}, true)
	set(t, a, Setting{"ssl", "cert_file", "/a.pem"}, true)
	set(t, a, Setting{"couchdb", "max_document_size", "7"}, true)
	set(t, a, Setting{"log", "level", "error"}, false)
	refresh(t, b)
	get(t, b, "chttpd", "port", "5984")
	get(t, b, "ssl", "cert_file", "")
	get(t, b, "couchdb", "max_document_size", "7")
	get(t, b, "log", "level", "info")
	again := shares(t, from, Options{Local: local})
	get(t, again, "chttpd", "port", "1")
	get(t, again, "ssl", "cert_file", "/a.pem")

	// Nor is it taken from there, whoever wrote it.
	from.text, from.version = "[chttpd]\nport = 2\n[sectional]\nmin_free = 3\nmax_conflicts = 4", from.version+1
	refresh(t, b)
	get(t, b, "chttpd", "port", "5984")
	get(t, b, "sectional", "min_free", "536870912")
	get(t, b, "sectional", "max_conflicts", "4")
}

func TestServersThatSetAtOnce(t *testing.T) {
	from := &sharedText{}
	var all sync.WaitGroup
	secrets := make([]string, 8)
	for n := range secrets {
		c := shares(t, from, Options{})
		all.Go(func() {
			var err error
			if secrets[n], err = c.Ensure(Setting{"chttpd_auth", "secret", fmt.Sprint("secret", n)}); err != nil {
				t.Error(err)
			}
			for i := range 50 {
				if _, err := c.Set(Setting{"admins", fmt.Sprintf("n%d-%d", n, i), "x"}, true); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	c := shares(t, from, Options{})
	if got := len(c.Snapshot().Section("admins")); got != 8*50 {
		t.Errorf("%d of %d are left", got, 8*50)
	}
	secret, _ := c.Get("chttpd_auth", "secret")
	for n, s := range secrets {
		if s != secret {
			t.Errorf("server %d took %q for the secret, which is %q", n, s, secret)
		}
	}
}

// TestChangeThatFailsLate has a change meet what another server has set, and then fail: what
// is in effect and its version stay of one moment, and the next Refresh brings both.
func TestChangeThatFailsLate(t *testing.T) {
	from := &sharedText{}
	c := shares(t, from, Options{})
	set(t, shares(t, from, Options{}), Setting{"log", "level", "error"}, true)
	from.failWrites = dberr.New(dberr.Unavailable, "unavailable", "away")
	if _, err := c.Set(Setting{"log", "writer", "stderr"}, true); !dberr.Is(err, dberr.Unavailable) {
		t.Fatalf("set: %v", err)
	}
	if level, _ := c.Get("log", "level"); (c.SharedVersion() == from.version) != (level == "error") {
		t.Errorf("version %d of %d is in effect, with the level %s", c.SharedVersion(), from.version, level)
	}
	refresh(t, c)
	get(t, c, "log", "level", "error")
	if c.SharedVersion() != from.version {
		t.Errorf("version %d of %d", c.SharedVersion(), from.version)
	}
}

func TestSharedThatCantBeReached(t *testing.T) {
	from := &sharedText{}
	c := shares(t, from, Options{})
	set(t, c, Setting{"log", "level", "error"}, true)
	from.fail = dberr.New(dberr.Unavailable, "unavailable", "away")
	for name, err := range map[string]error{"share": open(t, Options{}).Share(from), "refresh": c.Refresh(), "reload": c.Reload(), "set": func() error {
		_, err := c.Set(Setting{"log", "level", "debug"}, true)
		return err
	}()} {
		if !dberr.Is(err, dberr.Unavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	get(t, c, "log", "level", "error")
}
