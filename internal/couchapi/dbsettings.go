package couchapi

import (
	"bytes"
	"context"
	"net/http"
	"strconv"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
)

// getSecurity answers GET /{db}/_security.
func getSecurity(r *request) error { return r.json(http.StatusOK, bytes.Clone(r.db.Security())) }

// putSecurity answers PUT /{db}/_security.
func putSecurity(r *request) error {
	if r.api.auth.IsUsersDB(r.db.Name()) {
		if err := r.api.auth.CheckUsersSecurity(); err != nil {
			return err
		}
	}
	raw, err := r.Body(nil)
	if err != nil {
		return err
	}
	s, err := auth.ParseSecurity(raw)
	if err != nil {
		return err
	}
	if s.HasRules() && !r.db.Partitioned() {
		return badRequest("Rules in `partitions` need a partitioned database.")
	}
	if err := r.db.SetSecurity(r.Ctx(), s.JSON()); err != nil {
		return err
	}
	return r.ok(http.StatusOK)
}

// getRevsLimit answers GET /{db}/_revs_limit.
func getRevsLimit(r *request) error { return r.number(r.db.RevsLimit()) }

// getPurgedLimit answers GET /{db}/_purged_infos_limit.
func getPurgedLimit(r *request) error { return r.number(r.db.PurgedInfosLimit()) }

func (r *request) number(n int) error {
	return r.json(http.StatusOK, strconv.AppendInt(nil, int64(n), 10))
}

// putRevsLimit answers PUT /{db}/_revs_limit.
func putRevsLimit(r *request) error {
	return r.setLimit("Rev limit has to be an integer", r.db.SetRevsLimit)
}

// putPurgedLimit answers PUT /{db}/_purged_infos_limit.
func putPurgedLimit(r *request) error {
	return r.setLimit("`purged_infos_limit` must be positive integer", r.db.SetPurgedInfosLimit)
}

// setLimit sets a number that is the whole body.
func (r *request) setLimit(reason string, set func(context.Context, int) error) error {
	raw, err := r.Body(nil)
	if err != nil {
		return err
	}
	if err := checkJSON(raw); err != nil {
		return err
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(raw)))
	if err != nil || n < 1 || n > 1<<31-1 {
		return dberr.New(dberr.Invalid, "bad_request", reason)
	}
	if err := set(r.Ctx(), n); err != nil {
		return err
	}
	return r.ok(http.StatusOK)
}
