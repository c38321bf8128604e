package documents

import (
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// revsDiff answers _revs_diff: which of the listed revisions the database
// lacks, and which of its leaves may be their ancestors.
func revsDiff(r *couchhttp.Request) error {
	return diff(r, func(b []byte) []byte { return append(b, '{') },
		func(b []byte, missing, ancestors []document.Rev) []byte {
			b = append(b, `{"missing":`...)
			b = couchwire.AppendRevs(b, missing)
			if len(ancestors) > 0 {
				b = append(b, `,"possible_ancestors":`...)
				b = couchwire.AppendRevs(b, ancestors)
			}
			return append(b, '}')
		}, "}")
}

// missingRevs answers _missing_revs, the older form of it.
func missingRevs(r *couchhttp.Request) error {
	return diff(r, func(b []byte) []byte { return append(b, `{"missing_revs":{`...) },
		func(b []byte, missing, _ []document.Rev) []byte { return couchwire.AppendRevs(b, missing) }, "}}")
}

// diff answers with an object that has a member for each document that lacks a
// revision.
func diff(r *couchhttp.Request, begin func([]byte) []byte, row func(b []byte, missing, ancestors []document.Rev) []byte, end string) error {
	raw, err := r.JSONBody()
	if err != nil {
		return err
	}
	lists, err := couchwire.ParseRevLists(raw)
	if err != nil {
		return err
	}
	s := r.Stream(http.StatusOK, web.JSON)
	s.Buf = begin(s.Buf)
	first := true
	for len(lists) > 0 {
		page := lists[:min(len(lists), diffPage)]
		lists = lists[len(page):]
		err := r.Scope.View(r.Ctx(), func(rd *store.Reader) error {
			if err := fetchLists(r, rd, page); err != nil {
				return err
			}
			for i := range page {
				missing, ancestors, err := missing(r, rd, &page[i])
				if err != nil {
					return err
				}
				if len(missing) == 0 {
					continue
				}
				if !first {
					s.Buf = append(s.Buf, ',')
				}
				first = false
				s.Buf = append(couchhttp.AppendString(s.Buf, page[i].ID), ':')
				s.Buf = row(s.Buf, missing, ancestors)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := s.Spill(); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, end...)
	s.Buf = append(s.Buf, '\n')
	return s.End()
}

// diffPage is how many documents of a diff are looked up at one snapshot.
const diffPage = 500

// fetchLists reads ahead what missing will read.
func fetchLists(r *couchhttp.Request, rd *store.Reader, page []couchwire.RevList) error {
	asks := make([]store.Ask, 0, len(page))
	for i := range page {
		if id, err := r.FindID(page[i].ID); err == nil {
			asks = append(asks, store.Ask{ID: id, Creates: true})
		}
	}
	return rd.Fetch(asks)
}

// missing compares one list with the document's tree. An id that no document
// can have lacks every revision, and so does one that the scope can't have: a
// replicating client is refused that document when it writes it, and goes on.
func missing(r *couchhttp.Request, rd *store.Reader, list *couchwire.RevList) (missing, ancestors []document.Rev, err error) {
	id, err := r.FindID(list.ID)
	if dberr.Is(err, dberr.NotFound) || dberr.Is(err, dberr.Forbidden) {
		return list.Revs, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return rd.Missing(id, list.Revs)
}
