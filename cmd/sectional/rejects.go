package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sectional/sectional/internal/progress"
)

// rejects lists what a command could not carry over: in a file, as JSON lines, or in words for whoever looks on.
type rejects struct {
	path   string
	out    io.Writer
	file   *os.File
	to     *bufio.Writer
	err    error
	listed int
}

// maxSaid bounds how many are told in words.
const maxSaid = 20

// newRejects begins a list, in the place of that of a run before. Errors: the file can't be written, or is one of those
// that the command reads.
func newRejects(path string, out io.Writer, read ...fs.FileInfo) (*rejects, error) {
	r := &rejects{path: path, out: out}
	if path == "" {
		return r, nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("--rejected: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("--rejected: %s is a directory: name a file", path)
	default:
		for _, other := range read {
			if os.SameFile(info, other) {
				return nil, fmt.Errorf("--rejected: %s is read: name another file", path)
			}
		}
	}
	if r.file, err = createPrivate(path); err != nil {
		return nil, fmt.Errorf("--rejected: %w", err)
	}
	r.to = bufio.NewWriter(r.file)
	return r, nil
}

// add lists one: the value in the file, the sentence in words.
func (r *rejects) add(value any, sentence string) {
	r.listed++
	switch {
	case r.file != nil && r.err == nil:
		r.err = json.NewEncoder(r.to).Encode(value)
	case r.file != nil:
	case r.listed <= maxSaid:
		progress.Fprintf(r.out, "rejected: %s\n", sentence)
	case r.listed == maxSaid+1:
		fmt.Fprintln(r.out, "rejected: more; --rejected FILE lists all")
	}
}

// refused is the error of a command that could not carry over all.
func (r *rejects) refused() error {
	if r.path == "" {
		return fmt.Errorf("%w above", errRefused)
	}
	return fmt.Errorf("%w in %s", errRefused, filepath.Base(r.path))
}

// Close ends the list; an empty file does not stay. Errors: it could not be written.
func (r *rejects) Close() error {
	if r.file == nil {
		return nil
	}
	err := errors.Join(r.err, r.to.Flush(), r.file.Close())
	if info, infoErr := os.Lstat(r.path); r.listed == 0 && infoErr == nil && info.Mode().IsRegular() {
		err = errors.Join(err, os.Remove(r.path))
	}
	return err
}
