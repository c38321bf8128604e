package couchwire

import (
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
)

// Wanted is one entry of a _bulk_get request.
type Wanted struct {
	ID    document.ID
	Rev   document.Rev   // zero: every leaf
	Since []document.Rev // atts_since

	// Err says why the entry asks for nothing; ID and Rev mean nothing then.
	Err error
	// IDText and RevText are what an error says of the entry, as JSON.
	IDText  []byte
	RevText []byte
}

var (
	null      = []byte("null")
	undefined = []byte(`"undefined"`)
)

// ParseWanted reads the body of a _bulk_get request. What is wrong with one
// entry is reported in its Err. Errors: Invalid when there is no list.
func ParseWanted(raw []byte, r *Rules) ([]Wanted, error) {
	if err := checkValue(raw); err != nil {
		return nil, err
	}
	raw = jsonscan.Trim(raw)
	if jsonscan.KindOf(raw) != jsonscan.Object {
		return nil, badRequest("Request body must be a JSON object")
	}
	docs, ok := jsonscan.Member(raw, "docs")
	if !ok || jsonscan.KindOf(docs) != jsonscan.Array {
		return nil, badRequest("Missing JSON list of 'docs'.")
	}
	ws := []Wanted{}
	for e := jsonscan.ElementsOf(docs); ; {
		v, ok := e.Next()
		if !ok {
			return ws, nil
		}
		if r.MaxBulkGet > 0 && len(ws) == r.MaxBulkGet {
			return nil, dberr.New(dberr.TooLarge, "max_bulk_get_count_exceeded", "%d (the limit: [couchdb] max_bulk_get_count)", r.MaxBulkGet)
		}
		ws = append(ws, parseWanted(v, r))
	}
}

func parseWanted(v []byte, r *Rules) Wanted {
	w := Wanted{IDText: null, RevText: null}
	if jsonscan.KindOf(v) != jsonscan.Object || isEmpty(v) {
		w.Err = badRequest("document must be a JSON object")
		return w
	}
	id, ok := jsonscan.Member(v, "id")
	if !ok {
		w.Err = badRequest("document id missed")
		return w
	}
	w.IDText = id
	var d Document
	if w.Err = d.setID(id, r); w.Err != nil {
		return w
	}
	w.ID = d.ID
	w.RevText = undefined
	if rev, ok := jsonscan.Member(v, "rev"); ok {
		w.RevText = rev
		if w.Rev, w.Err = parseRevValue(rev); w.Err != nil {
			return w
		}
	}
	if since, ok := jsonscan.Member(v, "atts_since"); ok {
		if jsonscan.KindOf(since) != jsonscan.Array {
			w.RevText = since
			w.Err = badRequest("att_since value must be array of revs.")
			return w
		}
		w.Since, w.Err = parseRevs(since)
	}
	return w
}

func isEmpty(object []byte) bool {
	m := jsonscan.MembersOf(object)
	_, _, ok := m.Next()
	return !ok
}

// AppendMissing appends what an answer to _bulk_get says of an entry that
// can't be served.
func (w *Wanted) AppendMissing(dst []byte, word, reason string) []byte {
	dst = append(dst, `{"rev":`...)
	dst = append(dst, w.RevText...)
	dst = append(dst, `,"reason":`...)
	dst = jsonscan.AppendQuoted(dst, reason)
	dst = append(dst, `,"id":`...)
	dst = append(dst, w.IDText...)
	dst = append(dst, `,"error":`...)
	dst = jsonscan.AppendQuoted(dst, word)
	return append(dst, '}')
}

// RevList is a document and revisions of it: an entry of _revs_diff,
// _missing_revs and _purge requests.
type RevList struct {
	ID   string // not checked: some requests take any
	Revs []document.Rev
}

// ParseRevLists reads an object of lists of revisions by document id. Errors:
// Invalid.
func ParseRevLists(raw []byte) ([]RevList, error) {
	if err := checkValue(raw); err != nil {
		return nil, err
	}
	raw = jsonscan.Trim(raw)
	if jsonscan.KindOf(raw) != jsonscan.Object {
		return nil, badRequest("Request body must be a JSON object")
	}
	var lists []RevList
	seen := map[string]bool{}
	for ms := jsonscan.MembersOf(raw); ; {
		name, v, ok := ms.Next()
		if !ok {
			return lists, nil
		}
		id := string(jsonscan.Text(nil, name))
		if seen[id] {
			return nil, badRequest("The document '%s' stands twice in the body.", id)
		}
		seen[id] = true
		revs, err := parseRevs(v)
		if err != nil {
			return nil, err
		}
		lists = append(lists, RevList{ID: id, Revs: revs})
	}
}

// ParseRevList reads a JSON array of revisions, such as the value of open_revs
// or atts_since. Errors: Invalid.
func ParseRevList(raw []byte) ([]document.Rev, error) {
	if err := checkValue(raw); err != nil {
		return nil, err
	}
	return parseRevs(jsonscan.Trim(raw))
}

func parseRevs(v []byte) ([]document.Rev, error) {
	if jsonscan.KindOf(v) != jsonscan.Array {
		return nil, badRequest("Invalid list of revisions")
	}
	revs := []document.Rev{}
	for e := jsonscan.ElementsOf(v); ; {
		t, ok := e.Next()
		if !ok {
			return revs, nil
		}
		rev, err := parseRevValue(t)
		if err != nil {
			return nil, err
		}
		revs = append(revs, rev)
	}
}
