package admin

import (
	"context"
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/document"
)

// compact answers POST /{db}/_compact: the work goes on in the background.
func compact(r *couchhttp.Request) error {
	if err := r.EmptyOrJSON(); err != nil {
		return err
	}
	db := r.DB
	r.API.Tasks.Start(couchhttp.CompactionOf(db.Name()), "", func(ctx context.Context) error { return db.Compact(ctx) })
	return r.OK(http.StatusAccepted)
}

// CleanUp answers POST /{db}/_view_cleanup and its kin: nothing is orphaned.
func CleanUp(r *couchhttp.Request) error {
	if err := r.EmptyOrJSON(); err != nil {
		return err
	}
	return r.OK(http.StatusAccepted)
}

// fullCommit answers POST /{db}/_ensure_full_commit: what was acknowledged is
// on disk already.
func fullCommit(r *couchhttp.Request) error {
	if err := r.EmptyOrJSON(); err != nil {
		return err
	}
	made, err := r.Scope.CreationTime(r.Ctx())
	if err != nil {
		return err
	}
	return r.Build(http.StatusCreated, func(b []byte) []byte {
		return append(couchhttp.AppendStart(append(b, `{"ok":true,"instance_start_time":`...), made), '}')
	})
}

// shards answers GET /{db}/_shards: one range on one node.
func shards(r *couchhttp.Request) error {
	return r.JSON(http.StatusOK, []byte(`{"shards":{"`+wholeRange+`":["`+NodeName(r.API.Store)+`"]}}`))
}

// shardOf answers GET /{db}/_shards/{id}.
func shardOf(r *couchhttp.Request) error {
	id, err := document.ParseID(r.Arg("id"), 0)
	if err == nil && r.DB.Partitioned() {
		err = id.CheckPartitioned()
	}
	if err != nil {
		return err
	}
	return r.JSON(http.StatusOK, []byte(`{"range":"`+wholeRange+`","nodes":["`+NodeName(r.API.Store)+`"]}`))
}

const wholeRange = "00000000-ffffffff"

// syncShards answers POST /{db}/_sync_shards: there is one copy.
func syncShards(r *couchhttp.Request) error {
	if err := r.Drain(); err != nil {
		return err
	}
	return r.OK(http.StatusAccepted)
}
