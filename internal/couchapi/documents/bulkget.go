package documents

import (
	"crypto/rand"
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

var bulkGetParams = couchhttp.Params[ReadOptions]{
	"latest":            readParams["latest"],
	"revs":              readParams["revs"],
	"attachments":       readParams["attachments"],
	"att_encoding_info": readParams["att_encoding_info"],
}

// bulkGet answers _bulk_get. Entries are read a page at a time, so that no snapshot
// stays open while the client reads.
func bulkGet(r *couchhttp.Request) error {
	raw, err := r.JSONBody()
	if err != nil {
		return err
	}
	wanted, err := couchwire.ParseWanted(raw, r.Rules())
	if err != nil {
		return err
	}
	var o ReadOptions
	if err := bulkGetParams.Read(r.Query, &o); err != nil {
		return err
	}
	accept := r.Header("Accept")
	switch {
	case web.Accepts(accept, web.JSON):
		return bulkGetJSON(r, wanted, o)
	case web.Accepts(accept, "multipart/mixed"):
		return bulkGetMultipart(r, wanted, o, "mixed")
	case web.Accepts(accept, "multipart/related"):
		return bulkGetMultipart(r, wanted, o, "related")
	}
	return dberr.New(dberr.Invalid, "not_acceptable", "Accept application/json, multipart/mixed or multipart/related.")
}

// entryAnswer is what there is to an entry. Errors are the entry's own.
type entryAnswer struct {
	*couchwire.Wanted
	items []opened
	err   error
}

// entryBytes is how much is in memory for the next entries, about; itemBytes is what a
// revision takes beside its body.
const (
	entryBytes = 1 << 20
	itemBytes  = 512
)

var errRepeated = dberr.New(dberr.Invalid, couchhttp.TooManyRevisions,
	"The request has named the document before, and has been answered more than %d revisions of such documents. Ask for one revision, or in another request.", couchhttp.MaxRepeatedRevs)

// bulkRead is what a request of _bulk_get has read.
type bulkRead struct {
	r        *couchhttp.Request
	o        *ReadOptions
	ahead    store.Ahead
	named    map[document.ID]struct{}
	repeated int // revisions of documents named before, beyond one for each entry
}

// answers returns what the entries ask for, in their order. Those of a page are read
// together, and no snapshot is open when fn is called.
func answers(r *couchhttp.Request, wanted []couchwire.Wanted, o ReadOptions, fn func(*entryAnswer) error) error {
	b := bulkRead{r: r, o: &o, ahead: r.Scope.Ahead(store.Ahead{Docs: len(wanted), Bytes: entryBytes}), named: map[document.ID]struct{}{}}
	for rest := wanted; len(rest) > 0; {
		page := make([]entryAnswer, min(b.ahead.Next(), len(rest)))
		for i := range page {
			page[i] = entryAnswer{Wanted: &rest[i]}
		}
		n, err := b.read(page)
		if err != nil {
			return err
		}
		rest = rest[n:]
		b.ahead.NewPage()
		for i := range page[:n] {
			if err := page[i].err; err != nil && !refusedEntry(err) {
				return err
			}
			if err := fn(&page[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// read reads a page of entries at one snapshot, the first n of it if those are large.
// Each document is read once for them.
func (b *bulkRead) read(page []entryAnswer) (n int, err error) {
	asks := make([]store.Ask, 0, len(page))
	for i := range page {
		e := &page[i]
		if e.err = checkEntry(b.r, e.Wanted); e.err == nil {
			asks = append(asks, store.Ask{ID: e.ID, Head: true, Winner: e.Rev.IsZero(), Rev: e.Rev})
		}
	}
	err = b.r.Scope.View(b.r.Ctx(), func(rd *store.Reader) error {
		if err := b.ahead.Fetch(rd, asks); err != nil {
			return err
		}
		docs := make(map[document.ID]*store.Doc, len(asks))
		for bytes := 0; n < len(page) && bytes < entryBytes; n++ {
			e := &page[n]
			if e.err == nil {
				e.items, e.err = b.open(rd, docs, e.Wanted)
			}
			bytes += e.size()
		}
		return nil
	})
	return n, err
}

// size is how much memory the entry takes, about.
func (e *entryAnswer) size() (n int) {
	n = itemBytes * len(e.items)
	for _, it := range e.items {
		if it.found != nil {
			n += len(it.found.Body)
		}
	}
	return n
}

// checkEntry refuses an entry that can name no document here.
func checkEntry(r *couchhttp.Request, w *couchwire.Wanted) error {
	if w.Err != nil {
		return w.Err
	}
	if w.ID.IsLocal() {
		return couchhttp.ErrMissing
	}
	if r.Scope.Partitioned() {
		if err := w.ID.CheckPartitioned(); err != nil {
			w.RevText = []byte("null")
			return err
		}
	}
	return r.Scope.CheckID(w.ID)
}

// open reads what one entry asks for, of a document in docs or read for it.
func (b *bulkRead) open(rd *store.Reader, docs map[document.ID]*store.Doc, w *couchwire.Wanted) (items []opened, err error) {
	_, again := b.named[w.ID]
	if again && b.repeated > couchhttp.MaxRepeatedRevs {
		return nil, errRepeated
	}
	b.named[w.ID] = struct{}{}
	doc := docs[w.ID]
	if doc == nil {
		if doc, err = rd.Doc(w.ID); err != nil {
			return nil, err
		}
		docs[w.ID] = doc
	}
	o := *b.o
	o.openAll = w.Rev.IsZero()
	o.open = []document.Rev{w.Rev}
	if len(w.Since) > 0 {
		o.since, o.attachments = w.Since, true
	}
	l := &loader{r: b.r, rd: rd, doc: doc, o: &o}
	if items, err = l.openRevs(); again && len(items) > 1 {
		b.repeated += len(items) - 1
	}
	return items, err
}

// refusedEntry tells an error that is an entry's own from one that ends the
// whole answer.
func refusedEntry(err error) bool {
	switch dberr.KindOf(err) {
	case dberr.Invalid, dberr.NotFound, dberr.Forbidden, dberr.Unauthorized, dberr.Conflict:
		return true
	}
	return false
}

func appendEntryError(dst []byte, w *couchwire.Wanted, err error) []byte {
	_, word, reason := couchhttp.Words(err)
	return w.AppendMissing(dst, word, reason)
}

func bulkGetJSON(r *couchhttp.Request, wanted []couchwire.Wanted, o ReadOptions) error {
	s := r.Stream(http.StatusOK, web.JSON)
	s.Buf = append(s.Buf, `{"results":[`...)
	between := ""
	err := answers(r, wanted, o, func(e *entryAnswer) error {
		s.Buf = append(s.Buf, between...)
		between = ","
		return streamEntry(r, s, e)
	})
	if err != nil {
		return err
	}
	s.Buf = append(s.Buf, "]}\n"...)
	return s.End()
}

// streamEntry writes the results of one entry.
func streamEntry(r *couchhttp.Request, s *web.Stream, e *entryAnswer) error {
	w, items := e.Wanted, e.items
	s.Buf = append(s.Buf, `{"id":`...)
	s.Buf = append(s.Buf, w.IDText...)
	s.Buf = append(s.Buf, `,"docs":[`...)
	if e.err != nil {
		s.Buf = append(s.Buf, `{"error":`...)
		s.Buf = append(appendEntryError(s.Buf, w, e.err), '}')
	}
	for i := range items {
		if i > 0 {
			s.Buf = append(s.Buf, ',')
		}
		if items[i].found == nil {
			s.Buf = append(s.Buf, `{"error":`...)
			s.Buf = append(appendEntryError(s.Buf, w, couchhttp.ErrMissing), '}')
		} else if err := streamOpened(r, s, &items[i]); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "]}"...)
	return s.Spill()
}

// bulkGetMultipart answers with a part for each revision; one with attachments
// is a multipart/related part of its own.
func bulkGetMultipart(r *couchhttp.Request, wanted []couchwire.Wanted, o ReadOptions, sub string) error {
	boundary, err := bulkBoundary()
	if err != nil {
		return err
	}
	s := r.Stream(http.StatusOK, "multipart/"+sub+`; boundary="`+boundary+`"`)
	// CouchDB ends a line before the first delimiter and after the last.
	s.Buf = append(s.Buf, "\r\n"...)
	parts := couchwire.NewParts(s, boundary)
	err = answers(r, wanted, o, func(e *entryAnswer) error {
		items, missing := e.items, error(couchhttp.ErrMissing)
		if e.err != nil {
			items, missing = []opened{{}}, e.err
		}
		for i := range items {
			if err := bulkPart(r, s, parts, &items[i], e.Wanted, missing); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = parts.Close()
	}
	if err != nil {
		return err
	}
	s.Buf = append(s.Buf, "\r\n"...)
	return s.End()
}

func bulkPart(r *couchhttp.Request, s *web.Stream, parts *couchwire.Parts, it *opened, w *couchwire.Wanted, missing error) error {
	f := it.found
	switch {
	case f == nil:
		if err := parts.Part("Content-Type", `application/json; error="true"`); err != nil {
			return err
		}
		s.Buf = appendEntryError(s.Buf, w, missing)
		return s.Spill()
	case len(f.Attachments) == 0:
		if err := parts.Part("Content-Type", web.JSON); err != nil {
			return err
		}
		s.Buf = couchwire.AppendDocument(s.Buf, &f.Revision, f.form)
		return s.Spill()
	}
	inner, err := bulkBoundary()
	if err != nil {
		return err
	}
	if err := parts.Part("X-Doc-Id", string(f.ID), "X-Rev-Id", f.Rev.String(), "Content-Type", "multipart/related; boundary="+inner); err != nil {
		return err
	}
	return couchwire.WriteRelated(s, inner, &f.Revision, f.form, r.Open)
}

// bulkBoundary makes a boundary as CouchDB's _bulk_get has it.
func bulkBoundary() (string, error) {
	b, err := couchwire.NewBoundary(rand.Reader)
	return "--" + b, err
}
