package packages

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

// top is the repository's.
const top = "../.."

// load reads the configuration strictly: a member that goreleaser does not know is an error.
func load(t *testing.T) config.Project {
	t.Helper()
	project, err := config.Load(top + "/.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// TestBuilds: static binaries for all six, the same from the same sources.
func TestBuilds(t *testing.T) {
	p := load(t)
	if len(p.Builds) != 1 {
		t.Fatalf("%d builds", len(p.Builds))
	}
	b := p.Builds[0]
	if !slices.Equal(b.Goos, []string{"linux", "darwin", "windows"}) || !slices.Equal(b.Goarch, []string{"amd64", "arm64"}) || b.Main != "./cmd/sectional" {
		t.Errorf("%v %v %s", b.Goos, b.Goarch, b.Main)
	}
	if !slices.Contains(b.Env, "CGO_ENABLED=0") || !slices.Contains(b.Flags, "-trimpath") || b.ModTimestamp == "" {
		t.Errorf("%v %v %q", b.Env, b.Flags, b.ModTimestamp)
	}
}

// TestFilesAreThere: what archives and packages hold is in the repository, or is made by a hook before.
func TestFilesAreThere(t *testing.T) {
	p := load(t)
	var sources []string
	for _, a := range p.Archives {
		for _, f := range a.Files {
			sources = append(sources, f.Source)
		}
	}
	for _, n := range p.NFPMs {
		sources = append(sources, n.Scripts.PostInstall, n.Scripts.PreRemove, n.Scripts.PostRemove)
		for _, c := range n.Contents {
			sources = append(sources, c.Source)
		}
	}
	for _, s := range sources {
		if s == "" || strings.HasPrefix(s, made) {
			continue
		}
		if _, err := os.Stat(top + "/" + s); err != nil {
			t.Error(err)
		}
	}
}
