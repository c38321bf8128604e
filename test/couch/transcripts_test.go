package couch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/testkit/process"
)

func TestMain(m *testing.M) {
	script.ServeIfChild()
	os.Exit(process.Main(m))
}

// TestTranscripts replays every recorded scenario against the built server.
func TestTranscripts(t *testing.T) { replayAll(t, serverOf, func(int) bool { return true }) }

// replayAll replays the scenarios that takes wants of each recording, by their places in it, against servers at the address that start
// returns. Each recording has servers of its own: some scenarios change configuration and users.
func replayAll(t *testing.T, start func(*testing.T) string, takes func(i int) bool) {
	t.Helper()
	files, err := recordings()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no recordings")
	}
	listed, err := deviations()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(f.subject, func(t *testing.T) {
			t.Parallel()
			r := replayer{address: start(t)}
			for i, s := range f.scenarios {
				if !takes(i) {
					continue
				}
				t.Run(s.Name, func(t *testing.T) {
					if err := r.replay(s, listed[f.subject+": "+s.Name]); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

// serverOf starts a server and returns its address. Passwords are hashed in few steps there: a thousand times they are,
// and how often is not what is compared.
func serverOf(t *testing.T) string {
	t.Helper()
	settings := filepath.Join(t.TempDir(), "local.ini")
	if err := os.WriteFile(settings, []byte("[chttpd_auth]\niterations = 10\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return process.Start(t, process.Options{Args: []string{"--config", settings}}).Address
}
