package server

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

// Modes of what lies in the data directory: passwords' verifiers, tokens' keys and
// everybody's documents, which are for the server alone.
const (
	privateDir  fs.FileMode = 0o700
	privateFile fs.FileMode = 0o600
)

// keepPrivate makes the data directory, if there is none, for the process's own user
// alone, and takes from others what they could read or write there. What can't be
// changed is logged, for the files may be another's.
func keepPrivate(dir string, log *slog.Logger) error {
	if err := os.MkdirAll(dir, privateDir); err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	tightened := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		changed := false
		if err == nil {
			changed, err = tighten(path, d)
		}
		switch {
		case err != nil:
			log.Warn("others may be able to read a file of the data directory", "file", path, "error", err)
		case changed:
			tightened++
		}
		return nil // a directory that can't be read has nothing more to show
	})
	if tightened > 0 {
		log.Warn("others were able to read files of the data directory; now they are not", "directory", dir, "files", tightened)
	}
	return err
}

// tighten takes a file or directory from others; it reports whether it was theirs
// too.
func tighten(path string, d fs.DirEntry) (changed bool, err error) {
	want := privateFile
	switch {
	case d.IsDir():
		want = privateDir
	case !d.Type().IsRegular():
		return false, nil
	}
	info, err := d.Info()
	if err != nil || info.Mode().Perm()&^want == 0 {
		return false, err
	}
	return true, os.Chmod(path, info.Mode().Perm()&want)
}
