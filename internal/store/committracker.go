package store

import (
	"sync"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/packed"
)

// commitTracker is which commits of a database this process knows of, its own and those that others told it of: who waits for
// them was woken. Commits are numbered by the lane head's serial, and told in any order.
type commitTracker struct {
	mu    sync.Mutex
	upTo  uint64            // all up to this one
	ahead map[uint64]uint64 // and those that came before their turn: the last serial of each, by that before it
}

// maxAhead bounds the commits that came before their turn. What is forgotten is found by a look.
const maxAhead = 4096

// note notes the commit that took the serial from one number to another.
func (h *commitTracker) note(from, to uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ahead == nil || len(h.ahead) >= maxAhead {
		h.ahead = map[uint64]uint64{}
	}
	if to > h.upTo {
		h.ahead[from] = to
	}
	h.follow()
}

// follow counts what is next.
func (h *commitTracker) follow() {
	for to, ok := h.ahead[h.upTo]; ok; to, ok = h.ahead[h.upTo] {
		delete(h.ahead, h.upTo)
		h.upTo = to
	}
}

// all reports whether all commits up to a serial are known.
func (h *commitTracker) all(serial uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.upTo >= serial
}

// found notes that all who wait have been woken when the lane head was at a serial.
func (h *commitTracker) found(serial uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.upTo = max(h.upTo, serial)
	for from, to := range h.ahead {
		if to <= h.upTo {
			delete(h.ahead, from)
		}
	}
	h.follow()
}

// news is what one process tells others of.
type news struct {
	name       string // of the database; "" for the feed of databases
	number     uint64
	all        bool   // everybody who waits there is to be woken: not for documents alone, or for many of them
	from, to   uint64 // the commit; 0 for what is none
	partitions []document.Partition
}

// newsVersion is the version of messages. Those of others are left to the look.
const newsVersion = 2

// A message names partitions up to this; of more, all are woken.
const newsBytes = 3000

func (n *news) encode() []byte {
	p := packed.Writer{}
	p.Byte(newsVersion)
	p.Text(n.name)
	p.Uint(n.number)
	p.Flag(n.all)
	p.Uint(n.from)
	p.Uint(n.to)
	p.Uint(uint64(len(n.partitions)))
	for _, one := range n.partitions {
		p.Text(string(one))
	}
	return p
}

func decodeNews(message []byte) (n news, err error) {
	u := packed.ReadVersion(message, newsVersion)
	n.name, n.number, n.all, n.from, n.to = u.Text(), u.Uint(), u.Flag(), u.Uint(), u.Uint()
	for range u.UpTo(newsBytes) {
		n.partitions = append(n.partitions, document.Partition(u.Text()))
	}
	return n, u.Done()
}

// broadcast tells of a commit.
func (s *Store) broadcast(g *group) {
	if !s.shared {
		return
	}
	n := news{name: g.db.name, number: g.db.number, all: g.stale, from: g.since, to: g.lane.serial}
	g.db.commits.note(n.from, n.to)
	size := 0
	for p, state := range g.partitions {
		if !state.changed || n.all {
			continue
		}
		size += len(p) + 2
		n.partitions, n.all = append(n.partitions, p), size > newsBytes
	}
	if n.all {
		n.partitions = nil
	}
	s.publish(n)
}
