package migrate

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/sectional/sectional/internal/couchclient"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/jsonstream"
)

// load reads from the target where documents are. One that is in two partitions has moved in a run that did not come to
// its end.
func (r *run) load(ctx context.Context) error {
	a, err := r.Target.Ask(ctx, couchclient.Request{Method: http.MethodGet, Path: "/_changes"})
	if err != nil {
		return err
	}
	defer func() { _ = a.Body.Close() }()
	n := 0
	err = jsonstream.New(a.Body).Object("results", func(raw []byte) error {
		id, ok := textOf(raw, "id")
		if !valid(raw) || !ok {
			return jsonstream.ErrForm
		}
		if n++; n%1000 == 0 {
			r.Line.Show("reading what the target has: %d documents", n)
		}
		_, deleted := jsonscan.Member(raw, "deleted")
		r.found(id, deleted)
		return nil
	}, func(string, []byte) error { return nil })
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// found notes a document that the target has.
func (r *run) found(id string, deleted bool) {
	old, in, ok := r.placed(id)
	if !ok {
		return
	}
	if was, wasDeleted, there := r.places.get(old); there {
		if !deleted || !wasDeleted {
			r.moves.Lock()
			defer r.moves.Unlock()
			r.noteCollision(old, r.newID(old, was))
			r.noteCollision(old, id)
		}
		if deleted {
			return
		}
	}
	r.places.set(old, in, deleted)
}

// noteCollision notes that a document may not belong where it is. The caller holds moves.
func (r *run) noteCollision(old, id string) {
	if r.moves.from == nil {
		r.moves.from = map[string][]string{}
	}
	if !slices.Contains(r.moves.from[old], id) {
		r.moves.from[old] = append(r.moves.from[old], id)
	}
}

// move takes a document away from a partition that it is no longer of, before it comes into another. A reader of the
// target misses it for a moment, and never finds it twice.
func (r *run) move(ctx context.Context, old string, from, to document.Partition) error {
	id := r.newID(old, from)
	r.moves.Lock()
	r.noteCollision(old, id)
	r.moves.Unlock()
	taken, err := r.remove(ctx, old, id)
	if taken {
		r.reported.Lock()
		r.reported.Moved++
		r.reported.Unlock()
	}
	return err
}

// belongsElsewhere reports whether a document of the target has moved away from there.
func (r *run) belongsElsewhere(id string) bool {
	old := r.oldID(id)
	p, _, ok := r.places.get(old)
	return ok && r.newID(old, p) != id
}

// finish takes documents away from where they are no longer, once more: one that was on its way when it moved has come
// since.
func (r *run) finish(ctx context.Context) error {
	r.moves.Lock()
	defer r.moves.Unlock()
	for old, ids := range r.moves.from {
		right, deleted, err := r.belongs(ctx, old)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := r.clear(ctx, old, id, id == right, deleted); err != nil {
				return err
			}
		}
	}
	r.moves.from = nil
	return nil
}

// clear takes a document away if it is not right where it is. Of one that is deleted in the source what is live is not,
// wherever it is: its deletion is told elsewhere, or is still to come.
func (r *run) clear(ctx context.Context, old, id string, right, deleted bool) error {
	if right && !deleted {
		return nil
	}
	if deleted {
		_, _, err := r.Target.Whole(ctx, couchclient.Request{Method: http.MethodGet, Path: "/" + couchclient.Escape(id)})
		if couchclient.StatusOf(err) == http.StatusNotFound {
			return nil
		}
		if err != nil {
			return err
		}
	}
	_, err := r.remove(ctx, old, id)
	return err
}

// belongs asks the source where a document belongs, and whether it is deleted. What has lost its place belongs where it
// was last.
func (r *run) belongs(ctx context.Context, old string) (id string, deleted bool, err error) {
	raw, _, err := r.Source.Whole(ctx, couchclient.Request{Method: http.MethodGet, Path: "/" + couchclient.Escape(old)})
	p, _, _ := r.places.get(old)
	if couchclient.StatusOf(err) == http.StatusNotFound {
		return r.newID(old, p), true, nil
	}
	if err != nil {
		return "", false, err
	}
	if now, why := r.partition(old, raw); why == "" {
		p = now
		r.places.set(old, p, false)
	}
	return r.newID(old, p), false, nil
}

// remove takes from a document of the target the leaves that are the source's: others were not brought by a migration,
// and stay. It reports whether there was one.
func (r *run) remove(ctx context.Context, old, id string) (bool, error) {
	var leaves []struct {
		OK *struct {
			Rev     string `json:"_rev"`
			Deleted bool   `json:"_deleted"`
		} `json:"ok"`
	}
	err := r.Target.JSON(ctx, http.MethodGet, "/"+couchclient.Escape(id)+"?open_revs=all", nil, &leaves)
	if couchclient.StatusOf(err) == http.StatusNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	deleted := map[string]bool{}
	var revs []string
	for _, l := range leaves {
		if l.OK != nil {
			revs, deleted[l.OK.Rev] = append(revs, l.OK.Rev), l.OK.Deleted
		}
	}
	if revs, err = r.ours(ctx, old, revs); err != nil || len(revs) == 0 {
		return false, err
	}
	err = r.Target.JSON(ctx, http.MethodPost, "/_purge", map[string][]string{id: revs}, nil)
	if s := couchclient.StatusOf(err); s != http.StatusNotImplemented && (s < 400 || s >= 500) {
		return err == nil, err
	}
	// A server that does not purge, or not for us.
	return true, r.bury(ctx, id, slices.DeleteFunc(revs, func(rev string) bool { return deleted[rev] }))
}

// ours returns those of a document's revisions that the source has.
func (r *run) ours(ctx context.Context, old string, revs []string) ([]string, error) {
	if len(revs) == 0 {
		return nil, nil
	}
	var answer map[string]struct{ Missing []string }
	if err := r.Source.JSON(ctx, http.MethodPost, "/_revs_diff", map[string][]string{old: revs}, &answer); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(revs, func(rev string) bool { return slices.Contains(answer[old].Missing, rev) }), nil
}

// bury deletes leaves.
func (r *run) bury(ctx context.Context, id string, revs []string) error {
	type tombstone struct {
		ID      string `json:"_id"`
		Rev     string `json:"_rev"`
		Deleted bool   `json:"_deleted"`
	}
	docs := []tombstone{}
	for _, rev := range revs {
		docs = append(docs, tombstone{id, rev, true})
	}
	if len(docs) == 0 {
		return nil
	}
	var answer []struct{ Error, Reason string }
	if err := r.Target.JSON(ctx, http.MethodPost, "/_bulk_docs", map[string]any{"docs": docs}, &answer); err != nil {
		return err
	}
	for _, a := range answer {
		if a.Error != "" && a.Error != "conflict" { // another has deleted it
			return fmt.Errorf("%s can't be taken away: %s: %s", id, a.Error, a.Reason)
		}
	}
	return nil
}
