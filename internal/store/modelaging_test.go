package store

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/document"
)

// What the model knows of expiry and of deletion markers.

// field returns the member by which a document expires.
func (m *model) field(id string) string {
	if own := m.expiry[m.partition(id)]; own.Own {
		return own.Field
	}
	return m.expiry[""].Field
}

// due returns the live leaves of a document that have expired at a time, and when
// the first of them did.
func (m *model) due(id string, now int64) (revs []document.Rev, first uint64) {
	d, field := m.docs[id], m.field(id)
	if field == "" || strings.HasPrefix(id, "_design/") {
		return nil, 0
	}
	for _, l := range d.leaves() {
		n := d.revs[l]
		when := Expiry{Field: field}.timeOf([]byte(n.body))
		at := when.at
		if n.deleted || when.kind != timeAt || at > uint64(now) || at < uint64(now-dueAge) {
			continue
		}
		revs = append(revs, l)
		if first == 0 || at < first {
			first = at
		}
	}
	return revs, first
}

// expire writes tombstones over what has expired, the first ones first.
func (m *model) expire(now int64) {
	ids := slices.Sorted(maps.Keys(m.docs))
	slices.SortStableFunc(ids, func(a, b string) int {
		_, at := m.due(a, now)
		_, bt := m.due(b, now)
		return cmp.Compare(at, bt)
	})
	for _, id := range ids {
		d := m.docs[id]
		revs, _ := m.due(id, now)
		for _, l := range revs {
			r := document.NewRev(l, true, []byte("{}"), nil)
			d.merge([]document.Rev{r, l}, modelRev{deleted: true, body: "{}"})
			d.keep(d.leaves(), m.revsLimit)
		}
		if len(revs) > 0 {
			m.move(d)
		}
	}
}

// tombstones returns the documents that may be collected.
func (m *model) tombstones() (ids []string) {
	for id, d := range m.docs {
		if d.winner().deleted && !strings.HasPrefix(id, "_design/") {
			ids = append(ids, id)
		}
	}
	return ids
}

func (m *model) collect(ids []string) {
	for _, id := range ids {
		leaves := m.docs[id].leaves()
		m.markers[id] = leaves[:min(len(leaves), maxMarker)]
		delete(m.docs, id)
	}
}

func (m *model) collectedIn(p document.Partition) bool {
	for id := range m.markers {
		if m.partition(id) == p {
			return true
		}
	}
	return false
}

func (m *model) purgeMarker(id string, revs []document.Rev) (purged []document.Rev) {
	left := slices.DeleteFunc(slices.Clone(m.markers[id]), func(r document.Rev) bool {
		if slices.Contains(revs, r) {
			purged = append(purged, r)
			return true
		}
		return false
	})
	if m.markers[id] = left; len(left) == 0 {
		delete(m.markers, id)
	}
	return purged
}

// knows reports whether a revision is one that a deletion marker speaks for: a collected one,
// or one that might be an ancestor of it, for all that the document shows.
func (m *model) knows(id string, path []document.Rev) bool {
	var revs map[document.Rev]*modelRev
	d := m.docs[id]
	if d != nil {
		revs = d.revs
	}
	if revs[path[0]] != nil {
		return false
	}
	for i, r := range path {
		if slices.Contains(m.markers[id], r) {
			return i == 0
		}
	}
	for _, collected := range m.markers[id] {
		if collected.Gen <= path[0].Gen {
			continue
		}
		named := false
		if revs[collected] != nil {
			for _, a := range d.path(collected) {
				named = named || a.Gen == path[0].Gen
			}
		}
		if !named {
			return true
		}
	}
	return false
}

// missing returns those of revs that a replica would be asked for.
func (m *model) missing(id string, revs []document.Rev) (missing []document.Rev) {
	d := m.docs[id]
	for _, r := range revs {
		if (d == nil || d.revs[r] == nil) && !m.knows(id, []document.Rev{r}) {
			missing = append(missing, r)
		}
	}
	return missing
}
