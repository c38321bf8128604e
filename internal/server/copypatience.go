package server

import (
	"context"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// A copy that loses PostgreSQL, at either end, waits until it is back and begins again. What is written at a source is
// noted for a connection, and with that the notes are lost; so all of both sides is read again, and what differs is
// copied.

const (
	// lostFor is how long it waits for one that is away, and lostTimes how often.
	lostFor   = 10 * time.Minute
	lostTimes = 100

	// The pauses between attempts; the engine has waited for some seconds before the first.
	firstLost   = 100 * time.Millisecond
	longestLost = 5 * time.Second
)

const textLost = "PostgreSQL does not answer, or has ended the connection; the copy goes on when it is back."

// patiently has work done again as long as it fails because an engine is away. It says so once each time that it was
// there in between.
func (k *copying) patiently(ctx context.Context, work func(context.Context) error) error {
	var since time.Time
	pause := firstLost
	for times := 0; ; {
		k.stepped = false
		err := work(ctx)
		if !errors.Is(err, kv.ErrAway) && !dberr.Is(err, dberr.UnknownOutcome) || ctx.Err() != nil {
			return err
		}
		if since.IsZero() || k.stepped {
			since, pause = time.Now(), firstLost
			if times++; times > lostTimes {
				return err
			}
			k.say(textLost)
		}
		if time.Since(since) > lostFor {
			return err
		}
		kv.Pause(ctx, pause)
		pause = min(2*pause, longestLost)
	}
}
