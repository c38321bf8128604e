package server

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
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
		log(newLog(&out, slog.LevelInfo, nil))
		if line := out.String(); len(line) > 2*maxLogged || !strings.Contains(line, " bytes)") {
			t.Errorf("%s: %d bytes: %.100s", name, len(line), line)
		}
	}
	var out bytes.Buffer
	newLog(&out, slog.LevelInfo, nil).Warn("said", "user", "jan", "cause", errors.New("none"))
	if line := out.String(); !strings.Contains(line, "user=jan cause=none") {
		t.Error(line)
	}
}

// TestLogWhileAway: lines about what can't be reached are written once a minute for each message, with how many were left
// out; all others are written.
func TestLogWhileAway(t *testing.T) {
	var out bytes.Buffer
	h := newLog(&out, slog.LevelInfo, nil).With("server", "one").Handler()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	say := func(seconds int, message string, err error) {
		r := slog.NewRecord(began.Add(time.Duration(seconds)*time.Second), slog.LevelError, message, 0)
		r.AddAttrs(slog.Any("error", err))
		if err := h.Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	away := dberr.Wrap("test", dberr.New(dberr.Unavailable, "", "away"))
	for second := range 121 {
		say(second, "not read", errors.Join(away, errors.New("and more")))
		say(second, "not written", away)
	}
	for _, want := range []string{"not read", "not written"} {
		if n := strings.Count(out.String(), want); n != 3 {
			t.Errorf("%q was written %d times in two minutes, want 3", want, n)
		}
	}
	if n := strings.Count(out.String(), "left_out=59"); n != 4 {
		t.Errorf("%d lines tell how many were left out, want 4:\n%s", n, out.String())
	}
	out.Reset()
	for range 5 {
		say(121, "not read", errors.New("damaged"))
	}
	if n := strings.Count(out.String(), "damaged"); n != 5 {
		t.Errorf("of 5 lines about something else %d were written", n)
	}
}

// TestSettingsThatHaveNoEffectAreLogged looks for the warnings of a file when the
// server starts, and of changes, each once.
func TestSettingsThatHaveNoEffectAreLogged(t *testing.T) {
	var log bytes.Buffer
	a := &instance{o: Options{Log: &log, Config: configured(t, "[mine]\nkey = 1\n[log]\nfile = x\n[smoosh.x]\ncapacity = 1\n[couchdb]\nmax_document_size = 8MB\n[httpd]\nenable_cors = true\n"), Data: t.TempDir()}}
	c, err := config.Open(config.Options{File: a.o.Config})
	if err != nil {
		t.Fatal(err)
	}
	a.config, a.log = c, newLog(&log, slog.LevelWarn, nil)
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

// output is what a server writes, for tests to read meanwhile.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns what was written so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
