package store

import (
	"context"
	"io"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
)

// Download returns the stored (encoded) bytes [from, to) of an attachment. It
// reads page by page, so that no snapshot stays open while a slow client
// reads; a blob's bytes never change. Errors while reading: NotFound when the
// blob was removed meanwhile.
func (s Scope) Download(ctx context.Context, a document.Attachment, from, to int64) io.Reader {
	return &download{ctx: ctx, db: s.db, blob: a.Blob, at: from, to: min(to, a.Encoded)}
}

type download struct {
	ctx    context.Context
	db     *Database
	blob   uint64
	at, to int64
	buffer []byte // reused from page to page
	page   []byte // what of it has not been read
}

// downloadChunks is how many chunks one snapshot gives.
const downloadChunks = 8

func (d *download) Read(p []byte) (int, error) {
	if len(d.page) == 0 {
		if d.at >= d.to {
			return 0, io.EOF
		}
		if err := d.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.page)
	d.page = d.page[n:]
	d.at += int64(n)
	return n, nil
}

// fill reads the next few chunks.
func (d *download) fill() error {
	first := uint64(d.at) / chunkSize
	skip := int(uint64(d.at) % chunkSize)
	end := min((int64(first)+downloadChunks)*chunkSize, d.to)
	r := kv.Range{Start: d.db.blobChunkKey(d.blob, first), End: d.db.blobChunkKey(d.blob, first+downloadChunks)}
	err := d.db.store.engine.View(d.ctx, func(v kv.Snapshot) error {
		d.buffer = d.buffer[:0]
		return kv.Each(v, r, func(_, chunk []byte) error {
			d.buffer = append(d.buffer, chunk...)
			return nil
		})
	})
	if err != nil {
		return err
	}
	want := int(end - int64(first)*chunkSize)
	if len(d.buffer) < want {
		return dberr.New(dberr.NotFound, "not_found", "Document is missing attachment")
	}
	d.page = d.buffer[skip:want]
	return nil
}
