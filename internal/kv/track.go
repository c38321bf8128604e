package kv

import "context"

// Tracker is implemented by engines that can tell what is written to them, by whomever, so
// that a copy can be made meanwhile.
type Tracker interface {
	// Track begins to note what is written in r: all that no View shows that begins after
	// it has returned. There is one Tracking at a time. Errors: Conflict if there is one.
	Track(ctx context.Context, r Range) (Tracking, error)
}

// Tracking tells what is written in a range, and can keep writers out of it.
type Tracking interface {
	// Written returns keys that were written and ranges that were discarded since the last
	// call. What a View shows is told at the latest when Fence has returned, and perhaps
	// told twice.
	Written(ctx context.Context) (keys [][]byte, discarded []Range, err error)
	// Fence has transactions that write in the range wait, for so long as the engine finds
	// bearable, and then fail with Unavailable. When it returns nobody writes there any
	// more, and what was written is what Views show that begin then. A second Fence holds
	// the first for as long again, and says whether it has stood all the time: if it fell,
	// the error has context.DeadlineExceeded among its causes, and another may be put up.
	Fence(ctx context.Context) error
	// Lower lets writers go on.
	Lower(ctx context.Context) error
	// Through is the engine's Update, and not kept out. With a refusal whoever writes in the
	// range gets that from the commit on, and perhaps when it is unknown whether there was
	// one: as long as the engine is open in this process, or where it is shared, in all of
	// them. Without one the fence may be down after the commit: who writes then meets what
	// fn has written.
	Through(ctx context.Context, fn func(Txn) error, refusal error) error
	// End ends it, and lowers a fence. A refusal stays.
	End() error
}
