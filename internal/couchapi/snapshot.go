package couchapi

import (
	"bytes"
	"math"
	"mime"
	"net/http"
	"strconv"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchapi/documents"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/snapshot"
)

// snapshotQuery is what GET _snapshot takes of a query string.
type snapshotQuery struct {
	after string
	max   int64
}

var snapshotParams = couchhttp.Params[snapshotQuery]{
	"after": couchhttp.TextParam(func(q *snapshotQuery) *string { return &q.after }),
	"max_bytes": func(q *snapshotQuery, v string) (err error) {
		if q.max, err = strconv.ParseInt(v, 10, 64); err != nil || q.max < 1 {
			return couchhttp.QueryError("`max_bytes` must be a positive integer.")
		}
		return nil
	},
}

// getSnapshot answers GET _snapshot of a database or partition: all documents
// in one stream (see docs/formats/snapshot.md).
func getSnapshot(r *couchhttp.Request) error {
	var q snapshotQuery
	if err := snapshotParams.Read(r.Query, &q); err != nil {
		return err
	}
	source, err := snapshot.Open(r.Ctx(), r.Scope, r.API.Store.UUID(), q.after)
	if err != nil {
		return err
	}
	if err := r.KeepGrant(); err != nil {
		return err
	}
	encoding := snapshot.Encoding(r.Header("Accept-Encoding"))
	packer, err := snapshot.NewPacker(encoding, snapshotBody{r})
	if err != nil {
		return dberr.Wrap("couchapi.getSnapshot", err)
	}
	r.Set("Content-Type", snapshot.ContentType)
	r.Vary("Accept-Encoding")
	if encoding != "" {
		r.Set("Content-Encoding", encoding)
	}
	r.Begin(http.StatusOK, -1)
	if r.Head {
		return nil
	}
	counts, err := source.Send(r.Ctx(), snapshotOut{packer, r}, q.max)
	r.API.Stats.DocReads.Add(uint64(counts.Documents))
	if err != nil {
		return err
	}
	return packer.Close()
}

// snapshotBody is the body of an answer as a writer, as long as the caller may have
// it.
type snapshotBody struct{ r *couchhttp.Request }

// Write implements io.Writer.
func (b snapshotBody) Write(p []byte) (int, error) {
	if err := b.r.Reauthorize(); err != nil {
		return 0, err
	}
	return len(p), b.r.Write(p)
}

// snapshotOut packs a snapshot; a flush reaches the client.
type snapshotOut struct {
	snapshot.Packer
	r *couchhttp.Request
}

// Flush passes everything on to the client.
func (o snapshotOut) Flush() error {
	if err := o.Packer.Flush(); err != nil {
		return err
	}
	return o.r.Flush()
}

// maxRefusals is how many refused revisions an answer names.
const maxRefusals = 100

// postSnapshot answers POST _snapshot: it loads a stream as GET _snapshot gives
// it, wherever that came from. The limit of requests does not hold for it, for
// nothing of it is held in memory but a page; those of documents and
// attachments do.
func postSnapshot(r *couchhttp.Request) error {
	if kind, _, _ := mime.ParseMediaType(r.Header("Content-Type")); kind != snapshot.ContentType {
		return dberr.New(dberr.Unsupported, "bad_content_type", "Content-Type must be "+snapshot.ContentType)
	}
	body, end := r.Charged(r.RawReader(math.MaxInt64), couchhttp.SnapshotBuffer)
	defer end()
	in, err := snapshot.NewUnpacker(r.Header("Content-Encoding"), body)
	if err != nil {
		return err
	}
	defer in.Close()
	var refusals []snapshot.Refusal
	p, err := snapshot.Load(r.Ctx(), r.Scope, in, snapshot.LoadOptions{
		Rules: *r.Rules(),
		Refused: func(f snapshot.Refusal) {
			if len(refusals) < maxRefusals {
				refusals = append(refusals, f)
			}
		},
	})
	r.API.Stats.DocWrites.Add(uint64(p.Leaves))
	status, b := http.StatusCreated, []byte(`{"ok":true}`)
	if err != nil {
		f := r.Render(err)
		r.LogFailure(f, err)
		status, b = f.Status, bytes.TrimSuffix(f.Body, []byte{'\n'})
	}
	return r.JSON(status, appendProgress(b[:len(b)-1], &p, refusals))
}

// appendProgress appends how far a load came to the members before it, and ends
// the object.
func appendProgress(b []byte, p *snapshot.Progress, refusals []snapshot.Refusal) []byte {
	b = couchhttp.AppendString(append(b, `,"seq":`...), p.Header.Seq)
	b = couchhttp.AppendString(append(b, `,"after":`...), p.Bookmark)
	b = strconv.AppendBool(append(b, `,"more":`...), p.More)
	b = couchhttp.AppendCount(b, `,"documents":`, uint64(p.Documents))
	b = couchhttp.AppendCount(b, `,"revisions":`, uint64(p.Leaves))
	b = couchhttp.AppendCount(b, `,"attachments":`, uint64(p.Blobs))
	b = couchhttp.AppendCount(b, `,"attachment_bytes":`, uint64(p.Bytes))
	b = couchhttp.AppendCount(b, `,"refused":`, uint64(p.Refused))
	b = append(b, `,"refusals":[`...)
	for i := range refusals {
		if i > 0 {
			b = append(b, ',')
		}
		f := &refusals[i]
		b = documents.AppendFailed(b, f.ID, f.Rev, f.Err)
	}
	return append(b, "]}"...)
}
