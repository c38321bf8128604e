package couch

import (
	"os"
	"testing"

	"github.com/sectional/sectional/test/process"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

// TestTranscripts replays every recorded scenario against the built server.
func TestTranscripts(t *testing.T) {
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
			// Each file has a server of its own: some scenarios change configuration and users.
			t.Parallel()
			r := replayer{address: process.Start(t, process.Options{}).Address}
			for _, s := range f.scenarios {
				t.Run(s.Name, func(t *testing.T) {
					if err := r.replay(s, listed[f.subject+": "+s.Name]); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}
