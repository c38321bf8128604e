package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/testkit/testrun"
)

// targets are what there are releases for, as .goreleaser.yaml has them.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// releaseFlags are those of a release's builds, as .goreleaser.yaml has them.
var releaseFlags = []string{"build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o"}

// largestProgram is what a program for containers may have: the container's file is that, certificates of 0.3 MB, and has
// less than 60 MB. The other systems have no such limit.
const largestProgram = 59_000_000

// TestPrograms builds the program, and the package for other programs, for each system of a release. That takes minutes for
// each.
func TestPrograms(t *testing.T) {
	testrun.Long(t)
	for _, target := range targets {
		t.Run(target, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(target, "/")
			path := filepath.Join(t.TempDir(), "sectional")
			build := exec.Command("go", append(releaseFlags, path, "../../cmd/sectional")...)
			embed := exec.Command("go", "build", "-trimpath", "../../embed")
			for _, cmd := range []*exec.Cmd{build, embed} {
				cmd.Env = append(os.Environ(), "GOFLAGS=", "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			file, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%.1f MB", float64(file.Size())/1e6)
			if goos == "linux" && file.Size() > largestProgram {
				t.Errorf("%d bytes are more than %d, so that a container's file has more than 60 MB", file.Size(), largestProgram)
			}
		})
	}
}
