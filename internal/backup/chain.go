package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// An increment names the backup before it by the sum of that one's description, which has the sums of all of its files,
// and so on to a backup that is whole: what any of them holds can't be another than it was without being noticed.

// linkTo names a backup for an increment after it.
func linkTo(b *Backup) (*Link, error) {
	if b == nil {
		return nil, errors.New("there is no backup for an increment to follow: make a whole one first")
	}
	if b.Format < format {
		return nil, fmt.Errorf("%s was made by an older version, and has no sums for an increment to follow: make a whole one first", b.Path)
	}
	sum, err := descriptionSum(b.Path)
	return &Link{filepath.Base(b.Path), sum}, err
}

func descriptionSum(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, description))
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// chain reads the backups that an increment follows, and compares their sums. Errors: for one that is not there, or is
// another than it was.
func (b *Backup) chain() error {
	for at := b; at.After != nil; {
		dir := filepath.Join(filepath.Dir(b.Path), at.After.Name)
		sum, err := descriptionSum(dir)
		if err != nil {
			return fmt.Errorf("%s needs the backup %s, which is not there: %w", at.Path, dir, err)
		}
		if sum != at.After.Sum {
			return fmt.Errorf("%s needs the backup %s as it was, and it has changed", at.Path, dir)
		}
		before, err := read(dir)
		if err != nil {
			return err
		}
		if !before.Made.Before(at.Made) {
			return fmt.Errorf("%s does not come after %s", at.Path, dir)
		}
		at = before
	}
	return nil
}

// wellFormed refuses a description that names files elsewhere than in backups of its directory.
func (b *Backup) wellFormed() error {
	if b.Format > format {
		return fmt.Errorf("%s has the format %d of a newer version", b.Path, b.Format)
	}
	names := []string{}
	if b.After != nil {
		names = append(names, b.After.Name)
	}
	for _, f := range b.List {
		names = append(names, f.Name)
		if f.In != "" {
			names = append(names, f.In)
		}
	}
	for _, n := range names {
		if n == "" || n == "." || n == ".." || n == Restoring || strings.ContainsAny(n, `/\`) {
			return fmt.Errorf("%s names a file %q, which is none", b.Path, n)
		}
	}
	return nil
}

// place is where a file of the backup is.
func (b *Backup) place(f File) string {
	if f.In == "" {
		return filepath.Join(b.Data(), f.Name)
	}
	return filepath.Join(filepath.Dir(b.Path), f.In, dataName, f.Name)
}

// known is a file that the backup before has.
type known struct {
	File
	path string // where it is
	of   string // the backup that has it
}

// knownFiles returns the files of a backup by their names; none of one without sums.
func knownFiles(b *Backup) map[string]known {
	files := map[string]known{}
	if b == nil {
		return files
	}
	for _, f := range b.List {
		of := f.In
		if of == "" {
			of = filepath.Base(b.Path)
		}
		files[f.Name] = known{f, b.place(f), of}
	}
	return files
}

// linkOrCopy makes a file another's name, or a copy of it where that can't be.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	_, err := copyFile(from, to)
	return err
}
