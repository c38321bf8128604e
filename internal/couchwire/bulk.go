package couchwire

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
)

// Bulk is the body of a _bulk_docs request.
type Bulk struct {
	Docs     []Document
	NewEdits bool // default true
	Atomic   bool // all documents or none: ours
	Across   bool // an atomic one may be in several partitions
	// AllOrNothing asks for what CouchDB 1 had: all documents are stored, as
	// conflicts if need be.
	AllOrNothing bool
}

// ParseBulk reads the body of a _bulk_docs request. The documents are found by
// their brackets and then each read once, by ParseDocument, which checks every
// byte of them: the list costs one quick look over its bytes and no second
// parse. A document that is too large is refused by itself (Document.Refused).
// Errors: Invalid for anything that is malformed, and TooLarge for too many.
func ParseBulk(raw []byte, r *Rules) (*Bulk, error) {
	p := bulkParser{rules: r, seen: map[string]bool{}}
	p.bulk.NewEdits = true
	if err := eachMember(raw, p.member); err != nil {
		return nil, err
	}
	if !p.seen["docs"] {
		return nil, badRequest("POST body must include `docs` parameter.")
	}
	return &p.bulk, nil
}

type bulkParser struct {
	rules *Rules
	seen  map[string]bool
	bulk  Bulk
}

// member reads the member whose value begins at raw[i] and returns the index
// after it.
func (p *bulkParser) member(name string, raw []byte, i int) (int, error) {
	if p.seen[name] {
		return i, badRequest("The member `%s` stands twice in the body.", name)
	}
	p.seen[name] = true
	if name == "docs" && raw[i] == '[' {
		p.bulk.Docs = make([]Document, 0, 16)
		return walk(raw, i, ']', p.document)
	}
	end := jsonscan.End(raw, i)
	v := raw[i:end]
	if err := checkValue(v); err != nil {
		return i, err
	}
	switch name {
	case "docs":
		return i, badRequest("`docs` parameter must be an array.")
	case "new_edits":
		return end, setBool(&p.bulk.NewEdits, name, v)
	case "atomic":
		if p.bulk.Across = string(v) == `"database"`; p.bulk.Across {
			v = []byte("true")
		}
		if setBool(&p.bulk.Atomic, name, v) != nil {
			return end, badRequest("`atomic` parameter must be a boolean or \"database\".")
		}
	case "all_or_nothing":
		p.bulk.AllOrNothing = string(v) == "true"
	}
	return end, nil
}

func (p *bulkParser) document(raw []byte, i int) (int, error) {
	if most := p.rules.MaxBulkDocs; most > 0 && len(p.bulk.Docs) == most {
		return i, dberr.New(dberr.TooLarge, "max_bulk_docs_count_exceeded", "%d (the limit: [couchdb] max_bulk_docs_count)", most)
	}
	end := jsonscan.End(raw, i)
	if end <= i {
		return i, invalidJSON()
	}
	d, err := ParseDocument(raw[i:end], p.rules)
	if err == nil {
		err = d.CheckSize(p.rules)
	}
	if dberr.Is(err, dberr.TooLarge) {
		d.Refused, d.Body, d.Attachments, err = err, nil, nil, nil
	} else if err == nil {
		err = d.CheckComplete()
	}
	if err != nil {
		return end, Nth(err, len(p.bulk.Docs), idOf(raw[i:end]))
	}
	p.bulk.Docs = append(p.bulk.Docs, d)
	return end, nil
}

// idOf returns the id of a document that was refused, as JSON; nil for none.
func idOf(raw []byte) []byte {
	var d struct {
		ID json.RawMessage `json:"_id"`
	}
	if json.Unmarshal(raw, &d) != nil { // it checks what nobody has checked yet
		return nil
	}
	return d.ID
}

// longestShown is the length up to which an error shows an id.
const longestShown = 200

// Nth returns an Invalid error that is about one document of a list its place: its
// index, from 0, and its id as JSON, if it has one. A text that is not JSON has a place
// of another kind.
func Nth(err error, n int, id []byte) error {
	if !dberr.Is(err, dberr.Invalid) || errors.Is(err, document.ErrNotJSON) {
		return err
	}
	where := "docs[" + strconv.Itoa(n) + "]"
	switch {
	case len(id) > longestShown:
		where += ", an _id of " + strconv.Itoa(len(id)) + " bytes"
	case len(id) > 0:
		where += ", _id " + string(id)
	}
	return dberr.Locate(err, where)
}

func setBool(to *bool, name string, v []byte) error {
	switch string(v) {
	case "true":
		*to = true
	case "false":
		*to = false
	default:
		return badRequest("`%s` parameter must be a boolean.", name)
	}
	return nil
}

func checkValue(v []byte) error {
	if !json.Valid(v) {
		return invalidJSON()
	}
	return nil
}

// eachMember walks the members of the object raw. It checks everything but the
// values: value is called at the beginning of each, checks it and returns the
// index after it. Errors: Invalid when raw is not an object, and what value returns.
func eachMember(raw []byte, value func(name string, raw []byte, i int) (int, error)) error {
	raw = jsonscan.Trim(raw)
	if len(raw) == 0 || raw[0] != '{' {
		if err := checkValue(raw); err != nil {
			return err
		}
		return badRequest("Request body must be a JSON object")
	}
	end, err := walk(raw, 0, '}', func(raw []byte, i int) (int, error) {
		if raw[i] != '"' {
			return i, invalidJSON()
		}
		end := jsonscan.End(raw, i)
		var name string
		if json.Unmarshal(raw[i:end], &name) != nil {
			return i, invalidJSON()
		}
		i = skipSpace(raw, end)
		if i == len(raw) || raw[i] != ':' {
			return i, invalidJSON()
		}
		if i = skipSpace(raw, i+1); i == len(raw) {
			return i, invalidJSON()
		}
		return value(name, raw, i)
	})
	if err == nil && end != len(raw) {
		err = invalidJSON()
	}
	return err
}

// walk calls item at the beginning of each item of the object or array that
// begins at raw[i]; item returns the index after it. walk checks the separators
// and returns the index after the closing bracket.
func walk(raw []byte, i int, closing byte, item func(raw []byte, i int) (int, error)) (int, error) {
	i = skipSpace(raw, i+1)
	if i < len(raw) && raw[i] == closing {
		return i + 1, nil
	}
	for i < len(raw) {
		end, err := item(raw, i)
		if err != nil {
			return i, err
		}
		i = skipSpace(raw, end)
		if i < len(raw) && raw[i] == closing {
			return i + 1, nil
		}
		if i == len(raw) || raw[i] != ',' {
			break
		}
		i = skipSpace(raw, i+1)
	}
	return i, invalidJSON()
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}
