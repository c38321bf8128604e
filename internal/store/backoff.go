package store

import (
	"context"
	"time"

	"github.com/sectional/sectional/internal/kv"
)

// maxBackoff is the longest rest.
const maxBackoff = 50 * time.Millisecond

// backoff rests before a read looks once more for a state of its databases that stays, longer
// each time: what a commit of this process was told of definitions may be a moment ahead of
// what can be read. The first two looks need no rest. ctx ends it early, with an error.
func backoff(ctx context.Context, try int) error {
	if try < 2 {
		return nil
	}
	kv.Pause(ctx, min(maxBackoff, time.Millisecond<<(try-2)))
	return ctx.Err()
}
