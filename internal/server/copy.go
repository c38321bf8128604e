package server

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvcopy"
	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/store"
)

// CopyOptions say which data to copy where. A place is a data directory, or a PostgreSQL
// server by its URL.
type CopyOptions struct {
	From, To string
	JSON     bool           // print the result as a line of JSON
	Out      io.Writer      // for the result
	Err      io.Writer      // for warnings
	Progress *progress.Line // shows how far it is
}

// Copied is the result of a copy.
type Copied struct {
	To       string `json:"to"`
	Rows     int64  `json:"rows"`
	Bytes    int64  `json:"bytes"`
	Checksum string `json:"checksum"`
}

// Copy copies the data of a server that does not run from one engine to another: documents with
// their sequences, indexes, users, jobs, and the configuration that was set over HTTP. The
// source is only read. A copy that was interrupted goes on when it is started again.
func Copy(ctx context.Context, o CopyOptions) (err error) {
	defer o.Progress.Clear()
	maskOthers()
	from, err := openPlace(ctx, o.From, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := openPlace(ctx, o.To, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	act := commandLine("sectional copy", nil, "", o.Err).from(from.name)
	sum, err := store.Copy(ctx, from, to, store.CopyOptions{
		Progress: o.show,
		Finish: func(ctx context.Context) error {
			err := carryConfiguration(from, to)
			if err == nil {
				act.leave(ctx, to, http.StatusOK)
			}
			return err
		},
	})
	if err != nil {
		return fmt.Errorf("copying to %s: %w%s", to.name, err, goesOn(err))
	}
	return o.report(Copied{To: to.name, Rows: sum.Rows, Bytes: sum.Bytes, Checksum: hex.EncodeToString(sum.Checksum[:])})
}

// goesOn says that a copy can be started again, where that helps.
func goesOn(err error) string {
	switch {
	case dberr.Is(err, dberr.Full):
		return "\nMake room, and start the same copy again: it goes on."
	case errors.Is(err, kv.ErrAway), dberr.Is(err, dberr.UnknownOutcome), errors.Is(err, context.Canceled):
		return "\nStart the same copy again: it goes on."
	}
	return ""
}

// show draws how far a copy is.
func (o *CopyOptions) show(step kvcopy.Step, done kvcopy.Sum) {
	o.Progress.Show("%s: %d rows, %s", step, done.Rows, progress.Size(done.Bytes))
}

func (o *CopyOptions) report(c Copied) error {
	out := o.Progress.Above(o.Out)
	if o.JSON {
		return json.NewEncoder(out).Encode(c)
	}
	_, err := fmt.Fprintf(out, "%s has everything: %d rows of %d bytes, read back and compared.\n", c.To, c.Rows, c.Bytes)
	return err
}

// carryConfiguration brings what was set over HTTP to the target: from a file or rows into
// a file or rows.
func carryConfiguration(from, to *place) (err error) {
	var text string
	if from.local != "" {
		text, err = config.SharedPart(from.local)
	} else {
		text, _, err = store.ConfigurationIn(from).Read()
	}
	if err != nil {
		return err
	}
	if to.local != "" {
		return config.WriteLocal(to.local, text)
	}
	at := store.ConfigurationIn(to)
	version, err := at.Version()
	if err != nil {
		return err
	}
	return at.Write(text, version)
}
