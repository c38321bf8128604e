package couchapi

import (
	"errors"
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/replicate/schedule"
)

// replicateOnce answers POST /_replicate: at the end of a replication that ends,
// at once otherwise. It is for those who have said who they are: a replication
// connects to wherever it is told.
func replicateOnce(r *couchhttp.Request) error {
	s, err := r.Replicator()
	if err != nil {
		return err
	}
	body, err := r.JSONBody()
	if err != nil {
		return err
	}
	if _, err := couchhttp.MembersOf(body); err != nil {
		return err
	}
	a, err := s.Replicate(r.Ctx(), r.Caller, body)
	if errors.Is(err, schedule.ErrCancelled) {
		return r.JSON(http.StatusOK, []byte(`{"ok":"stopped"}`))
	}
	if err != nil {
		return replicationFailed(err)
	}
	if a.Elsewhere != "" {
		return r.AskServerFor(a.Elsewhere, body)
	}
	r.Set("X-Sectional-Replication", a.ID)
	if a.Result != nil {
		out, err := a.Result.AppendJSON(nil)
		if err != nil {
			return err
		}
		return r.JSON(http.StatusOK, out)
	}
	status := http.StatusOK
	if a.Running {
		status = http.StatusAccepted
	}
	return r.Build(status, func(b []byte) []byte {
		return append(couchhttp.AppendString(append(b, `{"ok":true,"_local_id":`...), a.ID), '}')
	})
}

// replicationFailed returns the error of a replication the status that CouchDB
// answers with: what went wrong elsewhere is a 500, with the reason.
func replicationFailed(err error) error {
	var peer *replicate.PeerError
	var e *dberr.Error
	switch {
	case errors.As(err, &e) && (e.Code == "db_not_found" || e.Kind == dberr.Exists):
		return &dberr.Error{Kind: dberr.Internal, Code: e.Code, Reason: schedule.Plain(e.Reason), Cause: err}
	case errors.As(err, &e):
		return &dberr.Error{Kind: e.Kind, Code: e.Code, Reason: schedule.Plain(e.Reason), RetryAfter: e.RetryAfter, Cause: err}
	case errors.As(err, &peer):
		code := peer.Code
		if code == "" {
			code = "replication_failed"
		}
		return &dberr.Error{Kind: dberr.Internal, Code: code, Reason: schedule.Reason(err), Cause: err}
	}
	return err
}
