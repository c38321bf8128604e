package dberr

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestGuard(t *testing.T) {
	log := &bytes.Buffer{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	plain := errors.New("plain")
	for _, want := range []error{nil, plain} {
		if err := Guard(logger, "op", func() error { return want }); err != want || Panicked(err) || log.Len() > 0 {
			t.Errorf("%v comes out as %v", want, err)
		}
	}
	for _, value := range []any{"text", errors.New("an error"), 5} {
		log.Reset()
		err := Guard(logger, "op", func() error { panic(value) })
		if !Panicked(err) || KindOf(err) != Internal || !Panicked(Wrap("outer", err)) {
			t.Errorf("a panic with %v is %v", value, err)
		}
		if !strings.Contains(log.String(), "TestGuard") {
			t.Errorf("the log has no stack: %s", log)
		}
		if e := (*Error)(nil); errors.As(err, &e) && strings.Contains(e.Reason, "text") {
			t.Errorf("the caller is told of the panic: %s", e.Reason)
		}
	}
	var nothing map[string]int
	if err := Guard(logger, "op", func() error { nothing["a"] = 1; return nil }); !Panicked(err) {
		t.Errorf("a mistake of ours is %v", err)
	}
}
