package replicate

import (
	"context"
	"errors"
)

// Run replicates until the target has what the source had (or until ctx ends,
// for a continuous task). A later run goes on where the checkpoints say.
//
// Errors: *dberr.Error: NotFound `db_not_found` ("could not open URL/", which
// _replicate answers with 500), Unauthorized or Forbidden `unauthorized`
// ("unauthorized to access or create database URL/"), NotFound `not_found` for a
// missing filter, Conflict `restarted` when a peer restarted or a database was
// made anew (Run again), Invalid `bad_peer` for a peer that does not keep to the
// protocol; *PeerError with what could not be had of a peer after all retries;
// the context's. What was written up to the last checkpoint stays.
func (t *Task) Run(ctx context.Context) (*Result, error) {
	return nil, errors.New("not yet")
}
