// Package backup owns what lies in a directory of backups, and copying files to
// and from it.
//
// A directory of backups holds one directory for each, named by its time. A
// backup is what the engine's checkpoint held, in data, and backup.json, which is
// written last: a directory without it is no backup. Tables never change, so a
// table that the backup before has already is linked and not copied: each backup
// is whole, and any of them may be removed.
//
// The package knows files and nothing of what is in them; who asks for the
// checkpoint and checks the copy is server. Begin reading at Make and Restore.
package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Names within a directory of backups and within a backup.
const (
	unfinished  = ".unfinished" // after the name of a backup that is being made
	description = "backup.json"
	dataName    = "data"
	nameLayout  = "2006-01-02T15-04-05.000Z"
)

// Backup describes a finished backup.
type Backup struct {
	Path    string    `json:"-"`       // of its directory
	Version string    `json:"version"` // of the server that it is of
	Made    time.Time `json:"made"`
	Files   int       `json:"files"`
	Bytes   int64     `json:"bytes"`
	Copied  int64     `json:"copied_bytes"` // the rest are links into the backup before
}

// Data is the directory with the backup's data.
func (b *Backup) Data() string { return filepath.Join(b.Path, dataName) }

// Source says what to back up: a checkpoint, whose files nobody changes, and
// single files beside it.
type Source struct {
	Checkpoint string
	Beside     []string // paths of files; those that do not exist are left out
	Version    string
}

// Progress is told how many bytes are done, of how many.
type Progress func(done, all int64)

// Make makes a backup in the directory target, which is made if it does not
// exist. verify is called with the copied data before the backup counts; an error
// of it, or of anything else, leaves no backup.
func Make(ctx context.Context, s Source, target string, now time.Time, p Progress, verify func(data string) error) (*Backup, error) {
	if err := os.MkdirAll(target, 0o700); err != nil {
		return nil, err
	}
	before, err := Latest(target)
	if err != nil && !errors.Is(err, ErrNone) {
		return nil, err
	}
	name := now.UTC().Format(nameLayout)
	final := filepath.Join(target, name)
	b := &Backup{Path: final + unfinished, Version: s.Version, Made: now.UTC().Truncate(time.Millisecond)}
	if err := os.Mkdir(b.Path, 0o700); err != nil {
		return nil, err
	}
	if err = b.fill(ctx, s, before, p, verify); err == nil {
		err = os.Rename(b.Path, final)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(b.Path))
	}
	b.Path = final
	return b, syncDirectory(target)
}

// fill copies everything into the backup's directory, and describes it when it has
// been verified.
func (b *Backup) fill(ctx context.Context, s Source, before *Backup, p Progress, verify func(string) error) error {
	c := &copying{ctx: ctx, progress: p}
	if before != nil {
		c.before = before.Data()
	}
	if err := c.directory(s.Checkpoint, b.Data(), s.Beside); err != nil {
		return err
	}
	if err := verify(b.Data()); err != nil {
		return fmt.Errorf("the backup is not sound: %w", err)
	}
	b.Files, b.Bytes, b.Copied = c.files, c.done, c.done-c.linked
	text, err := json.MarshalIndent(b, "", "  ")
	if err == nil {
		err = writeFile(filepath.Join(b.Path, description), append(text, '\n'))
	}
	if err != nil {
		return err
	}
	return syncDirectory(b.Path)
}

// ErrNone is the error of a directory in which there is no finished backup.
var ErrNone = errors.New("there is no finished backup here")

// Latest returns the newest finished backup below a directory, or the backup that
// the directory itself is.
func Latest(dir string) (*Backup, error) {
	if b, err := read(dir); err == nil {
		return b, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(entries) {
		if !e.IsDir() || strings.HasSuffix(e.Name(), unfinished) {
			continue
		}
		if b, err := read(filepath.Join(dir, e.Name())); err == nil {
			return b, nil
		}
	}
	return nil, ErrNone
}

// read reads a backup's description.
func read(dir string) (*Backup, error) {
	text, err := os.ReadFile(filepath.Join(dir, description))
	if err != nil {
		return nil, err
	}
	b := &Backup{Path: dir}
	if err := json.Unmarshal(text, b); err != nil {
		return nil, err
	}
	return b, nil
}
