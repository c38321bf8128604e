package admin

import (
	"encoding/hex"
	"net/http"
	"strconv"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
)

// Uuids answers GET /_uuids.
func Uuids(r *couchhttp.Request) error {
	n := 1
	if v, ok := r.Query.Get("count"); ok {
		var err error
		if n, err = strconv.Atoi(v); err != nil || n < 0 {
			return dberr.New(dberr.Invalid, "bad_request", "count must be a positive integer")
		}
	}
	if int64(n) > r.API.Config.Snapshot().Int("uuids", "max_count", 1000) {
		return dberr.New(dberr.Invalid, "bad_request", "count parameter too large")
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = r.API.NewUUID()
	}
	r.Set("Cache-Control", "no-cache")
	r.Set("Pragma", "no-cache")
	r.Set("Expires", "Fri, 01 Jan 1990 00:00:00 GMT")
	r.Etag(hex.EncodeToString(couchhttp.RandomBytes(8)))
	return r.Build(http.StatusOK, func(b []byte) []byte {
		return append(couchhttp.AppendStrings(append(b, `{"uuids":`...), ids), '}')
	})
}
