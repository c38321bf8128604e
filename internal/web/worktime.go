package web

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/worktime"
)

// ErrTimeout says that a request took too long, in CouchDB's words.
var ErrTimeout error = dberr.New(dberr.Timeout, "timeout", "The request could not be processed in a reasonable amount of time.")

// watchWork begins to look how long the request works without sending anything. One that runs inside another is part of it.
func (r *Request) watchWork() {
	if r.Action.Bounded || r.work != nil {
		return
	}
	if limit := r.frame.options.Settings().WorkTime; limit > 0 {
		r.work = worktime.Begin(r.context, limit)
		r.context = r.work
	}
}

// inTime returns the error of a request that ended with err: ErrTimeout if it was ended because it worked too long. What ended
// for a reason of its own at that moment keeps it, and so does a commit of which nobody knows yet whether it is there.
func (r *Request) inTime(err error) error {
	if err == nil || !r.work.Over() {
		return err
	}
	if kind := dberr.KindOf(err); kind != dberr.Internal && (kind == dberr.UnknownOutcome || !errors.Is(err, context.Canceled)) {
		return err
	}
	r.frame.Metrics.overtime.Add(1)
	return ErrTimeout
}
