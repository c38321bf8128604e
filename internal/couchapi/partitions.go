package couchapi

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
)

// partitionForgotten answers /{db}/_partition, which PouchDB takes for the server
// of a partition's database. It gives no uuid: from one PouchDB would make the
// same names for the checkpoints of equally named partitions of two databases.
func partitionForgotten(*request) error {
	return dberr.New(dberr.Invalid, "bad_request", "invalid_partition_req")
}

func appendPartitionSizes(b []byte, t store.Totals) []byte {
	b = appendCount(b, `,"sizes":{"active":`, t.Active)
	b = appendCount(b, `,"external":`, t.External)
	return append(b, '}')
}

// dropPartition answers DELETE /{db}/_partition/{partition}: the partition is
// gone from every endpoint when the answer comes, its rows are removed in the
// background.
func dropPartition(r *request) error {
	tombstones := false
	if v, ok := r.Query.Get("tombstones"); ok {
		var err error
		if tombstones, err = parseBool(v); err != nil {
			return err
		}
	}
	if err := r.db.DropPartition(r.Ctx(), cmp.Or(r.scope.Partition(), r.scope.Tenant()), tombstones); err != nil {
		return err
	}
	return r.ok(http.StatusAccepted)
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

var partitionsParams = params[partitionsQuery]{
	"descending": boolParam(func(q *partitionsQuery) *bool { return &q.descending }),
	"limit":      countParam(func(q *partitionsQuery) *int { return &q.limit }),
	"bookmark":   textParam(func(q *partitionsQuery) *string { return &q.bookmark }),
	"sort": func(q *partitionsQuery, v string) error {
		switch q.sort = store.Ranking(v); q.sort {
		case store.ByExternal, store.ByActive, store.ByDocs, store.ByWrites, store.ByLastWrite:
			return nil
		}
		return queryError("Invalid value for `sort`: expected external, active, docs, writes or last_write.")
	},
}

// listPartitions answers GET /{db}/_partitions: a page of the partitions by
// name, or of a league table.
func listPartitions(r *request) error {
	if !r.db.Partitioned() {
		return dberr.New(dberr.Invalid, "bad_request", "database is not partitioned")
	}
	q := partitionsQuery{limit: defaultPartitions}
	if err := partitionsParams.read(r.Query, &q); err != nil {
		return err
	}
	if q.limit > maxPartitions {
		return queryError("Limit is too large, must not exceed %d", maxPartitions)
	}
	if q.limit == 0 {
		return queryError("`limit` must be a positive integer.")
	}
	rows, next, lag, err := r.partitions(&q)
	if err != nil {
		return err
	}
	return r.build(http.StatusOK, func(b []byte) []byte {
		b = append(b, `{"rows":[`...)
		for i := range rows {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendPartitionRow(append(b, '\n'), &rows[i])
		}
		b = append(b, "\n],\"bookmark\":"...)
		b = appendString(b, next)
		b = append(b, `,"lag_ms":`...)
		return append(strconv.AppendInt(b, lag.Milliseconds(), 10), '}')
	})
}

// partitions lists those of the database, or those that rules let the caller see.
func (r *request) partitions(q *partitionsQuery) (rows []store.PartitionTotals, next string, lag time.Duration, err error) {
	if r.ruled == nil {
		return r.db.Partitions(r.Ctx(), q.sort, q.descending, q.limit, q.bookmark)
	}
	own, err := r.ruled.Partitions(r.Caller)
	if err != nil {
		return nil, "", 0, err
	}
	l := store.OwnList{Of: own, By: q.sort, Descending: q.descending, Limit: q.limit}
	rows, next, err = r.db.OwnPartitions(r.Ctx(), l, q.bookmark)
	return rows, next, 0, err
}

func appendPartitionRow(b []byte, p *store.PartitionTotals) []byte {
	b = append(b, `{"partition":`...)
	b = appendString(b, string(p.Partition))
	b = appendCount(b, `,"doc_count":`, p.Docs)
	b = appendCount(b, `,"doc_del_count":`, p.Deleted)
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
