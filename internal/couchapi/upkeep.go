package couchapi

import (
	"context"
	"net/http"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// compact answers POST /{db}/_compact: the work goes on in the background.
func compact(r *request) error {
	if err := r.emptyOrJSON(); err != nil {
		return err
	}
	db := r.db
	r.api.Tasks.Start(compactionOf(db.Name()), "", func(ctx context.Context) error { return db.Compact(ctx) })
	return r.ok(http.StatusAccepted)
}

// compactViews answers POST /{db}/_compact/{ddoc}: the engine gives back the space of
// what the rows of its views were, in the background.
func compactViews(r *request) error {
	if err := r.emptyOrJSON(); err != nil {
		return err
	}
	design, err := r.designNamed(r.arg("ddoc"))
	if err != nil {
		return err
	}
	s, err := r.designState(design)
	if err != nil {
		return err
	}
	db := r.db
	r.api.Tasks.Start(viewCompactionOf(db, design), string(design.ID), func(ctx context.Context) error {
		for _, rows := range s.rows {
			if err := db.CompactRows(ctx, rows); err != nil {
				return err
			}
		}
		return nil
	})
	return r.ok(http.StatusAccepted)
}

// viewCompactionOf is the compaction of a design document's views.
func viewCompactionOf(db *store.Database, design designFunctions) web.Job {
	return web.Job{Kind: viewCompaction, Database: db.Name(), About: string(design.ID)}
}

// cleanUp answers POST /{db}/_view_cleanup and its kin: nothing is orphaned.
func cleanUp(r *request) error {
	if err := r.emptyOrJSON(); err != nil {
		return err
	}
	return r.ok(http.StatusAccepted)
}

// fullCommit answers POST /{db}/_ensure_full_commit: what was acknowledged is
// on disk already.
func fullCommit(r *request) error {
	if err := r.emptyOrJSON(); err != nil {
		return err
	}
	made, err := r.scope.Made(r.Ctx())
	if err != nil {
		return err
	}
	return r.build(http.StatusCreated, func(b []byte) []byte {
		return append(appendStart(append(b, `{"ok":true,"instance_start_time":`...), made), '}')
	})
}

// emptyOrJSON asks for the content type of JSON and forgets the body.
func (r *request) emptyOrJSON() error {
	if err := r.requireJSON(); err != nil {
		return err
	}
	return r.Drain()
}

// shards answers GET /{db}/_shards: one range on one node.
func shards(r *request) error {
	return r.json(http.StatusOK, []byte(`{"shards":{"`+wholeRange+`":["`+NodeName+`"]}}`))
}

// shardOf answers GET /{db}/_shards/{id}.
func shardOf(r *request) error {
	id, err := document.ParseID(r.arg("id"), 0)
	if err == nil && r.db.Partitioned() {
		err = id.CheckPartitioned()
	}
	if err != nil {
		return err
	}
	return r.json(http.StatusOK, []byte(`{"range":"`+wholeRange+`","nodes":["`+NodeName+`"]}`))
}

const wholeRange = "00000000-ffffffff"

// syncShards answers POST /{db}/_sync_shards: there is one copy.
func syncShards(r *request) error {
	if err := r.Drain(); err != nil {
		return err
	}
	return r.ok(http.StatusAccepted)
}
