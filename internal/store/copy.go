package store

import (
	"bytes"
	"context"
	"errors"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvcopy"
	"github.com/sectional/sectional/internal/packed"
)

// CopyOptions are what a copy is given besides the engines; see kvcopy.Options.
type CopyOptions struct {
	Finish   func(context.Context) error
	Progress func(kvcopy.Step, kvcopy.Sum)
}

var (
	errStarted = dberr.New(dberr.Conflict, "", "A server was started on the source while it was copied. Stop it, and start the copy again.")
	errRunning = "The server %s runs on the source. Stop all servers, and start the copy again. A server that was killed counts as running for %v."
)

// Copy copies a whole store, on which no server runs, into an empty engine: a server that
// opens the target afterwards is the same one, with its UUID, its secret and its sequences. What
// remains at the source are the rows of its servers and of the configuration, which
// the caller brings over. Errors: Conflict if a server runs on the source; Unavailable for a
// source of another format; and those of kvcopy.Copy.
func Copy(ctx context.Context, from, to kv.Engine, o CopyOptions) (sum kvcopy.Sum, err error) {
	starts, err := stopped(ctx, from)
	if err != nil {
		return sum, dberr.Wrap("store.Copy", err)
	}
	sum, err = kvcopy.Copy(ctx, from, to, kvcopy.Options{
		Seal: metaKey("store"), Marker: unfinished, Progress: o.Progress,
		Skip: func(key []byte) bool {
			return bytes.HasPrefix(key, keyspace.Server.Key(0)) || isConfiguration(key)
		},
		Finish: func(ctx context.Context) error {
			now, err := stopped(ctx, from)
			if err == nil && now != starts {
				err = errStarted
			}
			if err != nil {
				return err
			}
			return o.Finish(ctx)
		},
	})
	return sum, dberr.Wrap("store.Copy", err)
}

// stopped checks that no server runs on a store, and returns how often one has started.
func stopped(ctx context.Context, e kv.Engine) (starts uint64, err error) {
	now, err := kv.Time(ctx, e)
	if err != nil {
		return 0, err
	}
	err = e.View(ctx, func(v kv.Snapshot) error {
		if err := wantFormat(v); err != nil {
			return err
		}
		all, err := readServers(v)
		if err != nil {
			return err
		}
		for _, o := range all {
			if o.Lives(now) {
				return dberr.New(dberr.Conflict, "", errRunning, o.Name, serverLife)
			}
		}
		starts, err = counter(v.Get(metaKey(metaServers)))
		return err
	})
	return starts, err
}

// wantFormat checks that a store has the format of this build.
func wantFormat(v kv.Snapshot) error {
	value, err := v.Get(metaKey("store"))
	if errors.Is(err, kv.ErrNotFound) {
		return errNoStore
	}
	if err != nil {
		return err
	}
	u := packed.Read(value)
	newest := currentFormat(formatSteps)
	switch found := u.Byte(); {
	case found == unfinished:
		return dberr.New(dberr.Unavailable, "", reasonUnfinished)
	case found > newest:
		return dberr.New(dberr.Unavailable, "", reasonNewer, found, newest)
	case found < newest:
		return dberr.New(dberr.Unavailable, "", reasonOlder, found, newest)
	}
	return nil
}
