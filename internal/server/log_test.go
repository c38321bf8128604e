package server

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
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
