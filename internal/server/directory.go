package server

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/kv/pebblekv"
)

// lockName is the file by which a process has a data directory: the first that is made in a new one, whichever engine
// has the data.
const lockName = "LOCK"

// foreignFiles are names that a data directory may have before its first start.
var foreignFiles = [...]string{"lost+found", localConfig}

// wantData refuses a directory that has no data in it, for commands that work on what is there: opening it would make an
// empty store where somebody has mistaken the place.
func wantData(dir string) error {
	if err := wantDirectory(dir); err != nil {
		return err
	}
	if err := wantOriginal(dir); err != nil {
		return err
	}
	there, err := pebblekv.Exists(dir)
	switch {
	case err != nil:
		return fmt.Errorf("the data directory %s can't be read: %w", dir, err)
	case !there:
		return fmt.Errorf("there is no data in %s: name the data directory of a server that keeps its data there", dir)
	}
	return nil
}

// wantDirectory refuses a data directory that is not there, or is something else.
func wantDirectory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no data directory %s: name another one", dir)
	case err != nil:
		return fmt.Errorf("the data directory %s can't be read: %w", dir, err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory: name the one that has the data", dir)
	}
	return nil
}

// wantOwn refuses to make a data directory of one in which others keep things: what lies in a data directory is taken
// from everybody but the server's user, which would break a home, a project or a system, and directories of the server's own are emptied. One that is not there is fine.
func wantOwn(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return cmp.Or(wantDirectory(dir), err)
	}
	if there, err := pebblekv.Exists(dir); err == nil && there {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(dir, lockName)); err == nil {
		return nil
	}
	for _, e := range entries {
		if name := e.Name(); !strings.HasPrefix(name, ".") && !slices.Contains(foreignFiles[:], name) {
			return fmt.Errorf("%s has no data of a server, but other things in it, as %s: name a data directory that is empty, or not there yet", dir, name)
		}
	}
	return nil
}
