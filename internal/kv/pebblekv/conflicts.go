package pebblekv

import "hash/maphash"

// maxRecent bounds the remembered writes: about 40 MB. Transactions so old
// that they would need more are rerun.
const maxRecent = 1 << 20

// recent remembers which keys were written by which commit, for as long as a
// running transaction began before that commit.
//
// Keys are kept as 64-bit hashes under a random seed. Two keys with one hash
// make a conflict that is none, which costs a rerun and nothing else. The
// caller holds the commit mutex for every method.
type recent struct {
	max     int
	last    map[uint64]uint64 // hash of a key → the last commit that wrote it
	commits []written         // oldest first
	size    int               // hashes in commits
	floor   uint64            // transactions begun before this commit always conflict
}

// written is what one commit wrote.
type written struct {
	n      uint64
	hashes []uint64
}

func newRecent(maxHashes int) recent {
	return recent{max: maxHashes, last: make(map[uint64]uint64)}
}

var seed = maphash.MakeSeed()

// hashOf returns the hash by which commits remember a key.
func hashOf(key []byte) uint64 { return maphash.Bytes(seed, key) }

// conflicts reports whether one of the keys was written after commit start.
func (r *recent) conflicts(start uint64, hashes []uint64) bool {
	if start < r.floor {
		return true
	}
	for _, h := range hashes {
		if r.last[h] > start {
			return true
		}
	}
	return false
}

// add remembers that commit n wrote the keys.
func (r *recent) add(n uint64, hashes []uint64) {
	for _, h := range hashes {
		r.last[h] = n
	}
	r.commits = append(r.commits, written{n: n, hashes: hashes})
	r.size += len(hashes)
	for r.size > r.max {
		r.floor = r.commits[0].n
		r.dropFirst()
	}
}

// forget drops the commits that no transaction begun at oldest or later can
// conflict with.
func (r *recent) forget(oldest uint64) {
	for len(r.commits) > 0 && r.commits[0].n <= oldest {
		r.dropFirst()
	}
}

// forgetAll drops everything: no transaction is running.
func (r *recent) forgetAll() {
	clear(r.last)
	r.commits, r.size = nil, 0
}

func (r *recent) dropFirst() {
	w := r.commits[0]
	for _, h := range w.hashes {
		if r.last[h] == w.n {
			delete(r.last, h)
		}
	}
	r.commits[0] = written{}
	r.commits = r.commits[1:]
	r.size -= len(w.hashes)
}
