package store

import (
	"math"
	"slices"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

const rowVersion = 1

// Rows of a version above 1 have a member more. They are written where that says
// something; others stay as version 1 has them.
const (
	headWithDue         = 2
	headWithPieces      = 3
	feedOfSome          = 2
	partitionWithExpiry = 2
	dueWithWrite        = 2
)

// lane is the value of a lane head: every write transaction of a database
// reads it for update and writes it.
type lane struct {
	seq      Seq
	version  uint64 // of settings and definitions
	serial   uint64 // commits so far
	nextBlob uint64
	purgeSeq uint64
	purged   uint64 // purge rows that are kept: (purgeSeq-purged, purgeSeq]
	counts
}

// counts are what is added up over documents.
type counts struct {
	docs, deleted    uint64
	active, external uint64
}

// add changes the counts by the difference between two states of a document.
func (c *counts) add(before, after counts) {
	c.docs += after.docs - before.docs
	c.deleted += after.deleted - before.deleted
	c.active += after.active - before.active
	c.external += after.external - before.external
}

func (c *counts) pack(p *packed.Writer) {
	p.Uint(c.docs)
	p.Uint(c.deleted)
	p.Uint(c.active)
	p.Uint(c.external)
}

func (c *counts) unpack(u *packed.Reader) {
	c.docs, c.deleted, c.active, c.external = u.Uint(), u.Uint(), u.Uint(), u.Uint()
}

func (l *lane) encode() []byte {
	p := make(packed.Writer, 0, 64)
	p.Byte(rowVersion)
	p.Uint(uint64(l.seq))
	p.Uint(l.version)
	p.Uint(l.serial)
	p.Uint(l.nextBlob)
	p.Uint(l.purgeSeq)
	p.Uint(l.purged)
	l.counts.pack(&p)
	return p
}

func decodeLane(b []byte) (l lane, err error) {
	u := packed.ReadVersion(b, rowVersion)
	l.seq, l.version, l.serial, l.nextBlob = Seq(u.Uint()), u.Uint(), u.Uint(), u.Uint()
	l.purgeSeq, l.purged = u.Uint(), u.Uint()
	l.counts.unpack(&u)
	return l, u.Done()
}

// partition is the value of a partition row.
type partition struct {
	state     byte // partitionLive or one of the dropping states
	seq       Seq  // last sequence in the partition's feed
	lastWrite time.Time
	writes    float64 // decayed number of writes at lastWrite; see decay
	counts
	designs uint64 // version of the tenant's definitions; 0: there were never any
	expiry  Expiry // its own setting
}

const (
	partitionLive       = 0
	partitionDropping   = 1 // rows are being removed
	partitionTombstones = 2 // tombstones are being written
)

func (t *partition) encode() []byte {
	p := make(packed.Writer, 0, 48)
	if t.expiry.Own {
		p.Byte(partitionWithExpiry)
	} else {
		p.Byte(rowVersion)
	}
	p.Byte(t.state)
	p.Uint(uint64(t.seq))
	p.Uint(uint64(t.lastWrite.UnixMilli()))
	p.Float(t.writes)
	t.counts.pack(&p)
	if t.expiry.Own {
		p.Uint(t.designs)
		p.Text(t.expiry.text())
	} else if t.designs > 0 {
		p.Uint(t.designs)
	}
	return p
}

func decodePartition(b []byte) (t partition, err error) {
	u, version := packed.ReadUpTo(b, partitionWithExpiry)
	t.state = u.Byte()
	t.seq = Seq(u.Uint())
	t.lastWrite = time.UnixMilli(int64(u.Uint()))
	t.writes = u.Float()
	t.counts.unpack(&u)
	if len(u.Rest()) > 0 {
		t.designs = u.Uint()
	}
	if version == partitionWithExpiry {
		if t.expiry, err = parseExpiry(u.Text()); err != nil {
			return t, err
		}
	}
	return t, u.Done()
}

// head is the value of a document head: where the document is in the feed,
// its winner, so that a point read need not decode the tree, when it expires,
// and the tree, or how long it is if it lies in pieces beside the head.
type head struct {
	seq    Seq
	winner document.Rev
	dead   bool   // the winner is a tombstone
	due    uint64 // the time of its row in the queue of what expires; 0 for none
	tree   document.Tree
	pieces [][]byte // as stored; nil of a tree that lies in the head
}

// treePiece is the longest tree that lies in the head, and the length of a piece
// of one that does not. A point read takes the head along, and a scan over many
// documents passes them all; few documents have so many conflicts.
const treePiece = 32 << 10

// encode returns the head's value and the pieces of a tree that is too large for it.
func (h *head) encode() (value []byte, pieces [][]byte) {
	tree := h.tree.AppendBinary(make([]byte, 0, 128))
	version := byte(rowVersion)
	switch {
	case len(tree) > treePiece:
		version = headWithPieces
	case h.due != 0:
		version = headWithDue
	}
	p := make(packed.Writer, 0, 64+min(len(tree), treePiece))
	p.Byte(version)
	w := h.tree.Winner()
	p.Flag(w.Deleted)
	p.Uint(uint64(h.seq))
	writeRev(&p, w.Rev)
	if version >= headWithDue {
		p.Uint(h.due)
	}
	if version < headWithPieces {
		return append(p, tree...), nil
	}
	p.Uint(uint64(len(tree)))
	return p, slices.Collect(slices.Chunk(tree, treePiece))
}

// borrowedHead is what a head says before its tree. The hash is part of the row.
type borrowedHead struct {
	dead bool
	seq  Seq
	gen  uint32 // of the winner
	hash []byte
	due  uint64
	// length is that of a tree that lies in pieces; 0 for one that follows.
	length uint64
}

// borrowWinner reads what comes before the tree and returns the rest. It is the
// one reader of heads: walks over many documents make no text of the hash.
func borrowWinner(b []byte) (h borrowedHead, rest []byte, err error) {
	u, version := packed.ReadUpTo(b, headWithPieces)
	h.dead = u.Byte() == 1
	h.seq = Seq(u.Uint())
	h.gen, h.hash = uint32(u.UpTo(math.MaxUint32)), u.Bytes()
	if version >= headWithDue {
		h.due = u.Uint()
	}
	if version == headWithPieces {
		h.length = u.Uint()
		if h.length <= treePiece || len(u.Rest()) > 0 {
			u.Fail()
		}
	}
	return h, u.Rest(), u.Err()
}

// decodeWinner is borrowWinner for who keeps the head.
func decodeWinner(b []byte) (h head, rest []byte, err error) {
	l, rest, err := borrowWinner(b)
	return head{dead: l.dead, seq: l.seq, winner: document.Rev{Gen: l.gen, Hash: string(l.hash)}, due: l.due}, rest, err
}

// decodeHeadRow decodes a head, whose value is b, and its tree, wherever that lies.
func (d *Database) decodeHeadRow(v kv.Snapshot, id document.ID, b []byte) (head, error) {
	return decodeHead(b, func(n int) ([]byte, error) { return v.Get(d.pieceKey(id, n)) })
}

// pieceKey is the key of a piece of a document's tree.
func (d *Database) pieceKey(id document.ID, n int) []byte {
	return keyspace.Doc.Key(d.number, keyspace.T(string(id)), keyspace.U(keyspace.SubTree), keyspace.B(keyspace.ChunkTail(uint32(n))))
}

// decodeHead is decodeHeadRow with the pieces of the tree from elsewhere.
func decodeHead(b []byte, piece func(n int) ([]byte, error)) (head, error) {
	l, rest, err := borrowWinner(b)
	if err != nil {
		return head{}, err
	}
	h := head{dead: l.dead, seq: l.seq, winner: document.Rev{Gen: l.gen, Hash: string(l.hash)}, due: l.due}
	for n := 0; uint64(len(rest)) < l.length; n++ {
		part, err := piece(n)
		if err != nil {
			return head{}, dberr.Wrap("store.decodeHead", err)
		}
		if uint64(len(part)) != min(treePiece, l.length-uint64(len(rest))) {
			return head{}, packed.ErrFormat
		}
		h.pieces = append(h.pieces, part)
		rest = append(rest, part...)
	}
	if h.tree, rest, err = document.DecodeTree(rest); err == nil && len(rest) > 0 {
		err = packed.ErrFormat
	}
	return h, err
}

// counts reports what the document adds to its database and partition.
func (h *head) counts() (c counts) {
	sums := h.tree.Sums()
	switch {
	case sums.Live > 0:
		c.docs = 1
	case sums.Leaves > 0:
		c.deleted = 1
	}
	c.active, c.external = sums.Active, sums.External
	return c
}

// Kinds of feed entries. A follower of the feed other than HTTP also needs to
// know what is gone; those entries get kinds of their own beside this one.
const feedDocument = 0

// feedLeaves is how many leaves a feed entry names. A reader of one that names so
// many finds the others at the document.
const feedLeaves = 500

func encodeFeed(id document.ID, h *head) []byte {
	leaves := h.tree.Leaves()
	deleted, version := leaves[0].Deleted, byte(rowVersion)
	if len(leaves) > feedLeaves {
		leaves, version = leaves[:feedLeaves], feedOfSome
	}
	p := make(packed.Writer, 0, 8+len(id)+20*len(leaves))
	p.Byte(version)
	p.Byte(feedDocument)
	p.Flag(deleted)
	p.Text(string(id))
	p.Uint(uint64(len(leaves)))
	for _, l := range leaves {
		writeRev(&p, l.Rev)
	}
	return p
}

// decodeFeed decodes an entry into c, reusing its memory; more says that there are
// leaves that it does not name.
func decodeFeed(b []byte, c *Change) (more bool, err error) {
	u, version := packed.ReadUpTo(b, feedOfSome)
	if u.Byte() != feedDocument {
		return false, packed.ErrFormat
	}
	c.Deleted = u.Byte() == 1
	c.ID = document.ID(u.Text())
	n := u.Uint()
	c.Leaves = c.Leaves[:0]
	for i := uint64(0); i < n && !u.Failed(); i++ {
		c.Leaves = append(c.Leaves, decodeRev(&u))
	}
	return version == feedOfSome, u.Done()
}
