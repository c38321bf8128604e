package store

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/deflate"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// blob is the value of a blob row. Every body row that names the blob is one
// reference; who changes their number reads the row for update. Equal bytes of
// one partition (of an ordinary database: of all of it) share a blob.
type blob struct {
	references uint64
	length     uint64 // stored bytes
	sha        [sha256.Size]byte
	partition  document.Partition
}

func (b *blob) encode() []byte {
	p := packed.Writer{}
	p.Byte(rowVersion)
	p.Uint(b.references)
	p.Uint(b.length)
	p.Raw(b.sha[:])
	p.Text(string(b.partition))
	return p
}

func decodeBlob(value []byte) (b blob, err error) {
	u := packed.ReadVersion(value, rowVersion)
	b.references, b.length = u.Uint(), u.Uint()
	copy(b.sha[:], u.Take(sha256.Size))
	b.partition = document.Partition(u.Text())
	return b, u.Done()
}

// pendingFor is how long a blob may lie without a document that names it: an
// upload over a slow line takes its time.
const pendingFor = 24 * time.Hour

func (d *Database) blobKey(n uint64) []byte { return keyspace.Blob.Key(d.number, keyspace.U(n)) }
func (d *Database) digestKey(b *blob) []byte {
	return keyspace.BlobDigest.Key(d.number, keyspace.T(string(b.partition)), keyspace.T(string(b.sha[:])))
}

// blobLarge is where the bytes of a blob lie.
func (d *Database) blobLarge(n uint64) Large { return d.Large(&keyspace.BlobChunk, keyspace.U(n)) }

// Upload says how to store an attachment's bytes.
type Upload struct {
	Compress bool  // gzip them (the type is compressible)
	Encoded  bool  // they are gzip already, as the client sent them
	Max      int64 // refuse more with TooLarge attachment_too_large; 0 for no limit
}

// Upload streams r into a blob and returns the attachment fields that its bytes
// decide: Digest, Length, Encoded, Encoding and Blob. The blob stays when an
// edit that names it is committed, and expires otherwise. Memory is a few
// pages, whatever the length. Errors: TooLarge attachment_too_large; what r
// returns.
func (s Scope) Upload(ctx context.Context, id document.ID, r io.Reader, u Upload) (document.Attachment, error) {
	return s.db.upload(ctx, s.Stored(id), r, u)
}

// upload is Upload for the document of a stored id.
func (d *Database) upload(ctx context.Context, id document.ID, r io.Reader, u Upload) (document.Attachment, error) {
	n, deadline, err := d.newBlob(ctx)
	if err != nil {
		return document.Attachment{}, err
	}
	fence := func(tx kv.Txn) error { return d.stillPending(tx, deadline, n) }
	w := &blobWriter{LargeWriter: d.blobLarge(n).Writer(ctx, fence), md5: md5.New(), sha: sha256.New()}
	a := document.Attachment{Blob: n}
	in := &limited{r: r, max: u.Max}
	if u.Compress {
		a.Encoding = "gzip"
		z := deflate.NewWriter(w)
		if a.Length, err = io.Copy(z, in); err == nil {
			err = z.Close()
		}
	} else {
		a.Length, err = io.Copy(w, in)
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		d.abandon(n, deadline)
		return document.Attachment{}, err
	}
	if u.Encoded {
		a.Encoding = "gzip"
	}
	a.Encoded = w.Len()
	w.md5.Sum(a.Digest[:0])
	b := blob{length: uint64(w.Len()), partition: d.sharing(id)}
	w.sha.Sum(b.sha[:0])
	return a, dberr.Wrap("store.Upload", d.store.commit(ctx, func(tx kv.Txn) error {
		if err := fence(tx); err != nil {
			return err
		}
		return tx.Put(d.blobKey(n), b.encode())
	}))
}

// stillPending fails an upload whose pending row the sweep has taken away: what
// it wrote so far is removed, and what it would write nobody would remove.
func (d *Database) stillPending(tx kv.Txn, deadline, n uint64) error {
	_, err := tx.GetForUpdate(d.pendingKey(deadline, n))
	return expired(err)
}

// expired makes the absence of an upload's pending row a timeout.
func expired(err error) error {
	if errors.Is(err, kv.ErrNotFound) {
		return dberr.New(dberr.Timeout, "timeout", "The upload took too long.")
	}
	return err
}

// sharing is the partition within which a document's blobs are shared.
func (d *Database) sharing(id document.ID) document.Partition {
	if !d.partitioned {
		return ""
	}
	return id.Partition()
}

// newBlob takes the next blob number and notes that the blob is pending.
func (d *Database) newBlob(ctx context.Context) (n, deadline uint64, err error) {
	err = d.do(ctx, "store.Upload", func(g *group) error {
		g.lane.nextBlob++
		n, deadline = g.lane.nextBlob, uint64(g.now.Add(pendingFor).Unix())
		return g.putPending(deadline, n)
	})
	return n, deadline, err
}

func (d *Database) pendingKey(deadline, n uint64) []byte {
	return keyspace.BlobPending.Key(d.number, keyspace.U(deadline), keyspace.U(n))
}

// putPending has a blob looked at by the sweep from a time on, in Unix seconds.
func (g *group) putPending(deadline, n uint64) error {
	g.needs(jobSweep, time.Unix(int64(deadline), 0))
	return g.tx.Put(g.db.pendingKey(deadline, n), []byte{rowVersion})
}

// abandon makes a failed upload's blob due for removal at once.
func (d *Database) abandon(n, deadline uint64) {
	err := d.do(d.store.ctx, "store.abandon", func(g *group) error {
		if err := g.tx.Delete(d.pendingKey(deadline, n)); err != nil {
			return err
		}
		return g.putPending(0, n)
	})
	if err != nil && !dberr.Is(err, dberr.NotFound) {
		d.store.o.Logger.Warn("an unfinished attachment stays until it expires", "database", d.name, "error", err)
	}
}

// limited fails when more than max bytes are read.
type limited struct {
	r   io.Reader
	n   int64
	max int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.n += int64(n)
	if l.max > 0 && l.n > l.max {
		return n, dberr.New(dberr.TooLarge, "attachment_too_large", "The attachment is too large.")
	}
	return n, err
}

// blobWriter writes a blob and sums its bytes up.
type blobWriter struct {
	*LargeWriter
	md5 hash.Hash
	sha hash.Hash
}

func (w *blobWriter) Write(p []byte) (int, error) {
	w.md5.Write(p)
	w.sha.Write(p)
	return w.LargeWriter.Write(p)
}

// takeBlobs returns every attachment of a revision a blob that holds its bytes
// and counts the reference: the blob uploaded for it, one with the same bytes
// that the partition has already, or a new one for inline data.
func (g *group) takeBlobs(id document.ID, atts []document.Attachment) error {
	for i := range atts {
		a := &atts[i]
		if a.Blob == 0 {
			if err := g.inlineBlob(id, a); err != nil {
				return err
			}
		}
		if err := g.takeBlob(a); err != nil {
			return err
		}
		a.Data, a.Stub = nil, false
	}
	return nil
}

// inlineBlob stores small inline data.
func (g *group) inlineBlob(id document.ID, a *document.Attachment) error {
	g.lane.nextBlob++
	a.Blob = g.lane.nextBlob
	b := blob{length: uint64(len(a.Data)), sha: sha256.Sum256(a.Data), partition: g.db.sharing(id)}
	if first, err := g.sameBlob(&b); err != nil || first != 0 {
		a.Blob = first
		return err
	}
	if len(a.Data) > 0 {
		if err := g.tx.Put(g.db.blobLarge(a.Blob).key(0), a.Data); err != nil {
			return err
		}
	}
	return g.tx.Put(g.db.blobKey(a.Blob), b.encode())
}

// sameBlob returns the number of the partition's blob with the same bytes, 0 if
// there is none.
func (g *group) sameBlob(b *blob) (uint64, error) {
	return counter(g.tx.GetForUpdate(g.db.digestKey(b)))
}

// takeBlob counts a reference to the attachment's blob. The first one makes
// the blob the partition's blob for these bytes; if another already is, the
// attachment gets that one and its own is left to expire.
func (g *group) takeBlob(a *document.Attachment) error {
	value, err := g.tx.GetForUpdate(g.db.blobKey(a.Blob))
	if err != nil {
		return dberr.Wrap("store.takeBlob", err)
	}
	b, err := decodeBlob(value)
	if err != nil {
		return err
	}
	if b.references == 0 {
		first, err := g.sameBlob(&b)
		if err != nil {
			return err
		}
		if first != 0 && first != a.Blob {
			a.Blob = first
			return g.takeBlob(a)
		}
		if err := g.tx.Put(g.db.digestKey(&b), packed.Number(a.Blob)); err != nil {
			return err
		}
	}
	b.references++
	return g.tx.Put(g.db.blobKey(a.Blob), b.encode())
}

// releaseBlob takes a reference away; with the last one the blob is due for
// removal.
func (g *group) releaseBlob(n uint64) error {
	value, err := g.tx.GetForUpdate(g.db.blobKey(n))
	if err != nil {
		return dberr.Wrap("store.releaseBlob", err)
	}
	b, err := decodeBlob(value)
	if err != nil {
		return err
	}
	if b.references--; b.references > 0 {
		return g.tx.Put(g.db.blobKey(n), b.encode())
	}
	if err := g.tx.Delete(g.db.digestKey(&b)); err != nil {
		return err
	}
	if err := g.tx.Put(g.db.blobKey(n), b.encode()); err != nil {
		return err
	}
	return g.putPending(0, n)
}
