package server

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
)

// TestLogValuesAreCut logs long values of all kinds: no line is longer than some values.
func TestLogValuesAreCut(t *testing.T) {
	long := strings.Repeat("ä", 1<<20)
	for name, log := range map[string]func(*slog.Logger){
		"text":    func(l *slog.Logger) { l.Warn("said", "user", long) },
		"error":   func(l *slog.Logger) { l.Warn("said", "cause", errors.New(long)) },
		"list":    func(l *slog.Logger) { l.Warn("said", "list", []string{long, long}) },
		"bytes":   func(l *slog.Logger) { l.Warn("said", "bytes", []byte(long)) },
		"group":   func(l *slog.Logger) { l.Warn("said", slog.Group("g", slog.String("user", long))) },
		"message": func(l *slog.Logger) { l.Warn(long) },
		"with":    func(l *slog.Logger) { l.With("user", long).WithGroup("g").Warn("said") },
	} {
		var out bytes.Buffer
		log(newLog(&out, slog.LevelInfo))
		if line := out.String(); len(line) > 2*maxLogged || !strings.Contains(line, " bytes)") {
			t.Errorf("%s: %d bytes: %.100s", name, len(line), line)
		}
	}
	var out bytes.Buffer
	newLog(&out, slog.LevelInfo).Warn("said", "user", "jan", "cause", errors.New("none"))
	if line := out.String(); !strings.Contains(line, "user=jan cause=none") {
		t.Error(line)
	}
}

// TestSettingsThatHaveNoEffectAreLogged looks for the warnings of a file when the
// server starts, and of changes, each once.
func TestSettingsThatHaveNoEffectAreLogged(t *testing.T) {
	var log bytes.Buffer
	a := &assembly{o: Options{Log: &log, Config: configured(t, "[mine]\nkey = 1\n[log]\nfile = x\n[smoosh.x]\ncapacity = 1\n[couchdb]\nmax_document_size = 8MB\n[httpd]\nenable_cors = true\n"), Data: t.TempDir()}}
	c, err := config.Open(config.Options{File: a.o.Config})
	if err != nil {
		t.Fatal(err)
	}
	a.config, a.log = c, newLog(&log, slog.LevelWarn)
	a.logWarnings()
	told := func(want int) {
		t.Helper()
		if n := strings.Count(log.String(), "level=WARN"); n != want {
			t.Errorf("%d warnings, want %d:\n%s", n, want, log.String())
		}
	}
	told(4)
	for _, w := range []string{"[mine] key is not known", "[log] file has no effect here", "[smoosh.x] capacity has no effect here", "[couchdb] max_document_size takes"} {
		if !strings.Contains(log.String(), w) {
			t.Errorf("not in the log: %s", w)
		}
	}
	for _, s := range []struct {
		value string
		want  int
	}{{"2", 4}, {"", 4}, {"3", 5}} { // no change; gone; it is back
		if _, err := c.Set(config.Setting{Section: "mine", Key: "key", Value: s.value}, false); err != nil {
			t.Fatal(err)
		}
		told(s.want)
	}
	if _, err := c.Set(config.Setting{Section: "log", Key: "level", Value: "debug"}, false); err != nil {
		t.Fatal(err)
	}
	told(5)
}
