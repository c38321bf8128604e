package progress

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLine(t *testing.T) {
	var out bytes.Buffer
	now := time.Now()
	l := New(&out, now)
	l.now = func() time.Time { return now }
	printed := func(want string) {
		t.Helper()
		if got := out.String(); got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
		out.Reset()
	}
	fmt.Fprintln(l.Above(&out), "begun")
	printed("begun\n")
	now = now.Add(after - 1)
	l.Show("%d of %d", 0, 3) // it may be done at once
	printed("")
	now = now.Add(1)
	l.Show("%d of %d", 1, 3)
	l.Show("%d of %d", 2, 3) // too soon
	printed("\r\x1b[K1 of 3")
	fmt.Fprintln(l.Above(&out), "a warning")
	printed("\r\x1b[Ka warning\n1 of 3")
	now = now.Add(pause)
	l.Show("%s", strings.Repeat("ä", 200))
	printed("\r\x1b[K" + strings.Repeat("ä", width))
	l.Clear()
	printed("\r\x1b[K")
	l.Clear()
	fmt.Fprintln(l.Above(&out), "done")
	printed("done\n")
}

// TestNoTerminal holds that nothing is written where there is no terminal.
func TestNoTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := On(f)
	l.Show("1 of 3")
	fmt.Fprintln(l.Above(f), "a line")
	l.Clear()
	text, err := os.ReadFile(f.Name())
	if err != nil || string(text) != "a line\n" {
		t.Errorf("%q %v", text, err)
	}
}
