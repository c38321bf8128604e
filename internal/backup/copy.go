package backup

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// copying copies the files of a directory.
type copying struct {
	ctx      context.Context //nolint:containedctx // it lives for one call of directory
	before   string          // the data of the backup before; "" for none
	progress Progress

	files             int
	all, done, linked int64 // bytes
}

// directory copies the files of from, and those beside, into a new directory to.
func (c *copying) directory(from, to string, beside []string) error {
	paths, err := c.list(from, beside)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, path := range paths {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if err := c.file(path, filepath.Join(to, filepath.Base(path))); err != nil {
			return err
		}
		c.files++
		c.progress(c.done, c.all)
	}
	return syncDirectory(to)
}

// lockName is the file that a check of the data leaves; it holds nothing.
const lockName = "LOCK"

// list returns the paths of all files to copy, and adds up their sizes.
func (c *copying) list(from string, beside []string) (paths []string, err error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && e.Name() != lockName {
			paths = append(paths, filepath.Join(from, e.Name()))
		}
	}
	paths = append(paths, beside...)
	kept := paths[:0]
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) && len(beside) > 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		kept, c.all = append(kept, path), c.all+info.Size()
	}
	return kept, nil
}

// file copies one file, or links it to that of the backup before.
func (c *copying) file(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	defer func() { c.done += info.Size() }()
	if c.same(info) && os.Link(filepath.Join(c.before, info.Name()), to) == nil {
		c.linked += info.Size()
		return nil
	}
	if err := copyFile(from, to); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// same reports whether the backup before has the file. Only tables are looked
// for, which never change. The time is compared too: after a restore the numbers
// in tables' names are given a second time.
func (c *copying) same(info fs.FileInfo) bool {
	if c.before == "" || !strings.HasSuffix(info.Name(), ".sst") && !strings.HasSuffix(info.Name(), ".blob") {
		return false
	}
	old, err := os.Stat(filepath.Join(c.before, info.Name()))
	return err == nil && old.Size() == info.Size() && old.ModTime().Equal(info.ModTime())
}

// copyFile copies a file's bytes into a new one, which is on the disk then.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// writeFile writes a new file, which is on the disk then.
func writeFile(path string, text []byte) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return errors.Join(err, out.Sync(), out.Close())
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
