// Package backup owns what lies in a directory of backups, and copying files to
// and from it.
//
// A directory of backups holds one directory for each, named by its time. A
// backup is what the engine's checkpoint held, in data, and backup.json, which is
// written last: a directory without it is no backup. Tables never change, so a
// table that the backup before has already is linked and not copied: each backup
// is whole, and any of them may be removed. An increment has no links: its
// description says in which of the backups before it the rest of its files are,
// and it can be carried elsewhere alone (chain.go). The description has the sums of
// all files, which a restore compares. docs/formats/backup.md is the format.
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
	Path    string    `json:"-"`                // of its directory
	Format  int       `json:"format,omitempty"` // of the description; 0: the first, without sums
	Version string    `json:"version"`          // of the server that it is of
	Made    time.Time `json:"made"`
	Files   int       `json:"files"`
	Bytes   int64     `json:"bytes"`
	Copied  int64     `json:"copied_bytes"`    // the rest are links into the backup before, or are there
	After   *Link     `json:"after,omitempty"` // of an increment: the backup before
	List    []File    `json:"list,omitempty"`
}

// File is a file of a backup.
type File struct {
	Name string    `json:"name"`
	Size int64     `json:"bytes"`
	Sum  string    `json:"sha256"`
	Time time.Time `json:"time"`         // of its last change
	In   string    `json:"in,omitempty"` // the backup that has it; "": this one
}

// Link names a backup in the same directory, by the sum of its description.
type Link struct {
	Name string `json:"name"`
	Sum  string `json:"sha256"`
}

// format is that of descriptions that are written.
const format = 2

// Data is the directory with the backup's data.
func (b *Backup) Data() string { return filepath.Join(b.Path, dataName) }

// Source says what to back up: a checkpoint, whose files nobody changes, and
// single files beside it.
type Source struct {
	Checkpoint string
	ExtraFiles []string // paths of files; those that do not exist are left out
	Version    string
	Increment  bool // copy alone what the backup before lacks, and name that
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
	if err != nil && !errors.Is(err, ErrNone) && (s.Increment || !errors.Is(err, ErrDamaged)) {
		return nil, err
	}
	name := now.UTC().Format(nameLayout)
	final := filepath.Join(target, name)
	b := &Backup{Path: final + unfinished, Format: format, Version: s.Version, Made: now.UTC().Truncate(time.Millisecond)}
	if s.Increment {
		if b.After, err = linkTo(before); err != nil {
			return nil, err
		}
	}
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
	c := &copying{ctx: ctx, progress: p, before: knownFiles(before), apart: s.Increment}
	if err := c.directory(s.Checkpoint, b.Data(), s.ExtraFiles); err != nil {
		return err
	}
	b.Files, b.Bytes, b.Copied, b.List = len(c.list), c.done, c.done-c.linked, c.list
	if err := b.verified(ctx, verify); ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
		return fmt.Errorf("the backup is not sound: %w", err)
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err == nil {
		err = writeFile(filepath.Join(b.Path, description), append(text, '\n'))
	}
	if err != nil {
		return err
	}
	return syncDirectory(b.Path)
}

// verified has the data checked: where it is, or of an increment, put together beside it for so long.
func (b *Backup) verified(ctx context.Context, verify func(string) error) error {
	if b.After == nil {
		return verify(b.Data())
	}
	whole := filepath.Join(b.Path, "whole")
	if err := os.Mkdir(whole, 0o700); err != nil {
		return err
	}
	err := ctx.Err()
	for _, f := range b.List {
		if err == nil {
			err = linkOrCopy(b.place(f), filepath.Join(whole, f.Name))
		}
	}
	if err == nil {
		err = verify(whole)
	}
	return errors.Join(err, os.RemoveAll(whole))
}

// ErrNone is the error of a directory in which there is no finished backup.
var ErrNone = errors.New("there is no finished backup here")

// Latest returns the newest finished backup below a directory, or the backup that
// the directory itself is.
func Latest(dir string) (*Backup, error) { return At(dir, time.Time{}) }

// At returns the newest finished backup below a directory that is not of later than
// a time; the zero time stands for no limit. A directory that is a backup itself is
// that backup. Errors: ErrNone; ErrDamaged of one that would be it, where its name tells when it was made.
func At(dir string, limit time.Time) (*Backup, error) {
	late := error(nil)
	inTime := func(b *Backup) bool {
		if limit.IsZero() || !b.Made.After(limit) {
			return true
		}
		late = fmt.Errorf("%w of %s or before: what there is is of later", ErrNone, limit.Format(time.RFC3339))
		return false
	}
	switch b, err := read(dir); {
	case errors.Is(err, ErrDamaged):
		return nil, err
	case err == nil && !inTime(b):
		return nil, late
	case err == nil:
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
		b, err := read(filepath.Join(dir, e.Name()))
		if err == nil && inTime(b) {
			return b, nil
		}
		if made, no := time.Parse(nameLayout, e.Name()); errors.Is(err, ErrDamaged) && no == nil && (limit.IsZero() || !made.After(limit)) {
			return nil, err // one of before in its place would be a loss that nobody is told of
		}
	}
	if late != nil {
		return nil, late
	}
	return nil, ErrNone
}

// ErrDamaged is the error of a backup whose description cannot be read.
var ErrDamaged = errors.New("the description of the backup, backup.json, is damaged or of a newer version")

// read reads a backup's description. Errors: ErrDamaged; it is not there.
func read(dir string) (*Backup, error) {
	text, err := os.ReadFile(filepath.Join(dir, description))
	if err != nil {
		return nil, err
	}
	b := &Backup{Path: dir}
	if err = json.Unmarshal(text, b); err == nil {
		err = b.wellFormed()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w; name another backup", dir, ErrDamaged, err)
	}
	return b, nil
}
