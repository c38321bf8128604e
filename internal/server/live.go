package server

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/sectional/sectional/internal/backup"
)

// A running server's directory can't be copied file by file: tables and logs come
// and go meanwhile, and what opens may lack what was acknowledged. So the server
// keeps a file in it that holds the file's own number in its file system. A copy
// has another, and is refused. The server takes the file away when it ends; after
// a crash it stays, with the right number.

// inUseName is the file's name.
const inUseName = "in-use"

// wantOriginal refuses a directory that is a copy of one in use, or that a restore
// has not finished.
func wantOriginal(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, backup.Restoring)); err == nil {
		return fmt.Errorf("a restore into %s has not come to its end: empty the directory and restore again", dir)
	}
	path := filepath.Join(dir, inUseName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	number, err := fileNumber(path)
	if err != nil || strings.TrimSpace(string(text)) == number {
		return err
	}
	return fmt.Errorf("%s looks like a copy of a data directory on which a server was running. Such copies lack data; make them with `sectional backup`. "+
		"If no server was running when it was copied (after a crash, say), remove the file %s and start again", dir, path)
}

// noteInUse leaves the file, and returns the function that takes it away. A disk
// without room for it is no reason not to run.
func noteInUse(dir string, log *slog.Logger) (end func() error) {
	path := filepath.Join(dir, inUseName)
	if err := writeInUse(path); err != nil {
		log.Warn("the data directory can't be noted as in use: copies of it will not be told from the original", "err", err)
	}
	return func() error {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
}

func writeInUse(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	number, err := fileNumber(path)
	if err == nil {
		_, err = file.WriteString(number + "\n")
	}
	return errors.Join(err, file.Sync(), file.Close())
}
