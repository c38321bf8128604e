package dynamoapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
	"github.com/sectional/sectional/internal/attribute/partiql"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/store"
)

// maxHashes is how many partition keys one SELECT may read, as at AWS.
const maxHashes = 50

var (
	errManyHashes  = attribute.Invalid("Too many decomposed read operations for a given query.")
	errOrderNoHash = attribute.Invalid("Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.")
	errOrderHashes = attribute.Invalid("Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.")
	errNextToken   = attribute.Invalid("Invalid NextToken")
	errOtherToken  = attribute.Invalid("NextToken does not match request")
)

// read answers a SELECT with a page.
func (e *execution) read() error {
	l := &listing{args: e.args, reports: e.reports, table: e.Table, index: e.Index, limit: e.limit, consistent: e.consistent, projection: e.Projection}
	token := e.args.text("NextToken")
	if e.err != nil {
		return e.err
	}
	var err error
	if l.t, err = e.table(l.table, false); err == nil {
		err = l.openIndex()
	}
	if err != nil {
		return err
	}
	e.t = l.t
	if token != nil {
		if err := e.goOn(l, *token); err != nil {
			return err
		}
	}
	hashes, err := e.access(l)
	if err != nil {
		return err
	}
	p := newPage(l, takeBuffer())
	err = l.t.db.Whole().View(e.Ctx(), func(rd *store.Reader) error {
		at := *l
		*p = *newPage(&at, p.out)
		return p.readHashes(e.Request, rd, hashes)
	})
	if err != nil {
		return noTable(err)
	}
	return e.answerPage(p)
}

// access finds out how to read what the SELECT wants: the partition keys in their order,
// nil for all of the table or index, and for the listing what holds for each.
func (e *execution) access(l *listing) ([]attribute.Value, error) {
	if e.Where != nil {
		if err := e.Where.Condition().CheckKeyPaths(l.keys()...); err != nil {
			return nil, err
		}
	}
	hash, sort := l.keyNames()
	a, err := e.Where.Access(hash, sort)
	if err != nil {
		return nil, err
	}
	if len(a.Hashes) > maxHashes {
		return nil, errManyHashes
	}
	l.filter, l.within.Bounds = a.Filter, a.Bounds
	return e.ordered(l, a.Hashes)
}

// ordered does what ORDER BY says.
func (e *execution) ordered(l *listing, hashes []attribute.Value) ([]attribute.Value, error) {
	var byHash *partiql.Order
	for i, o := range e.Order {
		switch at := slices.Index(l.keys(), o.Name); {
		case at < 0:
			return nil, attribute.Invalid("Variable reference %s in ORDER BY clause must be part of the primary key", o.Name)
		case at == 0:
			byHash = &e.Order[i]
		default:
			l.descending = o.Descending
		}
	}
	switch {
	case e.Order == nil:
		return hashes, nil
	case hashes == nil:
		return nil, errOrderNoHash
	case byHash == nil && len(hashes) > 1:
		return nil, errOrderHashes
	case byHash != nil:
		slices.SortFunc(hashes, func(a, b attribute.Value) int {
			order, _ := attribute.Compare(a, b)
			if byHash.Descending {
				return -order
			}
			return order
		})
	}
	return hashes, nil
}

// readHashes reads a page of several partition keys, one after the other; it begins with
// the one at which the page before it ended.
func (p *page) readHashes(r *Request, rd *store.Reader, hashes []attribute.Value) error {
	if hashes == nil {
		return p.read(r, rd)
	}
	bounds := p.within.Bounds
	if p.start.Len() > 0 {
		last, _ := p.start.Get(p.keys()[0])
		at := slices.IndexFunc(hashes, func(h attribute.Value) bool { return attribute.Equal(h, last) })
		hashes = hashes[max(at, 0):]
	}
	for _, h := range hashes {
		p.within = expr.Range{Hash: h, Bounds: bounds}
		if err := p.read(r, rd); err != nil || p.last != nil {
			return err
		}
		p.start = attribute.Item{}
	}
	return nil
}

// answerPage answers with a page.
func (e *execution) answerPage(p *page) error {
	b := append(p.out, ']')
	if p.last != nil {
		last := attribute.AppendItem(nil, attribute.NewItem(p.last))
		b = append(b, `,"NextToken":`...)
		b = jsonscan.AppendQuoted(b, e.nextToken(last))
		b = append(append(b, `,"LastEvaluatedKey":`...), last...)
	}
	return e.answerFrom(p.appendCapacity(b, p.t, p.cost()))
}

// Tokens say where a page ended, of which request and in which database. They are signed
// with a secret of the store, so that nobody makes one.
const (
	tokenVersion = 1
	tokenMAC     = 16
)

func (e *execution) nextToken(last []byte) string {
	w := packed.Writer{}
	w.Byte(tokenVersion)
	w.Text(e.digest())
	w.Uint(e.t.db.Number())
	w.Text(string(last))
	return base64.StdEncoding.EncodeToString(append(w, e.api.signToken(w)...))
}

func (a *API) signToken(b []byte) []byte {
	mac := hmac.New(sha256.New, a.Store.Secret("tokens of statements"))
	mac.Write(b)
	return mac.Sum(nil)[:tokenMAC]
}

// goOn lets a listing begin after what a token says.
func (e *execution) goOn(l *listing, token string) error {
	b, err := base64.StdEncoding.DecodeString(token)
	if err != nil || len(b) < tokenMAC {
		return errNextToken
	}
	content, mac := b[:len(b)-tokenMAC], b[len(b)-tokenMAC:]
	if !hmac.Equal(mac, e.api.signToken(content)) {
		return errNextToken
	}
	r := packed.ReadVersion(content, tokenVersion)
	digest, number, last := r.Text(), r.Uint(), r.Text()
	switch {
	case r.Done() != nil:
		return errNextToken
	case digest != e.digest(), number != e.t.db.Number():
		return errOtherToken
	}
	l.start, err = attribute.ParseItem([]byte(last))
	return err
}
