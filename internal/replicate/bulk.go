package replicate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/sectional/sectional/internal/jsonstream"
)

// unit is one revision of a document on its way to the target.
type unit struct {
	w   *missingRevs
	rev string
}

// piece is a body of _bulk_docs in the making.
type piece struct {
	buf   []byte // the request up to the last document
	units []unit
	ends  []int // where each document ends in buf
	sent  int   // how often it went out
}

const pieceHead = `{"new_edits":false,"docs":[`

func (p *piece) add(u unit, doc []byte) {
	if len(p.units) == 0 {
		p.buf = append(p.buf[:0], pieceHead...)
	} else {
		p.buf = append(p.buf, ',')
	}
	p.buf = append(p.buf, doc...)
	p.units = append(p.units, u)
	p.ends = append(p.ends, len(p.buf))
}

// doc returns the i-th document.
func (p *piece) doc(i int) []byte {
	from := len(pieceHead)
	if i > 0 {
		from = p.ends[i-1] + 1
	}
	return p.buf[from:p.ends[i]]
}

// some makes a piece of some of the documents.
func (p *piece) some(pick func(i int) bool) *piece {
	q := &piece{}
	for i, u := range p.units {
		if pick(i) {
			q.add(u, p.doc(i))
		}
	}
	return q
}

const (
	// pieceBytes and pieceDocs are how much one _bulk_docs carries.
	pieceBytes = 1 << 20
	pieceDocs  = 1000
	// writing is how many of them one worker has on their way.
	writing = 2
)

// bulk writes documents by _bulk_docs while more are being fetched.
type bulk struct {
	r    *run
	now  *piece
	room chan struct{}
	wait sync.WaitGroup
	mu   struct {
		sync.Mutex
		err  error
		redo []unit // whose attachments the target lacks after all
	}
}

func (r *run) newBulk() *bulk {
	return &bulk{r: r, now: r.newPiece(), room: make(chan struct{}, writing)}
}

// newPiece returns an empty piece, with the memory of one that is done.
func (r *run) newPiece() *piece {
	select {
	case p := <-r.pieces:
		p.units, p.ends, p.sent = p.units[:0], p.ends[:0], 0
		return p
	default:
		return &piece{buf: make([]byte, 0, pieceBytes/8)}
	}
}

// freePiece returns the memory of a piece back that went out once and was
// answered: of a request that failed, the transport may still hold the body.
func (r *run) freePiece(p *piece) {
	if cap(p.buf) > 2*pieceBytes || p.sent > 1 {
		return
	}
	clear(p.units)
	select {
	case r.pieces <- p:
	default:
	}
}

// add takes a document. Errors are those of an earlier write.
func (b *bulk) add(ctx context.Context, u unit, doc []byte) error {
	b.now.add(u, doc)
	if len(b.now.buf) < b.r.perWrite.get() && len(b.now.units) < pieceDocs {
		return nil
	}
	return b.send(ctx)
}

func (b *bulk) send(ctx context.Context) error {
	if len(b.now.units) == 0 {
		return nil
	}
	b.room <- struct{}{}
	b.mu.Lock()
	err := b.mu.err
	b.mu.Unlock()
	if err != nil {
		<-b.room
		return err
	}
	p := b.now
	b.now = b.r.newPiece()
	b.wait.Go(func() {
		var redo []unit
		err := b.r.guard("replicate.write", func() (err error) {
			redo, err = b.r.write(ctx, p)
			return err
		})
		if err == nil {
			b.r.freePiece(p)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.mu.redo = append(b.mu.redo, redo...)
		if b.mu.err == nil {
			b.mu.err = err
		}
		<-b.room
	})
	return nil
}

// end sends the rest and waits for everything. It returns the revisions that have
// to be written alone, with their attachments.
func (b *bulk) end(ctx context.Context) ([]unit, error) {
	err := b.send(ctx)
	b.wait.Wait()
	b.r.freePiece(b.now)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		err = b.mu.err
	}
	return b.mu.redo, err
}

// write stores a piece. Documents that the target refuses for good are
// failures; what it could not do at the moment is asked of it again.
func (r *run) write(ctx context.Context, p *piece) (redo []unit, err error) {
	for n := (retries{}); ; {
		refused, err := r.bulkDocs(ctx, p)
		var e *PeerError
		if errors.As(err, &e) && perDocument(e) {
			return r.writeHalves(ctx, p, e)
		}
		if err != nil {
			return nil, err
		}
		r.perWrite.grow()
		again, redone := r.applyAnswer(p, refused, n.attempts > 0)
		redo = append(redo, redone...)
		if again == nil {
			return redo, nil
		}
		if err := n.next(ctx, r.target, again.why); err != nil {
			return nil, err
		}
		p = again.piece
	}
}

// perDocument reports whether a refusal of a whole request may be the fault of
// one document in it.
func perDocument(e *PeerError) bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusExpectationFailed:
		return true
	}
	return false
}

// writeHalves finds the documents for which the target refused the whole piece.
func (r *run) writeHalves(ctx context.Context, p *piece, e *PeerError) (redo []unit, err error) {
	if len(p.units) == 1 {
		u := p.units[0]
		if e.Code == "missing_stub" {
			return []unit{u}, nil
		}
		r.fail(failureOf(u, e))
		return nil, nil
	}
	if e.Status == http.StatusRequestEntityTooLarge {
		r.perWrite.shrink()
	}
	half := len(p.units) / 2
	for _, part := range []*piece{p.some(func(i int) bool { return i < half }), p.some(func(i int) bool { return i >= half })} {
		more, err := r.write(ctx, part)
		if err != nil {
			return nil, err
		}
		redo = append(redo, more...)
	}
	return redo, nil
}

func failureOf(u unit, e *PeerError) Failure {
	return Failure{ID: u.w.id, Rev: u.rev, Status: e.Status, Code: e.Code, Reason: e.Reason}
}

// refusal is what _bulk_docs says of one document.
type refusal struct {
	ID     string `json:"id"`
	Rev    string `json:"rev"`
	Error  string `json:"error"`
	Reason any    `json:"reason"`
}

// bulkDocs sends a piece and returns what the target says of single documents.
func (r *run) bulkDocs(ctx context.Context, p *piece) (refused []refusal, err error) {
	body := append(p.buf, "]}"...)
	c := &call{method: http.MethodPost, path: "/_bulk_docs", header: []string{"X-Couch-Full-Commit", "false"},
		body: func() []byte {
			p.sent++
			return body
		}}
	err = r.target.ask(ctx, c, func(a *answer) error {
		raw, err := io.ReadAll(io.LimitReader(a.body, jsonstream.Longest))
		if err != nil {
			return err
		}
		refused = nil
		if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &refused) != nil {
			return jsonstream.ErrForm
		}
		return nil
	})
	return refused, err
}

// repetition is a piece of what has to be written once more, and why.
type repetition struct {
	piece *piece
	why   *PeerError
}

// applyAnswer counts what became of a piece, which is sent for the first time or
// again.
func (r *run) applyAnswer(p *piece, refused []refusal, repeated bool) (again *repetition, redo []unit) {
	verdict := map[int]*refusal{}
	for i := range refused {
		f := &refused[i]
		if f.Error == "" {
			continue // a server that lists successes too
		}
		for j, u := range p.units {
			if verdict[j] == nil && u.w.id == f.ID && (f.Rev == "" || f.Rev == u.rev) {
				verdict[j] = f
				if f.Rev != "" {
					break
				}
			}
		}
	}
	written := len(p.units) - len(verdict)
	r.count(func(s *Stats) {
		s.DocsRead += int64(written)
		s.DocsWritten += int64(written)
	})
	for j, u := range p.units {
		f := verdict[j]
		switch {
		case f == nil:
		case f.Error == "missing_stub":
			redo = append(redo, u)
		case passing(f.Error, repeated):
			if again == nil {
				again = &repetition{why: &PeerError{Method: http.MethodPost, URL: r.target.base + "/_bulk_docs", Status: http.StatusCreated,
					Code: f.Error, Reason: textOf(f.Reason)}}
			}
		default:
			r.count(func(s *Stats) { s.DocsRead++ })
			r.fail(Failure{ID: u.w.id, Rev: u.rev, Code: f.Error, Reason: textOf(f.Reason)})
		}
	}
	if again != nil {
		again.piece = p.some(func(i int) bool { return verdict[i] != nil && passing(verdict[i].Error, repeated) })
	}
	return again, redo
}

// passing reports whether an error of a single document is the target's and may
// pass. All others are for good: a validation function may call them what it
// likes. What CouchDB has no word for may be either, and gets one more chance.
func passing(code string, repeated bool) bool {
	switch code {
	case "internal_server_error", "timeout", "write_quorum_not_met", "nodedown", "no_majority", "service_unavailable",
		"too_many_requests", "unknown_outcome":
		return true
	case unknownError:
		return !repeated
	}
	return false
}

// unknownError is CouchDB's word for what it has no word for: crashes, and
// whatever a validation function threw.
const unknownError = "unknown_error"
