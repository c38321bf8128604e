package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// output is the file of an export.
type output struct {
	io.Writer
	path string   // of the file whose place it takes when it is whole; "" for what is written to directly
	file *os.File // nil for standard output
	pack *gzip.Writer
	buf  *bufio.Writer
}

// partial is at the end of the name of a file that is not whole.
const partial = ".part"

func (x *exporting) open(c *console) (*output, error) {
	if x.File == "-" {
		return &output{Writer: c.out}, nil
	}
	path, replace, err := placeOf(x.File)
	if err != nil {
		return nil, err
	}
	t, name := &output{}, path
	if replace {
		t.path, name = path, path+partial
	}
	f, err := createPrivate(name)
	if err != nil {
		return nil, err
	}
	t.Writer, t.file = f, f
	if strings.HasSuffix(x.File, ".gz") {
		t.buf = bufio.NewWriterSize(f, 256<<10)
		t.pack = gzip.NewWriter(t.buf)
		t.Writer = t.pack
	}
	return t, nil
}

// createPrivate opens a file to be written from its beginning. It is for its owner alone, as the data is, whoever could read one
// of that name before.
func createPrivate(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm() != 0o600 {
		err = f.Chmod(0o600)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// placeOf returns the file that a name stands for, behind links, and whether another takes its place once that is whole.
// Devices and pipes are written to directly: they stay what they are. Errors: it is a directory.
func placeOf(name string) (path string, replace bool, err error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return name, true, nil
	case err != nil:
		return "", false, err
	case info.IsDir():
		return "", false, fmt.Errorf("%s is a directory: name a file", name)
	case !info.Mode().IsRegular():
		return name, false, nil
	}
	if path, err = filepath.EvalSymlinks(name); err != nil {
		return name, false, nil // one that has no name any more
	}
	return path, true, nil
}

// keep gives a file that is whole its name.
func (t *output) keep() error {
	if t.file == nil {
		return nil
	}
	var err error
	if t.pack != nil {
		err = errors.Join(t.pack.Close(), t.buf.Flush())
	}
	if t.path == "" {
		return errors.Join(err, t.file.Close())
	}
	err = errors.Join(err, t.file.Sync(), t.file.Close())
	if err != nil {
		return errors.Join(err, os.Remove(t.path+partial))
	}
	return os.Rename(t.path+partial, t.path)
}

// drop takes away a file that is not whole.
func (t *output) drop() error {
	switch {
	case t.file == nil:
		return nil
	case t.path == "":
		return t.file.Close()
	}
	return errors.Join(t.file.Close(), os.Remove(t.path+partial))
}
