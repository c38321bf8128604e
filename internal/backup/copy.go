package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// copying copies the files of a directory.
type copying struct {
	ctx      context.Context //nolint:containedctx // it lives for one call of directory
	before   map[string]known
	apart    bool // what the backup before has stays there alone
	progress Progress

	list              []File
	all, done, linked int64 // bytes
}

// directory copies the files of from, and those beside, into a new directory to.
func (c *copying) directory(from, to string, beside []string) error {
	paths, err := c.paths(from, beside)
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
		c.progress(c.done, c.all)
	}
	return syncDirectory(to)
}

// lockName is the file that a check of the data leaves; it holds nothing.
const lockName = "LOCK"

// paths returns the paths of all files to copy, and adds up their sizes.
func (c *copying) paths(from string, beside []string) (paths []string, err error) {
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

// file copies one file, or takes that of the backup before.
func (c *copying) file(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	defer func() { c.done += info.Size() }()
	f := File{Name: info.Name(), Size: info.Size(), Time: info.ModTime().UTC()}
	if old, ok := c.before[f.Name]; ok && old.same(f) && c.take(old, to) {
		f.Sum = old.Sum
		if c.apart {
			f.In = old.of
		}
		c.linked += f.Size
		c.list = append(c.list, f)
		return nil
	}
	if f.Sum, err = copyFile(from, to); err != nil {
		return err
	}
	c.list = append(c.list, f)
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// take reports whether what the backup before has is there to be taken: as a link, or where it is.
func (c *copying) take(old known, to string) bool {
	if !c.apart {
		return os.Link(old.path, to) == nil
	}
	info, err := os.Stat(old.path)
	return err == nil && info.Size() == old.Size
}

// same reports whether a file is what the backup before has. Only tables can be,
// which never change. The time is compared too: after a restore the numbers in
// tables' names are given a second time.
func (old known) same(f File) bool {
	return (strings.HasSuffix(f.Name, ".sst") || strings.HasSuffix(f.Name, ".blob")) && old.Size == f.Size && old.Time.Equal(f.Time)
}

// copyFile copies a file's bytes into a new one, which is on the disk then, and
// returns their sum.
func copyFile(from, to string) (sum string, err error) {
	if info, err := os.Stat(from); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no file", from) // to open a pipe would wait for who writes into it
	}
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), in)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, out.Sync(), out.Close())
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

// syncDirectory makes the names in a directory durable; Windows has nothing that is asked for, and refuses it.
func syncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
