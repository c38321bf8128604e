package couchapi

import (
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
)

// seqHeader tells the sequence that a write was given, the highest of several.
const seqHeader = "X-Sectional-Seq"

var errNotSeen = dberr.New(dberr.Unavailable, "min_seq_not_seen", "The sequence in `min_seq` has not been seen here yet.").After(time.Second)

// awaitSeq lets a request that names a sequence in min_seq wait until the
// database shows everything up to it. The database's sequences count, also in
// a partition: a client that wrote to one and reads in another has seen both.
// Errors: Invalid for what is no sequence of this database, errNotSeen when it
// has not come in time or the server stops, the context's when the client goes.
func (r *request) awaitSeq() error {
	text, given := r.Query.Get("min_seq")
	if !given || r.db == nil {
		return nil
	}
	least, ok := r.scope.OwnSeq(sequenceText(text))
	if !ok || text == "" {
		return badRequest("The `min_seq` parameter must be a sequence of this database.")
	}
	whole := r.db.Whole()
	seen, err := lastSeq(r.Ctx(), whole)
	if err != nil || seen >= least {
		return err
	}
	limit := time.NewTimer(r.api.settings.Value().seqWait)
	defer limit.Stop()
	for seen < least {
		changed, leave := whole.Watch(seen)
		select {
		case <-changed:
		case <-r.Ctx().Done():
			err = r.Ctx().Err()
		case <-r.api.Done:
			err = errNotSeen
		case <-limit.C:
			err = errNotSeen
		}
		leave()
		if err == nil {
			seen, err = lastSeq(r.Ctx(), whole)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// appendSeq appends the member seq to the result of a write, if the request
// asks for it.
func (r *request) appendSeq(b []byte, q store.Seq) []byte {
	if q == 0 || !r.Query.Is("seq") {
		return b
	}
	b = append(b, `,"seq":"`...)
	return append(r.scope.AppendSeq(b, q), '"')
}
