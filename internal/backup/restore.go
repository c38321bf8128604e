package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Restoring is the name of the directory in which a restore gathers the data. A
// data directory that has it is not whole.
const Restoring = "restoring"

// ErrNotEmpty is the error of a restore into a directory that has something in it.
var ErrNotEmpty = errors.New("a restore goes into an empty directory")

// Restore copies a backup's data into the directory dir, which must be empty or
// not exist. verify is called with the copied data before it takes its place.
// After an error dir is as it was. Errors: ErrNotEmpty.
func Restore(ctx context.Context, b *Backup, dir string, p Progress, verify func(data string) error) error {
	if err := wantEmpty(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	stage := filepath.Join(dir, Restoring)
	err := b.fetch(ctx, stage, p)
	if err == nil {
		err = verify(stage)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(stage))
	}
	return install(stage, dir)
}

// fetch puts the backup's files into a new directory, comparing their sums.
func (b *Backup) fetch(ctx context.Context, stage string, p Progress) error {
	if b.Format == 0 {
		return b.fetchUnlisted(ctx, stage, p)
	}
	if err := b.chain(); err != nil {
		return err
	}
	if err := os.Mkdir(stage, 0o700); err != nil {
		return err
	}
	done := int64(0)
	for _, f := range b.List {
		if err := ctx.Err(); err != nil {
			return err
		}
		sum, err := copyFile(b.place(f), filepath.Join(stage, f.Name))
		if err != nil {
			return err
		}
		if sum != f.Sum {
			return fmt.Errorf("%s is not what was backed up: its sum is another", b.place(f))
		}
		done += f.Size
		p(done, b.Bytes)
	}
	return syncDirectory(stage)
}

// fetchUnlisted is fetch of a backup of the first format, whose files have no sums.
func (b *Backup) fetchUnlisted(ctx context.Context, stage string, p Progress) error {
	c := &copying{ctx: ctx, progress: p}
	err := c.directory(b.Data(), stage, nil)
	if err == nil && (len(c.list) != b.Files || c.done != b.Bytes) {
		err = fmt.Errorf("the backup has %d bytes in %d files and should have %d in %d", c.done, len(c.list), b.Bytes, b.Files)
	}
	return err
}

// wantEmpty refuses a directory in which there is anything. What a file system
// itself puts into its root does not count.
func wantEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != "lost+found" {
			return fmt.Errorf("%s is not empty (%s): %w", dir, e.Name(), ErrNotEmpty)
		}
	}
	return nil
}

// install moves the files from the stage to where they belong. The stage goes last:
// as long as it is there nobody opens the directory.
func install(stage, dir string) error {
	entries, err := os.ReadDir(stage)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || e.Name() == lockName {
			continue
		}
		if err := os.Rename(filepath.Join(stage, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	if err := syncDirectory(dir); err != nil {
		return err
	}
	if err := os.RemoveAll(stage); err != nil {
		return err
	}
	return syncDirectory(dir)
}
