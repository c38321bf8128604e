package query

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/index/text/find"
	"github.com/sectional/sectional/internal/index/text/mango"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/lucene"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

// textPath is a text index of Mango's as an access path. What it reads is one run, whose
// bytes are the text of a full-text query and its sort; its order is that of the sort, or
// of scores. A position in it is a bookmark of package find.
type textPath struct {
	named   *index.Named
	kind    *text.Kind
	def     *mango.Def
	reaches bool
	// queries are what the runs mean that reach gave.
	queries map[string]*textQuery
}

// textQuery is what is asked of the index.
type textQuery struct {
	query lucene.Node
	sort  []find.Order
	shown string
}

// String returns the query for people.
func (q *textQuery) String() string { return q.shown }

// textPathOf returns the path of an index; nil if it is none of Mango's text indexes.
func textPathOf(n *index.Named) *textPath {
	kind, is := n.Index.Kind.(*text.Kind)
	if !is || text.Of(n.Index) == nil || text.Of(n.Index).Mango == nil {
		return nil
	}
	return &textPath{named: n, kind: kind, def: text.Of(n.Index).Mango, queries: map[string]*textQuery{}}
}

const (
	emptySelector reason = "empty_selector"
	needsText     reason = "needs_text_search"
)

func (p *textPath) index() *index.Named { return p.named }

// reach implements accessPath.
func (p *textPath) reach(req *Request, all []conjunct) (reach, reason, error) {
	root := req.Selector.Root()
	chosen := req.chose(p.named)
	switch {
	case p.def.Partial != nil && !chosen && (req.words || !implied(all, p.def.Partial.Root())):
		return reach{}, isPartial, nil // of $text it would be one index of several
	case !p.reaches:
		return reach{}, scopeMismatch, nil
	case root == nil || len(all) == 0:
		return reach{}, emptySelector, nil
	case req.words && !p.def.Default:
		return reach{}, fieldMismatch, nil
	}
	q := p.query(root, all, req.words, chosen || req.words)
	switch {
	case q == nil && req.words && p.def.All: // a document may match without its words
		q = &lucene.All{Boost: 1}
	case q == nil:
		return reach{}, fieldMismatch, nil
	}
	sort, guessed, ok := p.sort(req)
	if !ok {
		return reach{}, sortMismatch, nil
	}
	asked := &textQuery{query: q, sort: sort, shown: q.String()}
	run := fmt.Sprintf("%s\x00%+v", asked.shown, sort)
	p.queries[run] = asked
	return reach{
		ranges: []Range{{field.Span{From: []byte(run)}, []fmt.Stringer{asked}}},
		ranged: true, words: true, width: 1, estimated: guessed && !chosen && !req.words,
	}, "", nil
}

// query makes the query of a selector, or of those conjuncts of it; nil if the index
// can't narrow down what is meant.
func (p *textPath) query(root *selector.Node, all []conjunct, words, chosen bool) lucene.Node {
	if words {
		return p.def.Query(root, chosen)
	}
	var alternatives []lucene.Node
	for i := range all {
		var both []lucene.Node
		for _, leaf := range all[i].leaves {
			both = append(both, p.def.Query(leaf, chosen))
		}
		alternatives = append(alternatives, mango.Both(both...))
	}
	return mango.Either(alternatives...)
}

// sort makes the sort of a request, whose fields name their types: "price:number". Of one
// that doesn't the type is guessed from the selector.
func (p *textPath) sort(req *Request) (orders []find.Order, guessed, ok bool) {
	for _, s := range req.Sort {
		name := s.Path.String()
		in, numbers, ok := mango.SortField(name)
		if !ok {
			guessed = true
			in, numbers, ok = mango.SortField(name + ":" + typeOf(req.Selector.Root(), name))
		}
		if !ok {
			return nil, false, false
		}
		o := find.Order{By: find.Texts, Field: in, Descending: s.Desc}
		if numbers {
			o.By = find.Numbers
		}
		orders = append(orders, o)
	}
	if len(orders) == 0 && !req.words {
		orders = []find.Order{{By: find.Place}} // by id: scores mean nothing here
	}
	return orders, guessed, true
}

// typeOf returns the one type of the values to which a selector compares a field; "" if
// there is none, or several.
func typeOf(n *selector.Node, path string) (typ string) {
	for _, of := range typesOf(n, path) {
		if typ != "" && typ != of {
			return ""
		}
		typ = of
	}
	return typ
}

func typesOf(n *selector.Node, path string) (types []string) {
	if n.Path != nil && n.Path.String() == path && len(n.Arg) > 0 {
		switch c := n.Arg[0]; {
		case c == '"':
			return []string{"string"}
		case c == '-' || '0' <= c && c <= '9':
			return []string{"number"}
		}
	}
	for _, k := range n.Kids {
		types = append(types, typesOf(k, path)...)
	}
	return types
}

// order implements accessPath: reach has refused the sorts that there are not.
func (p *textPath) order([]SortField, []conjunct) (reading, bool) { return reading{}, true }

// covers implements accessPath: documents are always read.
func (p *textPath) covers(*selector.Selector, []*selector.Path) *shape { return nil }

// shared reports whether the index is the database's, of which the reader, a tenant, has one
// partition: its ids are the stored ones.
func (p *textPath) shared(r *store.Reader) bool {
	return r.Tenant() != "" && p.named.Index.Tenant == ""
}

// stored returns the id that a document has in the index.
func (p *textPath) stored(r *store.Reader, id document.ID) document.ID {
	if p.shared(r) {
		return r.Stored(id)
	}
	return id
}

// open reads the index, or the partition of it that the reader's scope is.
func (p *textPath) open(r *store.Reader) (*segment.Reader, error) {
	part := r.Partition()
	if p.shared(r) {
		part, r = r.Tenant(), r.As(r.DatabaseNamespace())
	}
	over, err := p.kind.NewReader(r, p.named.Index, part)
	return over, damagedBy(p.named.Index, err)
}

// damagedBy adds to an error that says so which index is damaged.
func damagedBy(x *index.Index, err error) error {
	if found := (*index.Damaged)(nil); errors.As(err, &found) {
		return &damagedIndex{x, err}
	}
	return err
}

// damagedIndex says which index is damaged.
type damagedIndex struct {
	index *index.Index
	error
}

func (d *damagedIndex) Unwrap() error { return d.error }

// repair has an index built anew if err says that it is damaged, and returns the error for
// whoever asked.
func repair(ctx context.Context, x *index.Indexes, scope store.Scope, err error) error {
	var found *damagedIndex
	if !errors.As(err, &found) {
		return err
	}
	return x.Repair(ctx, scope.Database(), found.index, err)
}

func (p *textPath) request(q lucene.Node, limit int) *find.Request {
	def := text.Of(p.named.Index)
	return &find.Request{Query: q, Analyzers: def.Analyzers, Limit: limit, Fields: []string{}, Marks: true, Nouveau: def.Nouveau, Locale: find.JSONNumbers}
}

// estimate implements accessPath.
func (p *textPath) estimate(ctx context.Context, r *store.Reader, ranges []Range, bound int) (n int, err error) {
	over, err := p.open(r)
	if err != nil {
		return 0, err
	}
	defer over.Close()
	for i := range ranges {
		found, err := find.Run(ctx, over, p.request(p.queries[string(ranges[i].From)].query, 0))
		if err != nil {
			return n, err
		}
		if n += int(min(found.Total, uint64(bound))); n >= bound {
			return bound, nil
		}
	}
	return n, nil
}

// Rows of a full-text query that are found at a time: each time all that match are looked
// at, so it is more and more.
const (
	firstWords = 128
	maxWords   = 8192
)

// scan implements accessPath.
func (p *textPath) scan(ctx context.Context, r *store.Reader, span field.Span, after *field.RowKey, _ bool) iter.Seq2[hit, error] {
	return func(yield func(hit, error) bool) {
		over, err := p.open(r)
		if err != nil {
			yield(hit{}, err)
			return
		}
		defer over.Close()
		q := p.queries[string(span.From)]
		req := p.request(q.query, firstWords)
		if req.Sort = q.sort; after != nil {
			req.Bookmark = string(after.Tuple)
		}
		for {
			found, err := find.Run(ctx, over, req)
			if err != nil {
				yield(hit{}, err)
				return
			}
			for i := range found.Rows {
				row, id := &found.Rows[i], document.ID(found.Rows[i].ID)
				if p.shared(r) {
					id, _ = r.Shown(id) // only documents of the scope are read
				}
				if !yield(hit{Entry: field.Entry{ID: id, Tuple: []byte(row.Mark), Size: len(row.ID)}}, nil) {
					return
				}
			}
			if len(found.Rows) < req.Limit {
				return
			}
			req.Bookmark, req.Limit = found.Bookmark, min(4*req.Limit, maxWords)
		}
	}
}

// holds implements accessPath.
func (p *textPath) holds(ctx context.Context, r *store.Reader, rev *store.Revision, ranges []Range) (bool, error) {
	over, err := p.open(r)
	if err != nil {
		return false, err
	}
	defer over.Close()
	for i := range ranges {
		if has, err := p.finds(ctx, over, p.queries[string(ranges[i].From)].query, p.stored(r, rev.ID)); has || err != nil {
			return has, err
		}
	}
	return false, nil
}

// finds reports whether a query finds a document, which is named by its id in the index.
func (p *textPath) finds(ctx context.Context, over *segment.Reader, q lucene.Node, id document.ID) (bool, error) {
	one := &lucene.Phrase{Field: "_id", Text: string(id), Boost: 1}
	found, err := find.Run(ctx, over, p.request(mango.Both(q, one), 0))
	return err == nil && found.Total > 0, err
}

// wordSteps is what asking the index about one document takes of a request's budget.
const wordSteps = 50

// says makes what answers {"$text": …} for documents of a page, until over is closed.
func (p *textPath) says(ctx context.Context, r *store.Reader) (says func(clause []byte, id document.ID) (bool, error), over io.Closer, err error) {
	reader, err := p.open(r)
	if err != nil {
		return nil, nil, err
	}
	return func(clause []byte, id document.ID) (bool, error) {
		return p.finds(ctx, reader, mango.Said(clause), p.stored(r, id))
	}, reader, nil
}

// Question returns what a branch asks its index for that is not ranges of values: words, or
// places.
func (b *Branch) Question() (query string, ok bool) {
	_, words := b.path.(*textPath)
	_, places := b.path.(*geoPath)
	if !words && !places || len(b.ranges) == 0 {
		return "", words || places
	}
	return b.ranges[0].String(), true
}

var (
	errTextPlace = dberr.New(dberr.Invalid, "bad_field", "$text is about a whole document: it stands by itself, or in an $and or an $or.")
	errNoText    = dberr.New(dberr.Invalid, "no_usable_index", "There is no text index for $text: make one with POST _index, of type \"text\".")
	errManyTexts = dberr.New(dberr.Invalid, "multiple_text_indexes", "You must specify an index with the `use_index` parameter.")
)

// setWords looks for $text in the selector.
func (r *Request) setWords() error {
	root := r.Selector.Root()
	all := mango.Texts(root)
	if all == 0 {
		return nil
	}
	everywhere, anywhere := clausesOf(root)
	if anywhere < all {
		return errTextPlace
	}
	r.words, r.alternatives = true, everywhere < all
	return nil
}

// clausesOf counts the clauses of $text that have to hold for every document that is found,
// and those that are about the whole document.
func clausesOf(n *selector.Node) (everywhere, anywhere int) {
	switch n.Op {
	case selector.Text:
		return 1, 1
	case selector.And, selector.Or:
		for _, k := range n.Kids {
			e, a := clausesOf(k)
			anywhere += a
			if n.Op == selector.And {
				everywhere += e
			}
		}
	}
	return everywhere, anywhere
}

// requireOneText refuses $text where several indexes that have not the same definition could
// answer: their analyzers say what is found.
func (p *planner) requireOneText(all []*Branch, meant func(*Branch) bool) error {
	signatures := map[bool]string{} // of Nouveau's, and of others
	many := map[bool]bool{}
	for _, b := range all {
		if !p.req.words || !meant(b) || !usable(b) && !building(b) {
			continue
		}
		of := b.nouveau()
		many[of] = many[of] || signatures[of] != "" && signatures[of] != b.Index().Signature
		signatures[of] = b.Index().Signature
	}
	if many[false] || many[true] && signatures[false] == "" {
		return errManyTexts
	}
	return nil
}

// nouveau reports whether a branch reads an index of Nouveau's, before which others come,
// as in CouchDB.
func (b *Branch) nouveau() bool {
	p, is := b.path.(*textPath)
	return is && text.Of(p.named.Index).Nouveau
}

// sortErrors are those of a sort by a field whose type is not known.
func (p *planner) sortError() error {
	for _, s := range p.req.Sort {
		if name := s.Path.String(); typeOf(p.req.Selector.Root(), name) == "" && !strings.Contains(name, ":") {
			return dberr.New(dberr.Invalid, "text_sort_error", "Unspecified or ambiguous sort type. Try appending :number or :string to the sort field. %s", name)
		}
	}
	return nil
}
