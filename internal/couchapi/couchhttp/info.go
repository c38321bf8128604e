package couchhttp

import (
	"strconv"

	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// AppendInfo appends the information on a database, or on a partition, which has
// the same members and its name besides.
func (r *Request) AppendInfo(b []byte, s store.Scope) ([]byte, error) {
	t, err := s.Totals(r.Ctx())
	if err != nil {
		return nil, err
	}
	made, err := s.CreationTime(r.Ctx())
	if err != nil {
		return nil, err
	}
	db := s.Database()
	b = AppendStart(append(b, `{"instance_start_time":`...), made)
	b = append(b, `,"db_name":`...)
	b = AppendString(b, s.Name())
	if p := s.Partition(); p != "" {
		b = AppendString(append(b, `,"partition":`...), string(p))
	}
	b = append(b, `,"purge_seq":"`...)
	b = strconv.AppendUint(b, t.PurgeSeq, 10)
	b = append(b, `","update_seq":`...)
	b = AppendString(b, s.FormatSeq(t.Seq))
	b = AppendCount(b, `,"sizes":{"file":`, t.File)
	b = AppendCount(b, `,"external":`, t.External)
	b = AppendCount(b, `,"active":`, t.Active)
	b = append(b, `},"props":{`...)
	if s.Partitioned() {
		b = append(b, `"partitioned":true`...)
	}
	b = AppendCount(b, `},"doc_del_count":`, t.Deleted)
	b = AppendCount(b, `,"doc_count":`, t.Docs)
	b = append(b, `,"disk_format_version":8,"compact_running":`...)
	b = strconv.AppendBool(b, r.API.Tasks.Runs(CompactionOf(db.Name())))
	return append(b, `,"cluster":{"q":1,"n":1,"w":1,"r":1}}`...), nil
}

// Kinds of tasks.
const (
	databaseCompaction = "database_compaction"
	ViewCompaction     = "view_compaction"
	IndexerTask        = "indexer"
)

// CompactionOf is the compaction of a database.
func CompactionOf(database string) web.Job {
	return web.Job{Kind: databaseCompaction, Database: database}
}
