package snapshot

import (
	"crypto/md5"
	"io"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// Bytes of an attachment that one leaf alone has are kept in memory until they
// are written together with it, up to this size and up to so many of them at
// once. All others go to the store as they come.
const (
	maxInline   = 64 << 10
	maxBuffered = 1 << 20
)

// sharedBlobs is a blob that has come and that leaves may name.
type sharedBlobs struct {
	document.Attachment // what the bytes decide, and where they are
	shared              bool
	partition           document.Partition // to whose documents the stored bytes belong
	refused             error              // why they were not stored
}

// blob takes the bytes of an attachment, which follow in chunks.
func (l *loader) blob(payload []byte) error {
	h, ok := decodeBlob(payload)
	if !ok {
		return l.unreadable()
	}
	l.Blobs++
	l.Bytes += int64(h.length)
	if len(l.blobs) > 2*maxShared {
		return malformed("The snapshot has too many attachments that are named more than once.")
	}
	b := &sharedBlobs{shared: h.shared, partition: document.ID(l.current.id).Partition()}
	if !h.shared {
		l.single++
	}
	l.blobs[uint64(l.Blobs)] = b
	from := &chunks{frames: l.frames, left: h.length}
	err := l.keep(b, h, from)
	if err == nil && from.left > 0 {
		err = l.unreadable()
	}
	return err
}

// keep stores the bytes, or holds them in memory.
func (l *loader) keep(b *sharedBlobs, h blob, from *chunks) error {
	most := l.o.Rules.MaxAttachment
	switch {
	case l.current.refused != nil && !h.shared:
		b.refused = l.current.refused
	case most > 0 && h.length > uint64(most):
		b.refused = dberr.New(dberr.TooLarge, "attachment_too_large", "The attachment is too large.")
	case !h.shared && h.length <= maxInline && l.inline+int(h.length) <= maxBuffered:
		data, err := io.ReadAll(from)
		if err != nil {
			return err
		}
		b.Data, b.Encoded, b.Digest = data, int64(len(data)), md5.Sum(data)
		l.inline += len(data)
		return l.checkDigest(b, h)
	default:
		// Encoded keeps the store from looking into them.
		up, err := l.scope.Upload(l.ctx, document.ID(l.current.id), from, store.Upload{Encoded: true})
		if err != nil {
			return err
		}
		b.Blob, b.Encoded, b.Digest = up.Blob, up.Encoded, up.Digest
		return l.checkDigest(b, h)
	}
	_, err := io.Copy(io.Discard, from)
	return err
}

func (l *loader) checkDigest(b *sharedBlobs, h blob) error {
	if b.Digest != h.digest {
		return malformed("An attachment of document %s is not that of its digest.", l.current.id)
	}
	return nil
}

// attachment makes the attachment that a leaf names of the bytes that have
// come. wanted is false when the leaf is refused anyhow. Errors: TooLarge when
// the bytes were.
func (l *loader) attachment(named *leafAttachment, wanted bool) (document.Attachment, error) {
	b := l.blobs[named.blob]
	if b == nil {
		return document.Attachment{}, l.unreadable()
	}
	if !b.shared {
		delete(l.blobs, named.blob)
		l.single--
		l.inline -= len(b.Data)
	}
	if !wanted {
		return document.Attachment{}, nil
	}
	if b.refused != nil {
		return document.Attachment{}, l.o.Rules.AttachmentTooLarge(named.name)
	}
	if !named.zipped && named.length != uint64(b.Encoded) {
		return document.Attachment{}, l.unreadable()
	}
	a := b.Attachment
	a.Name, a.ContentType, a.RevPos, a.Length = named.name, named.contentType, named.revPos, int64(named.length)
	if named.zipped {
		a.Encoding = "gzip"
	}
	return a, l.move(b, &a)
}

// move returns the attachment bytes of its own if those that came belong to
// another partition: the source may have none, and share over all of it.
func (l *loader) move(b *sharedBlobs, a *document.Attachment) error {
	id := document.ID(l.current.id)
	if a.Blob == 0 || b.partition == id.Partition() || !l.scope.Database().Partitioned() {
		return nil
	}
	up, err := l.scope.Upload(l.ctx, id, l.scope.Download(l.ctx, *a, 0, a.Encoded), store.Upload{Encoded: true})
	a.Blob = up.Blob
	return err
}

// chunks reads the bytes of a blob out of the frames that follow it.
type chunks struct {
	frames *frameReader
	left   uint64
	have   []byte // of the chunk at hand, not read yet
}

// Read implements io.Reader.
func (c *chunks) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	if len(c.have) == 0 {
		kind, payload, err := c.frames.next()
		if err != nil {
			return 0, err
		}
		if kind != kindChunk || len(payload) == 0 || uint64(len(payload)) > c.left {
			return 0, malformed("Frame %d of the snapshot can't be read.", c.frames.frames)
		}
		c.have = payload
	}
	n := copy(p, c.have)
	c.have = c.have[n:]
	c.left -= uint64(n)
	return n, nil
}
