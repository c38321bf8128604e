package admin

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
)

// PartitionForgotten answers /{db}/_partition, which PouchDB takes for the server
// of a partition's database. It gives no uuid: from one PouchDB would make the
// same names for the checkpoints of equally named partitions of two databases.
func PartitionForgotten(*couchhttp.Request) error {
	return dberr.New(dberr.Invalid, "bad_request", "invalid_partition_req")
}

func appendPartitionSizes(b []byte, t store.Totals) []byte {
	b = couchhttp.AppendCount(b, `,"sizes":{"active":`, t.Active)
	b = couchhttp.AppendCount(b, `,"external":`, t.External)
	return append(b, '}')
}

// DropPartition answers DELETE /{db}/_partition/{partition}: the partition is
// gone from every endpoint when the answer comes, its rows are removed in the
// background.
func DropPartition(r *couchhttp.Request) error {
	tombstones := false
	if v, ok := r.Query.Get("tombstones"); ok {
		var err error
		if tombstones, err = couchhttp.ParseBool(v); err != nil {
			return err
		}
	}
	if err := r.DB.DropPartition(r.Ctx(), cmp.Or(r.Scope.Partition(), r.Scope.Tenant()), tombstones); err != nil {
		return err
	}
	return r.OK(http.StatusAccepted)
}

// partitionsQuery is what GET /{db}/_partitions takes of a query.
type partitionsQuery struct {
	sort       store.Ranking
	descending bool
	limit      int
	bookmark   string
}

// The rows of _partitions: without a limit, and the most one answer has.
const (
	defaultPartitions = 100
	maxPartitions     = 2000
)

var partitionsParams = couchhttp.Params[partitionsQuery]{
	"descending": couchhttp.BoolParam(func(q *partitionsQuery) *bool { return &q.descending }),
	"limit":      couchhttp.CountParam(func(q *partitionsQuery) *int { return &q.limit }),
	"bookmark":   couchhttp.TextParam(func(q *partitionsQuery) *string { return &q.bookmark }),
	"sort": func(q *partitionsQuery, v string) error {
		switch q.sort = store.Ranking(v); q.sort {
		case store.ByExternal, store.ByActive, store.ByDocs, store.ByWrites, store.ByLastWrite:
			return nil
		}
		return couchhttp.QueryError("Invalid value for `sort`: expected external, active, docs, writes or last_write.")
	},
}

// ListPartitions answers GET /{db}/_partitions: a page of the partitions by
// name, or of a league table.
func ListPartitions(r *couchhttp.Request) error {
	if !r.DB.Partitioned() {
		return dberr.New(dberr.Invalid, "bad_request", "database is not partitioned")
	}
	q := partitionsQuery{limit: defaultPartitions}
	if err := partitionsParams.Read(r.Query, &q); err != nil {
		return err
	}
	if q.limit > maxPartitions {
		return couchhttp.QueryError("Limit is too large, must not exceed %d", maxPartitions)
	}
	if q.limit == 0 {
		return couchhttp.QueryError("`limit` must be a positive integer.")
	}
	rows, next, lag, err := partitions(r, &q)
	if err != nil {
		return err
	}
	return r.Build(http.StatusOK, func(b []byte) []byte {
		b = append(b, `{"rows":[`...)
		for i := range rows {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendPartitionRow(append(b, '\n'), &rows[i])
		}
		b = append(b, "\n],\"bookmark\":"...)
		b = couchhttp.AppendString(b, next)
		b = append(b, `,"lag_ms":`...)
		return append(strconv.AppendInt(b, lag.Milliseconds(), 10), '}')
	})
}

// partitions lists those of the database, or those that rules let the caller see.
func partitions(r *couchhttp.Request, q *partitionsQuery) (rows []store.PartitionTotals, next string, lag time.Duration, err error) {
	if r.Ruled == nil {
		return r.DB.Partitions(r.Ctx(), q.sort, q.descending, q.limit, q.bookmark)
	}
	own, err := r.Ruled.Partitions(r.Caller)
	if err != nil {
		return nil, "", 0, err
	}
	l := store.OwnList{Of: own, By: q.sort, Descending: q.descending, Limit: q.limit}
	rows, next, err = r.DB.OwnPartitions(r.Ctx(), l, q.bookmark)
	return rows, next, 0, err
}

func appendPartitionRow(b []byte, p *store.PartitionTotals) []byte {
	b = append(b, `{"partition":`...)
	b = couchhttp.AppendString(b, string(p.Partition))
	b = couchhttp.AppendCount(b, `,"doc_count":`, p.Docs)
	b = couchhttp.AppendCount(b, `,"doc_del_count":`, p.Deleted)
	b = appendPartitionSizes(b, p.Totals)
	b = append(b, `,"writes_per_hour":`...)
	b = strconv.AppendFloat(b, p.Writes, 'f', 2, 64)
	b = append(b, `,"last_write":`...)
	if p.LastWrite.IsZero() {
		return append(b, "null}"...)
	}
	b = p.LastWrite.UTC().AppendFormat(append(b, '"'), time.RFC3339Nano)
	return append(b, `"}`...)
}
