package store

import (
	"bufio"
	"context"
	"io"

	"github.com/sectional/sectional/internal/document"
)

// Download returns the stored (encoded) bytes [from, to) of an attachment. It
// reads page by page, so that no snapshot stays open while a slow client
// reads; a blob's bytes never change. Errors while reading: NotFound when the
// blob was removed meanwhile.
func (s Scope) Download(ctx context.Context, a document.Attachment, from, to int64) io.Reader {
	n := max(0, min(to, a.Encoded)-from)
	part := io.NewSectionReader(s.db.blobLarge(a.Blob).Reader(ctx, a.Encoded), from, n)
	return bufio.NewReaderSize(part, int(min(n, readChunks*chunkSize)))
}
