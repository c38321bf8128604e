package store

import "github.com/sectional/sectional/internal/document"

// fetch reads ahead what the planning of edits and the indexes will read, in two calls
// of the engine instead of a few for each edit: first the rows that decide, for
// update, then stored bodies. What it leaves out is read when it is needed.
func (g *group) fetch(edits []*pendingEdit) error {
	if g.careful { // one edit's rows may be what makes another's fail
		return nil
	}
	keys := make([][]byte, 0, 2*len(edits))
	var last document.ID // edits are in the order of their ids, as a rule
	for _, e := range edits {
		if e.open {
			keys = g.appendHeads(keys, e, last)
			last = e.ID
		}
	}
	if err := g.ahead.FetchForUpdate(keys); err != nil {
		return err
	}
	keys, last = keys[:0], ""
	for _, e := range edits {
		if !e.open {
			continue
		}
		var err error
		if keys, err = g.appendBodies(keys, e, last); err != nil {
			return err
		}
		last = e.ID
	}
	return g.ahead.Fetch(keys)
}

// fetchFor is fetch for the edits of all requests of a commit together.
func (g *group) fetchFor(batch []*request) error {
	if len(batch) == 1 {
		return g.fetch(batch[0].edits)
	}
	var edits []*pendingEdit
	for _, r := range batch {
		edits = append(edits, r.edits...)
	}
	return g.fetch(edits)
}

// appendHeads appends the keys of what decides about an edit: the document's head
// and deletion marker, its partition, and the blobs that were uploaded for it. last is
// the document of the edit before.
func (g *group) appendHeads(keys [][]byte, e *pendingEdit, last document.ID) [][]byte {
	p := e.ID.Partition()
	if p != last.Partition() && g.db.partitioned && g.partitions[p] == nil {
		keys = append(keys, g.db.partitionKey(p))
	}
	if e.ID != last && g.docs[e.ID] == nil {
		keys = append(keys, g.db.headKey(e.ID))
		if g.db.settings.Load().markers {
			keys = append(keys, g.db.markerKey(e.ID))
		}
	}
	for i := range e.Attachments {
		if b := e.Attachments[i].Blob; b != 0 {
			keys = append(keys, g.db.blobKey(b))
		}
	}
	return keys
}

// appendBodies appends the keys of stored bodies: the winner's, which indexes and stubs
// of attachments refer to, and that of a revision that a replica brings.
func (g *group) appendBodies(keys [][]byte, e *pendingEdit, last document.ID) ([][]byte, error) {
	s, err := g.doc(e.ID)
	if err != nil || s.stored.tree.Empty() || s.before != nil {
		return keys, err
	}
	ks, err := g.indexesOf(e.ID.Partition())
	if err != nil {
		return keys, err
	}
	w := s.stored.tree.Winner()
	indexed := !ks.none() && !w.Deleted && !e.ID.Designs(g.db.partitioned)
	if e.ID != last && (indexed || len(e.Attachments) > 0) {
		keys = append(keys, g.db.bodyKey(e.ID, w.Rev))
	}
	if e.Path != nil && e.Path[0] != w.Rev {
		keys = append(keys, g.db.bodyKey(e.ID, e.Path[0]))
	}
	return keys, nil
}
