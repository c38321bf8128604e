package couchhttp

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/worktime"
)

// LastSeq returns the newest sequence of a scope.
func LastSeq(ctx context.Context, s store.Scope) (q store.Seq, err error) {
	err = s.View(ctx, func(v *store.Reader) error {
		q, err = v.LastSeq()
		return err
	})
	return q, err
}

// SequenceText takes the sequence out of the other forms that clients send: a
// JSON string, or the array [N,"opaque"] of old Cloudant clusters.
func SequenceText(s string) string {
	var text string
	if json.Unmarshal([]byte(s), &text) == nil {
		return text
	}
	var pair []json.RawMessage
	if json.Unmarshal([]byte(s), &pair) != nil || len(pair) != 2 {
		return s
	}
	if json.Unmarshal(pair[1], &text) != nil {
		return s
	}
	return string(pair[0]) + "-" + text
}

// SeqHeader is the header with the sequence that a write was given, the highest of several.
const SeqHeader = "X-Sectional-Seq"

var errNotSeen = dberr.New(dberr.Unavailable, "min_seq_not_seen", "The sequence in `min_seq` has not been seen here yet.").After(time.Second)

// awaitSeq lets a request that names a sequence in min_seq wait until the
// database shows everything up to it. The database's sequences count, also in
// a partition: a client that wrote to one and reads in another has seen both.
// Errors: Invalid for what is not a sequence of this database, errNotSeen when it
// has not come in time or the server stops, the context's when the client goes.
func (r *Request) awaitSeq() error {
	text, given := r.Query.Get("min_seq")
	if !given || r.DB == nil {
		return nil
	}
	least, ok := r.Scope.OwnSeq(SequenceText(text))
	if !ok || text == "" {
		return BadRequest("The `min_seq` parameter must be a sequence of this database.")
	}
	whole := r.DB.Whole()
	seen, err := LastSeq(r.Ctx(), whole)
	if err != nil || seen >= least {
		return err
	}
	defer worktime.Pause(r.Ctx())()
	limit := time.NewTimer(r.API.Settings.Value().seqWait)
	defer limit.Stop()
	for seen < least {
		changed, leave := whole.Watch(seen)
		select {
		case <-changed:
		case <-r.Ctx().Done():
			err = r.Ctx().Err()
		case <-r.API.Done:
			err = errNotSeen
		case <-limit.C:
			err = errNotSeen
		}
		leave()
		if err == nil {
			seen, err = LastSeq(r.Ctx(), whole)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// AppendSeq appends the member seq to the result of a write, if the request
// asks for it.
func (r *Request) AppendSeq(b []byte, q store.Seq) []byte {
	if q == 0 || !r.Query.Is("seq") {
		return b
	}
	b = append(b, `,"seq":"`...)
	return append(r.Scope.AppendSeq(b, q), '"')
}
