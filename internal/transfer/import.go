package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sectional/sectional/internal/couchclient"
	"github.com/sectional/sectional/internal/docfile"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/partitionkey"
	"github.com/sectional/sectional/internal/progress"
)

// Existing is what becomes of a document whose id is taken by one with other content.
type Existing string

// The choices.
const (
	Reject  Existing = "reject"
	Keep    Existing = "keep"    // the one that is there
	Replace Existing = "replace" // it
)

// Import is a task of storing the documents of a file. The zero values of all but Target work.
//
// Documents with a revision are stored as that revision (new_edits=false), with its history if they have it; the others
// as new ones. Both may be done again: what is there already is not written twice. So a document without an id gets one
// made of its line and text, which is the same in the next run.
type Import struct {
	Target   *couchclient.Client
	ID       *partitionkey.Template // makes the ids; nil: the documents have theirs
	NoRevs   bool                   // leave revisions out: all documents are new
	Existing Existing               // "": Reject
	Skip     int64                  // lines that an earlier run has stored
	Line     *progress.Line
	Size     int64 // of the file in bytes, for the progress; 0: not known
	Read     func() int64
	// Rejected is told what was not stored; nil: nobody. Calls do not overlap.
	Rejected func(Rejected)
}

// Rejected is a document of a file that was not stored.
type Rejected struct {
	Line   int64           `json:"line"`
	ID     string          `json:"id,omitempty"`
	Code   string          `json:"error"`
	Reason string          `json:"reason"`
	Doc    json.RawMessage `json:"doc,omitempty"` // as it was sent
}

// Imported is what an import did.
type Imported struct {
	Read      int64 `json:"read"`      // documents
	Written   int64 `json:"written"`   // documents, or revisions
	Unchanged int64 `json:"unchanged"` // were there, the same
	Kept      int64 `json:"kept"`      // were there with other content, which stays
	Rejected  int64 `json:"rejected"`
	Through   int64 `json:"through"` // up to this line everything is stored, or rejected
}

// What is sent in one request, and how many at once.
const (
	batchBytes = 4 << 20
	batchDocs  = 1000
	inFlight   = 4
)

// entry is a document on its way.
type entry struct {
	line int64
	id   string
	raw  []byte
}

// batch is what goes in one request.
type batch struct {
	first     int64 // its first line
	revisions bool  // with the revisions that the documents have
	size      int
	docs      []entry
}

// Run stores what a reader gives. Errors: why the file or the target can't be used any further; what was stored stays,
// and the outcome says up to which line.
func (m *Import) Run(ctx context.Context, from docfile.Reader) (Imported, error) {
	r := &importing{Import: m, open: map[*batch]bool{}}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(inFlight + 1)
	g.Go(func() error { return r.read(ctx, from, g) })
	err := g.Wait()
	return r.outcome(), err
}

// Create makes a database, with partitions or without, if it is not there. Errors: those of the client.
func Create(ctx context.Context, target *couchclient.Client, partitioned bool) error {
	query := ""
	if partitioned {
		query = "?partitioned=true"
	}
	err := target.JSON(ctx, http.MethodPut, query, nil, nil)
	if couchclient.StatusOf(err) == http.StatusPreconditionFailed {
		return nil // it is there
	}
	return err
}

// importing is one run of an import.
type importing struct {
	*Import
	filling [2]*batch // the one without revisions, and the one with
	mu      sync.Mutex
	did     Imported
	line    int64 // read last
	open    map[*batch]bool
}

// read fills batches and has them sent.
func (r *importing) read(ctx context.Context, from docfile.Reader, g *errgroup.Group) error {
	for ctx.Err() == nil {
		doc, err := from.Next()
		if errors.Is(err, io.EOF) {
			for _, b := range r.filling {
				r.send(ctx, b, g)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if doc.Line <= r.Skip {
			continue
		}
		r.count(func(d *Imported) { d.Read++; r.line = doc.Line })
		if doc.Err != nil {
			r.reject(Rejected{Line: doc.Line, Code: "unreadable", Reason: doc.Err.Error()})
			continue
		}
		e, revisions, why := r.prepare(doc)
		if why != "" {
			r.reject(Rejected{Line: doc.Line, Code: "no_id", Reason: why, Doc: doc.Raw})
			continue
		}
		r.add(ctx, e, revisions, g)
	}
	return context.Cause(ctx)
}

// prepare gives a document its id, and says whether it is a revision.
func (r *importing) prepare(doc docfile.Doc) (e entry, revisions bool, why string) {
	e = entry{line: doc.Line, raw: doc.Raw}
	named := false
	for m := jsonscan.MembersOf(doc.Raw); ; {
		name, value, ok := m.Next()
		if !ok {
			break
		}
		switch {
		case jsonscan.NameIs(name, "_id") && jsonscan.KindOf(value) == jsonscan.String:
			e.id, named = string(jsonscan.Text(nil, value)), true
		case jsonscan.NameIs(name, "_rev"), jsonscan.NameIs(name, "_revisions"):
			revisions = true
		}
	}
	if !named {
		sum := sha256.Sum256(append(strconv.AppendInt(nil, doc.Line, 10), doc.Raw...))
		e.id = hex.EncodeToString(sum[:16])
	}
	if r.ID != nil && !isReserved(e.id) {
		if e.id, why = r.ID.Text(e.id, doc.Raw); why != "" {
			return e, false, why
		}
		named = false
	}
	if revisions && r.NoRevs {
		e.raw, revisions = without(e.raw), false
	}
	if !named {
		e.raw = docfile.WithID(e.raw, e.id)
	}
	return e, revisions, ""
}

// isReserved reports whether an id is of a design document.
func isReserved(id string) bool { return len(id) > 0 && id[0] == '_' }

// without returns a document without what it says of its revisions.
func without(doc []byte) []byte {
	out := append(make([]byte, 0, len(doc)), '{')
	for m := jsonscan.MembersOf(doc); ; {
		name, value, ok := m.Next()
		if !ok {
			return append(out, '}')
		}
		if !jsonscan.NameIs(name, "_rev") && !jsonscan.NameIs(name, "_revisions") && !jsonscan.NameIs(name, "_conflicts") {
			out = jsonscan.AppendMember(out, name, value)
		}
	}
}

// add puts a document into its batch, which goes out when it is full.
func (r *importing) add(ctx context.Context, e entry, revisions bool, g *errgroup.Group) {
	n := 0
	if revisions {
		n = 1
	}
	b := r.filling[n]
	if b != nil && (len(b.docs) >= batchDocs || b.size+len(e.raw) > batchBytes) {
		r.send(ctx, b, g)
		b = nil
	}
	if b == nil {
		b = &batch{first: e.line, revisions: revisions}
		r.mu.Lock()
		r.filling[n], r.open[b] = b, true
		r.mu.Unlock()
	}
	b.docs, b.size = append(b.docs, e), b.size+len(e.raw)+1
}

// send has a batch stored.
func (r *importing) send(ctx context.Context, b *batch, g *errgroup.Group) {
	if b == nil {
		return
	}
	g.Go(func() error {
		if err := r.store(ctx, b.docs, b.revisions); err != nil {
			return err
		}
		r.mu.Lock()
		delete(r.open, b)
		r.mu.Unlock()
		r.show()
		return nil
	})
}

func (r *importing) show() {
	r.mu.Lock()
	d := r.did
	r.mu.Unlock()
	done := ""
	if r.Size > 0 && r.Read != nil {
		done = fmt.Sprintf(", %d %%", min(100, 100*r.Read()/r.Size))
	}
	r.Line.Show("%d documents, %d rejected%s", d.Read, d.Rejected, done)
}

func (r *importing) count(change func(*Imported)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.did)
}

func (r *importing) reject(j Rejected) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.did.Rejected++
	if r.Rejected != nil {
		r.Rejected(j)
	}
}

// outcome returns what was done.
func (r *importing) outcome() Imported {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.did.Through = max(r.line, r.Skip)
	for b := range r.open {
		r.did.Through = min(r.did.Through, b.first-1)
	}
	return r.did
}

// store writes documents. A request that is refused because of one of them, or of its size, is made again in halves.
func (r *importing) store(ctx context.Context, docs []entry, revisions bool) error {
	body := []byte(`{"docs":[`)
	if revisions {
		body = []byte(`{"new_edits":false,"docs":[`)
	}
	for i, e := range docs {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, e.raw...)
	}
	text, _, err := r.Target.Whole(ctx, couchclient.Request{Method: http.MethodPost, Path: "/_bulk_docs", Body: append(body, "]}"...)})
	var e *couchclient.Error
	switch {
	case err == nil:
		return r.applyAnswer(ctx, docs, revisions, text)
	case !errors.As(err, &e) || !perDocument(e.Status):
		return err
	case len(docs) > 1:
		if err := r.store(ctx, docs[:len(docs)/2], revisions); err != nil {
			return err
		}
		return r.store(ctx, docs[len(docs)/2:], revisions)
	}
	r.refused(docs[0], e.Code, e.Reason)
	return nil
}

// perDocument reports whether a refusal of a whole request may be for one document in it.
func perDocument(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusExpectationFailed:
		return true
	}
	return false
}

func (r *importing) refused(e entry, code, reason string) {
	r.reject(Rejected{Line: e.line, ID: e.id, Code: code, Reason: reason, Doc: e.raw})
}

// applyAnswer takes the answer to a _bulk_docs: a row for each document, or, of revisions, one for each that was refused.
func (r *importing) applyAnswer(ctx context.Context, docs []entry, revisions bool, answer []byte) error {
	if !json.Valid(answer) || jsonscan.KindOf(answer) != jsonscan.Array {
		return errors.New("what answers at the target is not a database")
	}
	written := int64(len(docs))
	var taken []entry
	for i, e := 0, jsonscan.ElementsOf(answer); ; i++ {
		row, ok := e.Next()
		if !ok {
			break
		}
		code, refused := jsonscan.Member(row, "error")
		if !refused {
			continue
		}
		written--
		of, ok := rowOf(docs, i, row, revisions)
		if !ok {
			continue
		}
		if string(code) == `"conflict"` && !revisions {
			taken = append(taken, of)
			continue
		}
		reason, _ := jsonscan.Member(row, "reason")
		r.refused(of, string(jsonscan.Text(nil, code)), string(jsonscan.Text(nil, reason)))
	}
	r.count(func(d *Imported) { d.Written += written })
	if len(taken) == 0 {
		return nil
	}
	return r.compare(ctx, taken)
}

// rowOf returns the document that a row of an answer is of.
func rowOf(docs []entry, i int, row []byte, revisions bool) (entry, bool) {
	if !revisions {
		if i < len(docs) {
			return docs[i], true
		}
		return entry{}, false
	}
	id, _ := jsonscan.Member(row, "id")
	for _, d := range docs {
		if d.id == string(jsonscan.Text(nil, id)) {
			return d, true
		}
	}
	return entry{}, false
}
