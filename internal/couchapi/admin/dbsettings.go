package admin

import (
	"bytes"
	"context"
	"net/http"
	"strconv"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
)

// GetSecurity answers GET /{db}/_security.
func GetSecurity(r *couchhttp.Request) error {
	return r.JSON(http.StatusOK, bytes.Clone(r.DB.Security()))
}

// putSecurity answers PUT /{db}/_security.
func putSecurity(r *couchhttp.Request) error {
	if r.API.Auth.IsUsersDB(r.DB.Name()) {
		if err := r.API.Auth.CheckUsersSecurity(); err != nil {
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
	if s.HasRules() && !r.DB.Partitioned() {
		return couchhttp.BadRequest("Rules in `partitions` need a partitioned database.")
	}
	if err := r.DB.SetSecurity(r.Ctx(), s.JSON()); err != nil {
		return err
	}
	return r.OK(http.StatusOK)
}

// getRevsLimit answers GET /{db}/_revs_limit.
func getRevsLimit(r *couchhttp.Request) error { return number(r, r.DB.RevsLimit()) }

// getPurgedLimit answers GET /{db}/_purged_infos_limit.
func getPurgedLimit(r *couchhttp.Request) error { return number(r, r.DB.PurgedInfosLimit()) }

func number(r *couchhttp.Request, n int) error {
	return r.JSON(http.StatusOK, strconv.AppendInt(nil, int64(n), 10))
}

// putRevsLimit answers PUT /{db}/_revs_limit.
func putRevsLimit(r *couchhttp.Request) error {
	return setLimit(r, "Rev limit has to be an integer", r.DB.SetRevsLimit)
}

// putPurgedLimit answers PUT /{db}/_purged_infos_limit.
func putPurgedLimit(r *couchhttp.Request) error {
	return setLimit(r, "`purged_infos_limit` must be positive integer", r.DB.SetPurgedInfosLimit)
}

// setLimit sets a number that is the whole body.
func setLimit(r *couchhttp.Request, reason string, set func(context.Context, int) error) error {
	raw, err := r.Body(nil)
	if err != nil {
		return err
	}
	if err := couchhttp.CheckJSON(raw); err != nil {
		return err
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(raw)))
	if err != nil || n < 1 || n > 1<<31-1 {
		return dberr.New(dberr.Invalid, "bad_request", reason)
	}
	if err := set(r.Ctx(), n); err != nil {
		return err
	}
	return r.OK(http.StatusOK)
}
