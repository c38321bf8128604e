package server

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi/admin"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvcopy"
	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/subscribe"
)

// CopyOptions say which data to copy where. A place is a data directory, or a PostgreSQL
// server by its URL.
type CopyOptions struct {
	CopyRequest
	From     string
	JSON     bool           // tell what came of it as lines of JSON
	Out      io.Writer      // for what came of it
	Err      io.Writer      // for what it waits for
	Progress *progress.Line // shows how far it came
}

// CopyRequest is what a running server is asked for that is to copy its own data.
type CopyRequest struct {
	To        string   `json:"to"`
	Databases []string `json:"databases,omitempty"` // none: everything
	Keep      bool     `json:"keep,omitempty"`      // the source goes on
	DryRun    bool     `json:"dry_run,omitempty"`   // only look whether the target takes it
}

// Copied is what came of a copy, of one database or of everything.
type Copied struct {
	Database string        `json:"database,omitempty"`
	To       string        `json:"to"`
	DryRun   bool          `json:"dry_run,omitempty"`
	Moved    bool          `json:"moved"`
	Rows     int64         `json:"rows"`
	Bytes    int64         `json:"bytes"`
	Checksum string        `json:"checksum,omitempty"`
	Counts   *store.Counts `json:"counts,omitempty"`
	Fenced   float64       `json:"fenced_seconds"`
	Left     []string      `json:"left,omitempty"` // databases of which other copies have left a part at the target
}

// Copy copies databases or everything from one engine to another: documents with their
// sequences, indexes, users, jobs, and with everything the configuration that was set over
// HTTP. A server that runs on a data directory does it itself, and serves meanwhile; so do
// all that run on a PostgreSQL server. A copy that was interrupted goes on when it is
// started again.
func Copy(ctx context.Context, o CopyOptions) (err error) {
	defer o.Progress.Clear()
	tell := func(c Copied) error { return o.tell(c) }
	say := func(text string) { fmt.Fprintln(o.Progress.Above(o.Err), text) }
	asked, err := askToCopy(ctx, o, tell, say)
	if asked {
		return err
	}
	maskOthers()
	from, err := openPlace(ctx, o.From, true, o.Keep || o.DryRun)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	k := copying{CopyRequest: o.CopyRequest, from: from.Engine, local: from.local, show: o.show(), tell: tell, say: say}
	if o.DryRun {
		return k.run(ctx)
	}
	k.deed, k.source = commandLine("sectional copy", o.Databases, shownPlace(o.To), o.Err), from.name
	if here := k.deed; !o.Keep || from.local == "" { // a directory that goes on is only read
		here.begin(ctx, from)
		defer func() { here.end(ctx, from, err) }()
	}
	return k.run(ctx)
}

// show returns the function that draws how far a copy has come.
func (o *CopyOptions) show() func(copyStep) {
	var step kvcopy.Step
	var since time.Time
	return func(s copyStep) {
		if s.Step != step {
			step, since = s.Step, time.Now()
		}
		what := "everything"
		if s.Database != "" {
			what = s.Database
		}
		text := fmt.Sprintf("%s %s: %d rows, %d MB", s.Step, what, s.Rows, s.Bytes>>20)
		if s.AllBytes > s.Bytes && s.Bytes > 0 {
			left := time.Duration(float64(time.Since(since)) / float64(s.Bytes) * float64(s.AllBytes-s.Bytes))
			text += fmt.Sprintf(" of %d MB, %s left", s.AllBytes>>20, left.Round(time.Second))
		}
		o.Progress.Show("%s", text)
	}
}

func (o *CopyOptions) tell(c Copied) error {
	out := o.Progress.Above(o.Out)
	if o.JSON {
		return json.NewEncoder(out).Encode(c)
	}
	what := "everything"
	if c.Database != "" {
		what = "the database " + c.Database
	}
	var text string
	switch {
	case c.DryRun:
		text = fmt.Sprintf("%s takes %s: %d rows of %d bytes.", c.To, what, c.Rows, c.Bytes)
	case c.Rows == 0 && c.Moved:
		text = fmt.Sprintf("%s has %s, which had been copied before.", c.To, what)
	default:
		text = fmt.Sprintf("%s has %s: %d rows of %d bytes, read back and compared", c.To, what, c.Rows, c.Bytes)
		if c.Counts != nil {
			text += fmt.Sprintf("; %d documents, %d tombstones, sequence %d", c.Counts.Documents, c.Counts.Tombstones, c.Counts.Seq)
		}
		text += fmt.Sprintf(". Writers waited for %.1f s.", c.Fenced)
	}
	for _, name := range c.Left {
		text += fmt.Sprintf("\nA part of the database %s is there too, of a copy that was interrupted or is being made. To remove it: sectional copies --abandon --database '%s' '%s'", name, name, c.To)
	}
	_, err := fmt.Fprintln(out, text)
	return err
}

// copyStep is how far a copy has come.
type copyStep struct {
	Step     kvcopy.Step `json:"step"`
	Database string      `json:"database,omitempty"`
	Rows     int64       `json:"rows"`
	Bytes    int64       `json:"bytes"`
	AllBytes int64       `json:"all_bytes"`
}

// copying is a copy that is being made.
type copying struct {
	CopyRequest
	from   kv.Engine
	local  string       // the source's file with what was set over HTTP; "": it has rows of it
	deed   deed         // for the audit log of the target
	source string       // what is copied, as anybody may read it
	serves *store.Store // that is open on it; nil: none is
	show   func(copyStep)
	tell   func(Copied) error
	say    func(text string) // something that people want to know

	to      *place
	left    []string  // databases of which other copies have left a part there
	fenced  time.Time // when writers were kept out
	stepped bool      // something was done in this attempt
	at      atomic.Pointer[copyStep]
}

func (k *copying) run(ctx context.Context) (err error) {
	if k.to, err = openPlace(ctx, k.To, false, false); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.to.Close()) }()
	there := k.deed.from(k.source)
	there.begin(ctx, k.to)
	defer func() { there.end(ctx, k.to, err) }()
	found, err := store.CopiesIn(ctx, k.to)
	k.left = slices.DeleteFunc(found.Here, func(name string) bool { return slices.Contains(k.Databases, name) })
	if err == nil && len(k.Databases) == 0 {
		err = k.patiently(ctx, k.everything)
	}
	for _, name := range k.Databases {
		if err == nil {
			err = k.patiently(ctx, func(ctx context.Context) error { return k.database(ctx, name) })
		}
	}
	if err != nil {
		return fmt.Errorf("copying to %s: %w", k.to.name, err)
	}
	return nil
}

// options are those that copies have in common.
func (k *copying) options(database string) kvcopy.Options {
	return kvcopy.Options{Describe: keyspace.Print, Progress: func(step kvcopy.Step, done, all kvcopy.Sum) {
		if k.stepped = true; step == kvcopy.Finishing {
			k.fenced = time.Now()
		}
		s := copyStep{step, database, done.Rows, done.Bytes, all.Bytes}
		k.at.Store(&s)
		k.show(s)
	}}
}

// report tells what came of a copy.
func (k *copying) report(database string, sum kvcopy.Sum, counts *store.Counts) error {
	c := Copied{Database: database, To: k.to.name, DryRun: k.DryRun, Moved: !k.Keep && !k.DryRun, Rows: sum.Rows, Bytes: sum.Bytes, Counts: counts}
	if !k.DryRun && sum.Rows > 0 {
		c.Checksum, c.Fenced = hex.EncodeToString(sum.Checksum[:]), time.Since(k.fenced).Seconds()
	}
	if database == "" || database == k.Databases[len(k.Databases)-1] {
		c.Left = k.left
	}
	return k.tell(c)
}

// everything copies a whole store.
func (k *copying) everything(ctx context.Context) error {
	c, err := store.PrepareStoreCopy(ctx, k.from, k.to, apart)
	if err != nil {
		return err
	}
	o := k.options("")
	o.Apart = func(key []byte) bool { return store.IsSeal(key) || apart(key) }
	if k.DryRun {
		sum, err := kvcopy.Survey(ctx, k.from, k.to, o)
		return errors.Join(err, k.reportIf(err, "", sum, nil))
	}
	if c.Moved {
		if err := c.Finish(ctx, k.to, kvcopy.Settled); err != nil {
			return err
		}
		return k.report("", kvcopy.Sum{}, nil)
	}
	o.Begin = func(ctx context.Context, _ kvcopy.Sum) error {
		if err := c.Begin(ctx, k.to, kvcopy.Settled); err != nil {
			return err
		}
		return k.carryConfiguration()
	}
	o.Finish = func(ctx context.Context, t kv.Tracking, _ kvcopy.Sum) error {
		err := k.carryConfiguration()
		if err == nil && k.Keep {
			err = store.ForkAll(ctx, k.to, kvcopy.Settled, true, func(number uint64) error { return k.part(ctx, number, 0) })
		} else if err == nil {
			if err = store.CarryActs(ctx, k.from, k.to, kvcopy.Settled); err == nil {
				err = c.Leave(ctx, store.Refusing(t, store.MovedTo(k.to.name)), k.to.name)
			}
		}
		if err != nil {
			return err
		}
		return c.Finish(ctx, k.to, kvcopy.Settled)
	}
	sum, err := k.copy(ctx, "", o)
	return errors.Join(err, k.reportIf(err, "", sum, nil))
}

// copy copies rows, as a task that can be seen.
func (k *copying) copy(ctx context.Context, database string, o kvcopy.Options) (sum kvcopy.Sum, err error) {
	err = k.tasked(ctx, database, func() error {
		sum, err = kvcopy.Copy(ctx, k.from, k.to, o)
		return err
	})
	return sum, err
}

func (k *copying) reportIf(err error, database string, sum kvcopy.Sum, counts *store.Counts) error {
	if err != nil {
		return nil
	}
	return k.report(database, sum, counts)
}

// database copies one database into a store that may have others.
func (k *copying) database(ctx context.Context, name string) error {
	c, err := store.PrepareCopy(ctx, k.from, k.to, name)
	if err != nil {
		return err
	}
	o := k.options(name)
	o.From, o.To = c.From, c.To
	if k.DryRun {
		sum, err := kvcopy.Survey(ctx, k.from, k.to, o)
		return errors.Join(err, k.reportIf(err, name, sum, nil))
	}
	if c.Moved {
		if err := c.Finish(ctx, k.from, k.to, kvcopy.Settled, false); err != nil {
			return err
		}
		if err := c.Arrived(ctx, k.from, kvcopy.Settled); err != nil {
			return err
		}
		return k.report(name, kvcopy.Sum{}, nil)
	}
	var counts store.Counts
	o.Begin = func(ctx context.Context, _ kvcopy.Sum) error { return c.Begin(ctx, k.to, kvcopy.Settled) }
	o.Finish = func(ctx context.Context, t kv.Tracking, _ kvcopy.Sum) (err error) {
		if counts, err = c.Counted(ctx, k.from, k.to); err != nil {
			return cmp.Or(t.Fence(ctx), err) // who is no longer kept out has written
		}
		if !k.Keep {
			err = k.leave(ctx, c, t)
		} else {
			err = k.part(ctx, c.Target(), c.Incarnation())
		}
		if err != nil {
			return err
		}
		return c.Finish(ctx, k.from, k.to, kvcopy.Settled, k.Keep)
	}
	sum, err := k.copy(ctx, name, o)
	if err == nil && !k.Keep {
		err = c.Arrived(ctx, k.from, kvcopy.Settled)
	}
	return errors.Join(err, k.reportIf(err, name, sum, &counts))
}

// part has the subscriptions of a copy, whose source goes on, wait until somebody wants them there: those of the source
// deliver; and forgets what those have told who pushed there.
func (k *copying) part(ctx context.Context, number, was uint64) error {
	err := subscribe.Disable(ctx, k.to, kvcopy.Settled, number,
		"This is a copy of a database that has gone on, which delivers. A change of the subscription ends this state.")
	if err == nil {
		err = store.ForgetPushes(ctx, k.to, kvcopy.Settled, number, was)
	}
	return err
}

// leave takes the database out of the source.
func (k *copying) leave(ctx context.Context, c *store.DatabaseCopy, t kv.Tracking) error {
	if k.serves != nil {
		k.serves.Depart(c, k.to.name)
		defer k.serves.Departed(c)
	}
	return c.Leave(ctx, store.Refusing(t, nil), k.to.name)
}

// apart are the rows that stay behind: of servers and their tasks, which are others at the target, and of
// the configuration and acts that wait for the audit log, which are carried over by themselves.
func apart(key []byte) bool {
	return store.IsConfiguration(key) || store.IsServer(key) || store.IsAct(key) || admin.IsToldTask(key)
}

// carryConfiguration brings what was set over HTTP to the target: from a file or rows into
// a file or rows.
func (k *copying) carryConfiguration() (err error) {
	var text string
	if k.local != "" {
		text, err = config.SharedPart(k.local)
	} else {
		text, _, err = store.ConfigurationIn(k.from).Read()
	}
	if err != nil {
		return err
	}
	if k.to.local != "" {
		return config.WriteLocal(k.to.local, text)
	}
	at := store.ConfigurationIn(k.to)
	version, err := at.Version()
	if err != nil {
		return err
	}
	return at.Write(text, version)
}
