package lists

import (
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// ListKind is a kind of list: which ids it has.
type ListKind struct {
	from, to string // from ≤ id < to; "" for no bound
	local    bool   // local documents, which nobody counts
}

var (
	AllDocsKind    = &ListKind{}
	designDocsKind = &ListKind{from: "_design/", to: "_design0"}
	localDocsKind  = &ListKind{local: true}
)

// has reports whether an id asked for by key may be in the list. Local
// documents are found by key in the list of all, as in CouchDB.
func (k *ListKind) has(id string) bool {
	if k.local {
		return document.ID(id).IsLocal()
	}
	return id != "" && id >= k.from && (k.to == "" || id < k.to)
}

// all is the span of the whole list.
func (k *ListKind) all() store.Span { return store.Span{From: k.from, To: k.to, Before: k.to != ""} }

// span returns the ids that a query asks for. empty is true if none can match.
func (k *ListKind) span(q *listQuery) (sp store.Span, empty bool) {
	low, high := q.start, q.end
	if q.descending {
		low, high = q.end, q.start
	}
	sp = k.all()
	sp.Descending = q.descending
	if low.set && low.text && low.id >= sp.From {
		sp.From = low.id
		if q.exclusive && q.descending {
			sp.From += "\x00"
		}
	}
	if !high.set {
		return sp, false
	}
	if !high.text || high.id == "" {
		return sp, true // before every id
	}
	if sp.To == "" || high.id < sp.To {
		sp.To, sp.Before = high.id, q.exclusive && !q.descending
	}
	return sp, sp.From > sp.To
}

// before returns the span of the rows before the first one asked for;
// some is false if there are none for certain.
func (k *ListKind) before(q *listQuery) (sp store.Span, some bool) {
	sp = k.all()
	switch {
	case !q.start.set:
		return sp, false
	case !q.descending:
		if !q.start.text || q.start.id <= sp.From {
			return sp, false
		}
		if sp.To == "" || q.start.id < sp.To {
			sp.To, sp.Before = q.start.id, true
		}
	case q.start.text && q.start.id >= sp.From:
		sp.From = q.start.id + "\x00"
	}
	return sp, true
}
