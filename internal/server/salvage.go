package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/sectional/sectional/internal/backup"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/progress"
)

// SalvageOptions say what to salvage, and into which directory.
type SalvageOptions struct {
	From, To string
	JSON     bool           // tell what was found as JSON
	Out      io.Writer      // for what was found
	Err      io.Writer      // for what is wrong beside that; nil: nowhere
	Progress *progress.Line // shows how far it came
}

// salvaged is what is told of a salvage.
type salvaged struct {
	Data      string   `json:"data"`
	Databases int      `json:"databases"`
	Documents uint64   `json:"documents"` // deleted ones among them
	Rows      int      `json:"rows"`
	Tables    int      `json:"tables"`
	Logs      int      `json:"logs"`
	Unread    []string `json:"unread"`
	Sound     bool     `json:"sound"`
}

// Salvage rebuilds the data of a damaged directory, which it leaves as it is, into a new one, and checks that. It tells
// how much it has found and what could not be read. Errors: the new directory has something in it, nothing can be read, and
// what a check finds wrong with the new data, which is there then all the same.
func Salvage(ctx context.Context, o SalvageOptions) error {
	defer o.Progress.Clear()
	found, err := o.rebuild(ctx)
	if err != nil {
		return err
	}
	told := salvaged{Data: o.To, Rows: found.Rows, Tables: found.Tables, Logs: found.Logs, Unread: append([]string{}, found.Lost...)}
	documents := map[string]uint64{}
	wrong := checkData(ctx, o.To, EngineOptions{}, o.Progress, func(database string, n uint64) { documents[database] = n })
	told.Databases, told.Sound = len(documents), wrong == nil
	for _, n := range documents {
		told.Documents += n
	}
	if err := o.report(told); err != nil {
		return err
	}
	if wrong != nil {
		return fmt.Errorf("the data in %s is what could be read, but it is not sound: %w", o.To, wrong)
	}
	return nil
}

// report tells what was found, to programs or to people.
func (o *SalvageOptions) report(s salvaged) error {
	out := o.Progress.Above(o.Out)
	if o.JSON {
		return json.NewEncoder(out).Encode(s)
	}
	for _, line := range s.Unread {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	sound, unread := "", "All of them could be read."
	if s.Sound {
		sound = " They are sound."
	}
	if len(s.Unread) > 0 {
		unread = "What could not be read is named above."
	}
	_, err := fmt.Fprintf(out, "%s has %d documents in %d databases (%d rows), of %d tables and %d logs. %s%s\n", s.Data, s.Documents, s.Databases, s.Rows, s.Tables, s.Logs, unread, sound)
	return err
}

// rebuild writes what can be read into the new directory. While it is at it a file there keeps servers away.
func (o *SalvageOptions) rebuild(ctx context.Context) (found pebblekv.Salvaged, err error) {
	if err := o.want(); err != nil {
		return found, err
	}
	maskOthers()
	if err := keepPrivate(o.To, slog.New(slog.DiscardHandler)); err != nil {
		return found, err
	}
	unfinished := filepath.Join(o.To, backup.Restoring)
	if err := os.WriteFile(unfinished, nil, privateFile); err != nil {
		return found, err
	}
	e, err := pebblekv.Open(pebblekv.Options{Dir: o.To, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return found, err
	}
	found, err = pebblekv.Salvage(ctx, o.From, e, func(rows int) { o.Progress.Show("salvaged %d rows", rows) })
	if err == nil {
		err = o.configuration(&found)
	}
	if err == nil {
		commandLine("sectional salvage", nil, "", o.Err).from(o.From).end(ctx, e, nil)
	}
	if err = errors.Join(err, e.Close()); err != nil {
		return found, err
	}
	return found, os.Remove(unfinished)
}

// want refuses directories from or to which nothing can be salvaged.
func (o *SalvageOptions) want() error {
	if err := wantDirectory(o.From); err != nil {
		return err
	}
	if err := wantOwn(o.To); err != nil {
		return err
	}
	there, err := pebblekv.Exists(o.To)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case there:
		return fmt.Errorf("%s has data already: name a directory that is empty, or not there yet", o.To)
	}
	return nil
}

// configuration copies what was set over HTTP, administrators among it.
func (o *SalvageOptions) configuration(found *pebblekv.Salvaged) error {
	text, err := os.ReadFile(filepath.Join(o.From, localConfig))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		found.Lost = append(found.Lost, fmt.Sprintf("The configuration %s can't be read: %v", localConfig, err))
		return nil
	}
	return os.WriteFile(filepath.Join(o.To, localConfig), text, privateFile)
}
