package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sectional/sectional/internal/backup"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/progress"
)

// BackupOptions say what to back up or to restore, and how.
type BackupOptions struct {
	Data    string    // the data directory
	Backups string    // the directory of backups; to restore, also one of them
	At      time.Time // restore what there was then; the zero time: the newest
	// Increment backs up alone what the newest backup lacks, and names that.
	Increment bool
	NoVerify  bool           // leave out the check of the copy
	JSON      bool           // tell what came of it as JSON
	Version   string         // of this build
	Out       io.Writer      // for what came of it
	Err       io.Writer      // for what is wrong beside that; nil: nowhere
	Progress  *progress.Line // shows how far it came
}

// Backup makes a backup of everything in the data directory, whether a server runs
// on it or not, and checks it.
func Backup(ctx context.Context, o BackupOptions) error {
	defer o.Progress.Clear()
	source, end, err := checkpointOf(ctx, o)
	if err != nil {
		return err
	}
	made := false
	defer func() { end(made) }()
	source.ExtraFiles, source.Increment = []string{filepath.Join(o.Data, localConfig)}, o.Increment
	b, err := backup.Make(ctx, source, o.Backups, time.Now(), o.progress("copied"), o.verify(ctx))
	if made = err == nil; !made {
		return err
	}
	return o.result(map[string]any{"backup": b.Path, "made": b.Made, "bytes": b.Bytes, "files": b.Files, "copied_bytes": b.Copied, "increment": b.After != nil, "verified": !o.NoVerify},
		"%s holds %s in %d files, %s of them copied, the rest as in the backup before.%s", b.Path, progress.Size(b.Bytes), b.Files, progress.Size(b.Copied), o.verified())
}

// Restore puts a backup, or the newest in a directory of them, into an empty data
// directory, and checks it.
func Restore(ctx context.Context, o BackupOptions) (err error) {
	defer o.Progress.Clear()
	from := o.Backups
	defer func() { o.leaveAct(ctx, from, err) }()
	b, err := o.backup()
	if err != nil {
		return err
	}
	from = b.Path
	if err := backup.Restore(ctx, b, o.Data, o.progress("restored"), o.verify(ctx)); err != nil {
		return err
	}
	return o.result(map[string]any{"backup": b.Path, "made": b.Made, "data": o.Data, "verified": !o.NoVerify},
		"%s is what %s holds, as of %s.%s", o.Data, b.Path, b.Made.Format(time.RFC3339), o.verified())
}

// leaveAct leaves in the data what came of a restore: in what it has brought, or in what was there and has refused it.
func (o *BackupOptions) leaveAct(ctx context.Context, from string, failed error) {
	if wantData(o.Data) != nil {
		return // there is nothing to write to
	}
	d := commandLine("sectional restore", nil, "", o.Err).from(from)
	maskOthers()
	e, err := pebblekv.Open(pebblekv.Options{Dir: o.Data, Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		d.end(ctx, e, failed)
		err = e.Close()
	}
	if err != nil && failed == nil {
		d.warn(err)
	}
}

// backup returns the backup that is meant.
func (o *BackupOptions) backup() (*backup.Backup, error) {
	b, err := backup.At(o.Backups, o.At)
	var where *fs.PathError
	if errors.As(err, &where) { // which names the path
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Backups, err)
	}
	return b, nil
}

// result tells what came of a command, to programs or to people.
func (o *BackupOptions) result(told map[string]any, format string, args ...any) (err error) {
	out := o.Progress.Above(o.Out)
	if o.JSON {
		return json.NewEncoder(out).Encode(told)
	}
	_, err = progress.Fprintf(out, format+"\n", args...)
	return err
}

// verified says in the last line whether the copy was checked.
func (o *BackupOptions) verified() string {
	if o.NoVerify {
		return " It was not checked."
	}
	return " All of it is sound."
}

// verify returns the function that checks copied data.
func (o *BackupOptions) verify(ctx context.Context) func(string) error {
	return func(dir string) error {
		if o.NoVerify {
			return nil
		}
		return checkData(ctx, dir, EngineOptions{}, o.Progress, nil)
	}
}

// progress returns the function that draws how far the copying has come.
func (o *BackupOptions) progress(verb string) backup.Progress {
	return func(done, all int64) { o.Progress.Show("%s %d of %d MB", verb, done>>20, all>>20) }
}

// checkpointOf gets a checkpoint: from the server that runs on the directory, or
// where none does, from the directory. end gives it back, and tells the server whether the backup was made.
func checkpointOf(ctx context.Context, o BackupOptions) (s backup.Source, end func(made bool), err error) {
	if err := wantDirectory(o.Data); err != nil {
		return s, nil, err
	}
	conn, err := net.Dial("unix", filepath.Join(o.Data, controlSocket))
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED):
		return checkpointAtRest(ctx, o)
	case err != nil:
		return s, nil, fmt.Errorf("the server on %s can't be asked: %w", o.Data, err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	end = func(made bool) {
		if made {
			_, _ = io.WriteString(conn, backupMade) // who does not hear it counts one backup less
		}
		giveBack(conn)
		stop()
		conn.Close()
	}
	var answer checkpointAnswer
	if _, err = io.WriteString(conn, "checkpoint\n"); err == nil {
		var line []byte
		if line, err = bufio.NewReader(conn).ReadBytes('\n'); err == nil {
			err = json.Unmarshal(line, &answer)
		}
	}
	if err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	if err != nil {
		end(false)
		return s, nil, fmt.Errorf("the server on %s makes no checkpoint: %w", o.Data, err)
	}
	// The server's directory may have another name for it than for us.
	return backup.Source{Checkpoint: filepath.Join(o.Data, filepath.Base(answer.Dir)), Version: answer.Version}, end, nil
}

// giveBack tells the server that its checkpoint is not needed any more, and waits a
// moment until it is gone, so that the next command finds none.
func giveBack(conn net.Conn) {
	if c, ok := conn.(*net.UnixConn); ok && c.CloseWrite() == nil {
		_ = conn.SetReadDeadline(time.Now().Add(commandWithin))
		_, _ = io.Copy(io.Discard, conn) // until the server closes
	}
}

var errUnmade = errors.New("no backup was made")

// checkpointAtRest opens the directory itself for the time of the backup.
func checkpointAtRest(ctx context.Context, o BackupOptions) (s backup.Source, end func(made bool), err error) {
	if err := wantData(o.Data); err != nil {
		return s, nil, err
	}
	maskOthers()
	e, err := pebblekv.Open(pebblekv.Options{Dir: o.Data, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return s, nil, err
	}
	dir, err := e.Checkpoint(ctx)
	if err != nil {
		return s, nil, errors.Join(err, e.Close())
	}
	d := commandLine("sectional backup", nil, "", o.Err)
	d.begin(ctx, e)
	return backup.Source{Checkpoint: dir, Version: o.Version}, func(made bool) {
		err := error(nil)
		if !made {
			err = errUnmade
		}
		d.end(ctx, e, err)
		// What stays is removed when the directory is opened.
		_ = errors.Join(e.RemoveCheckpoint(dir), e.Close())
	}, nil
}
