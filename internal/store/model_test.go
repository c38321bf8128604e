package store

import (
	"cmp"
	"crypto/md5"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/document"
)

// model is a small CouchDB: documents as sets of revisions that know their
// parent, and nothing that is not computed anew each time it is asked for.
type model struct {
	partitioned bool
	docs        map[string]*modelDoc
	locals      map[string]string // "scope id" → body
	drops       map[document.Partition]*modelDrop
	revsLimit   int
	purges      int
	clock       int                           // of changes
	expiry      map[document.Partition]Expiry // "" for the database's
	markers     map[string][]document.Rev
}

type modelDoc struct {
	revs    map[document.Rev]*modelRev
	changed int // when it last moved in the feed
}

type modelRev struct {
	parent  document.Rev
	deleted bool
	body    string
	atts    []modelAtt // by name
}

type modelAtt struct {
	name, data string
	revpos     uint32
}

// modelDrop is a partition that is being dropped.
type modelDrop struct {
	tombstones bool
	emptied    bool // the documents are gone, or collected
}

func newModel(partitioned bool) *model {
	return &model{partitioned: partitioned, docs: map[string]*modelDoc{}, locals: map[string]string{},
		drops: map[document.Partition]*modelDrop{}, revsLimit: defaultRevsLimit,
		expiry: map[document.Partition]Expiry{}, markers: map[string][]document.Rev{}}
}

// clone is a copy whose documents can be changed.
func (m *model) clone() *model {
	c := *m
	c.docs = map[string]*modelDoc{}
	for id, d := range m.docs {
		c.docs[id] = d.clone()
	}
	return &c
}

func (d *modelDoc) clone() *modelDoc {
	c := &modelDoc{revs: map[document.Rev]*modelRev{}, changed: d.changed}
	for r, n := range d.revs {
		copied := *n
		c.revs[r] = &copied
	}
	return c
}

// leaves returns the leaves, the winner first.
func (d *modelDoc) leaves() (leaves []document.Rev) {
	inner := map[document.Rev]bool{}
	for _, n := range d.revs {
		inner[n.parent] = true
	}
	for r := range d.revs {
		if !inner[r] {
			leaves = append(leaves, r)
		}
	}
	slices.SortFunc(leaves, func(a, b document.Rev) int {
		if da, db := d.revs[a].deleted, d.revs[b].deleted; da != db {
			return map[bool]int{false: -1, true: 1}[da]
		}
		return cmp.Or(cmp.Compare(b.Gen, a.Gen), strings.Compare(b.Hash, a.Hash))
	})
	return leaves
}

func (d *modelDoc) path(r document.Rev) (path []document.Rev) {
	for ; d.revs[r] != nil; r = d.revs[r].parent {
		path = append(path, r)
	}
	return path
}

func (d *modelDoc) winner() *modelRev { return d.revs[d.leaves()[0]] }

// keep forgets all revisions but those on the first limit places of the paths
// of the given leaves.
func (d *modelDoc) keep(leaves []document.Rev, limit int) {
	kept := map[document.Rev]bool{}
	for _, l := range leaves {
		path := d.path(l)
		for _, r := range path[:min(limit, len(path))] {
			kept[r] = true
		}
	}
	maps.DeleteFunc(d.revs, func(r document.Rev, _ *modelRev) bool { return !kept[r] })
	for _, n := range d.revs {
		if !kept[n.parent] {
			n.parent = document.Rev{}
		}
	}
}

func (d *modelDoc) shape() string {
	var lines []string
	for r, n := range d.revs {
		lines = append(lines, fmt.Sprint(r, n.parent, n.deleted))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// merge adds a path, newest first, whose newest revision is n; it reports whether
// the tree changed.
func (d *modelDoc) merge(path []document.Rev, n modelRev) bool {
	before := d.shape()
	for i, r := range path {
		if d.revs[r] == nil {
			d.revs[r] = &modelRev{}
			if i == 0 {
				d.revs[r] = &n
			}
		}
		if i > 0 && d.revs[path[i-1]].parent.IsZero() {
			d.revs[path[i-1]].parent = r
		}
	}
	if n.deleted {
		d.revs[path[0]].deleted = true
	}
	return d.shape() != before
}

// modelEdit is an edit as a test makes it: attachments with data are new, with
// stub set they are the parent's.
type modelEdit struct {
	id      string
	parent  document.Rev
	path    []document.Rev
	deleted bool
	body    string
	atts    []modelAtt
	stubs   bool // and the parent's other attachments stay
}

// write applies an edit; the kind of refusal is "" when there is none.
func (m *model) write(e modelEdit) (rev document.Rev, refused string) {
	if m.drops[m.partition(e.id)] != nil {
		return rev, map[bool]string{true: "unavailable", false: "conflict"}[e.path != nil]
	}
	d := m.docs[e.id]
	if d == nil {
		d = &modelDoc{revs: map[document.Rev]*modelRev{}}
	}
	moved := false
	if e.path != nil && m.knows(e.id, e.path) {
		return e.path[0], ""
	}
	if m.docs[e.id] == nil {
		for _, r := range m.markers[e.id] {
			d.revs[r] = &modelRev{deleted: true, body: "{}"}
		}
	}
	if e.path != nil {
		rev = e.path[0]
		moved = d.merge(e.path, modelRev{deleted: e.deleted, body: e.body, atts: at(e.atts, rev.Gen)})
	} else {
		parent, ok := d.parent(e)
		if !ok {
			return rev, "conflict"
		}
		atts, ok := d.attachments(e, parent)
		if !ok {
			return rev, "missing_stub"
		}
		rev = document.NewRev(parent, e.deleted, []byte(e.body), toAttachments(atts))
		path := []document.Rev{rev}
		if !parent.IsZero() {
			path = append(path, parent)
		}
		d.merge(path, modelRev{deleted: e.deleted, body: e.body, atts: at(atts, rev.Gen)})
		moved = true
	}
	m.docs[e.id] = d
	if moved {
		m.move(d)
	}
	return rev, ""
}

// move puts a document at the end of the feed and stems it.
func (m *model) move(d *modelDoc) {
	d.keep(d.leaves(), m.revsLimit)
	m.clock++
	d.changed = m.clock
}

// parent says where an ordinary edit goes.
func (d *modelDoc) parent(e modelEdit) (document.Rev, bool) {
	if len(d.revs) == 0 {
		return document.Rev{}, e.parent.IsZero()
	}
	leaves := d.leaves()
	if d.winner().deleted {
		return leaves[0], e.parent.IsZero() && !e.deleted
	}
	return e.parent, slices.Contains(leaves, e.parent)
}

// attachments returns what an ordinary edit leaves, in order of name.
func (d *modelDoc) attachments(e modelEdit, parent document.Rev) ([]modelAtt, bool) {
	all := slices.Clone(e.atts)
	if e.stubs {
		for _, name := range attNames {
			if slices.ContainsFunc(all, func(a modelAtt) bool { return a.name == name }) {
				continue
			}
			if d.revs[parent] == nil {
				return nil, false
			}
			i := slices.IndexFunc(d.revs[parent].atts, func(a modelAtt) bool { return a.name == name })
			if i < 0 {
				return nil, false
			}
			all = append(all, d.revs[parent].atts[i])
		}
	}
	slices.SortFunc(all, func(a, b modelAtt) int { return strings.Compare(a.name, b.name) })
	return all, true
}

var attNames = []string{"a", "b"}

// at returns attachments with the generation of those that are new.
func at(atts []modelAtt, gen uint32) []modelAtt {
	atts = slices.Clone(atts)
	for i := range atts {
		atts[i].revpos = cmp.Or(atts[i].revpos, gen)
	}
	return atts
}

func toAttachments(atts []modelAtt) (out []document.Attachment) {
	for _, a := range atts {
		out = append(out, document.Attachment{Name: a.name, ContentType: "text/plain", RevPos: a.revpos,
			Digest: md5.Sum([]byte(a.data)), Length: int64(len(a.data)), Encoded: int64(len(a.data)), Data: []byte(a.data)})
	}
	return out
}

// purge forgets leaves and returns those that were there.
func (m *model) purge(id string, revs []document.Rev) (purged []document.Rev) {
	d := m.docs[id]
	if d == nil {
		if purged = m.purgeMarker(id, revs); len(purged) > 0 {
			m.purges++
		}
		return purged
	}
	leaves := d.leaves()
	for _, r := range revs {
		if i := slices.Index(leaves, r); i >= 0 {
			leaves = slices.Delete(leaves, i, i+1)
			purged = append(purged, r)
		}
	}
	if len(purged) == 0 {
		return nil
	}
	m.purges++
	m.purgeMarker(id, purged)
	d.keep(leaves, 1<<30)
	m.clock++
	d.changed = m.clock
	if len(d.revs) == 0 {
		delete(m.docs, id)
		delete(m.markers, id)
	}
	return purged
}

// partition is the partition of an id, "" in an ordinary database.
func (m *model) partition(id string) document.Partition {
	if !m.partitioned {
		return ""
	}
	return document.ID(id).Partition()
}

// in returns the documents of a partition, of all for "", in order.
func (m *model) in(p document.Partition) (ids []string) {
	for id := range m.docs {
		if p == "" || m.partition(id) == p {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// drop begins the drop of a partition; false when there is nothing in it.
func (m *model) drop(p document.Partition, tombstones bool) bool {
	if m.drops[p] != nil {
		return true
	}
	if !m.partitioned || p == "" || len(m.in(p)) == 0 && (tombstones || !m.collectedIn(p)) {
		return false
	}
	m.drops[p] = &modelDrop{tombstones: tombstones, emptied: len(m.in(p)) == 0}
	return true
}

// dropped returns the partitions that are being dropped, in the order in which a
// sweep handles them: collections first.
func (m *model) dropped() []document.Partition {
	ps := slices.Collect(maps.Keys(m.drops))
	slices.SortFunc(ps, func(a, b document.Partition) int {
		if ta, tb := m.drops[a].tombstones, m.drops[b].tombstones; ta != tb {
			return map[bool]int{true: -1, false: 1}[ta]
		}
		return strings.Compare(string(a), string(b))
	})
	return ps
}

// step is a page of a drop, or its end.
func (m *model) step(p document.Partition) {
	drop := m.drops[p]
	if drop.emptied {
		delete(m.drops, p)
		if !drop.tombstones {
			delete(m.expiry, p)
			maps.DeleteFunc(m.markers, func(id string, _ []document.Rev) bool { return m.partition(id) == p })
			maps.DeleteFunc(m.locals, func(key, _ string) bool { return strings.HasPrefix(key, string(p)+" ") })
		}
		return
	}
	drop.emptied = true
	for _, id := range m.in(p) {
		if !drop.tombstones {
			delete(m.docs, id)
			continue
		}
		d := m.docs[id]
		if d.winner().deleted {
			continue
		}
		for _, l := range d.leaves() {
			if !d.revs[l].deleted {
				r := document.NewRev(l, true, []byte("{}"), nil)
				d.merge([]document.Rev{r, l}, modelRev{deleted: true, body: "{}"})
				d.keep(d.leaves(), m.revsLimit)
			}
		}
		m.move(d)
	}
}

// hidden reports whether a document is hidden by a drop.
func (m *model) hidden(id string) bool { return m.drops[m.partition(id)] != nil }

// feed returns the ids of a feed in order.
func (m *model) feed(p document.Partition) []string {
	ids := slices.DeleteFunc(m.in(p), func(id string) bool {
		drop := m.drops[m.partition(id)]
		return drop != nil && !(drop.tombstones && m.docs[id].winner().deleted)
	})
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(m.docs[a].changed, m.docs[b].changed) })
	return ids
}

// counts adds up a partition, or everything; what is being dropped counts again
// once it is collected.
func (m *model) counts(p document.Partition) (c counts) {
	for _, id := range m.in(p) {
		if drop := m.drops[m.partition(id)]; drop != nil && (p != "" || !drop.emptied) {
			continue
		}
		d := m.docs[id]
		if d.winner().deleted {
			c.deleted++
		} else {
			c.docs++
		}
		for _, l := range d.leaves() {
			c.external += uint64(d.revs[l].size())
		}
	}
	c.active = c.external
	return c
}

func (r *modelRev) size() int {
	n := len(r.body)
	for _, a := range r.atts {
		n += len(a.data)
	}
	return n
}
