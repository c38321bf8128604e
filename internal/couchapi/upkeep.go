package couchapi

import (
	"context"
	"net/http"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// compact answers POST /{db}/_compact: the work goes on in the background.
func compact(r *request) error {
	if err := r.emptyOrJSON(); err != nil {
		return err
	}
	db := r.db
	r.api.tasks.start(r.api, "database_compaction", db.Name(), func(ctx context.Context) error { return db.Compact(ctx) })
	return r.ok(http.StatusAccepted)
}

// compactViews answers POST /{db}/_compact/{ddoc}: there are no views to
// compact, but the design document must be there.
func compactViews(r *request) error {
	if err := r.emptyOrJSON(); err != nil {
		return err
	}
	id, err := r.designID("ddoc")
	if err != nil {
		return err
	}
	err = r.scope.View(r.ctx(), func(s *store.Reader) error {
		_, err := s.Winner(id)
		return err
	})
	if err != nil {
		return err
	}
	return r.ok(http.StatusAccepted)
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
	made, err := r.scope.Made(r.ctx())
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
	return r.drain()
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
	if err := r.drain(); err != nil {
		return err
	}
	return r.ok(http.StatusAccepted)
}
