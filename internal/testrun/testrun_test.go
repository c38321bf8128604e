package testrun

import (
	"flag"
	"testing"
)

// TestSequential: such a test is left out of a short run alone.
func TestSequential(t *testing.T) {
	before := flag.Lookup("test.short").Value.String()
	t.Cleanup(func() { set(t, before) })
	for short, want := range map[string]bool{"true": true, "false": false} {
		set(t, short)
		var inner *testing.T
		t.Run(short, func(t *testing.T) { inner = t; left(t) })
		if inner.Skipped() != want {
			t.Errorf("with -short=%s it is left out: %v", short, inner.Skipped())
		}
	}
}

func left(t *testing.T) { Sequential(t) }

func set(t *testing.T, short string) {
	t.Helper()
	if err := flag.Set("test.short", short); err != nil {
		t.Fatal(err)
	}
}
