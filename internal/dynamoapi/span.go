package dynamoapi

import (
	"strings"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
	"github.com/sectional/sectional/internal/index/secondary"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/table"
)

// above is above every byte of an id, which is UTF-8.
const above = "\xff"

var (
	errStartKey     = attribute.Invalid("The provided starting key is invalid")
	errStartSize    = attribute.Invalid("Exclusive Start Key must have same size as table's key schema")
	errStartOutside = attribute.Invalid("The provided starting key is outside query boundaries based on provided conditions")
)

// span returns the ids of the documents that the listing reads of a table: all, or a range
// of a partition.
func (p *page) span() (sp store.Span, err error) {
	if p.within.Hash.Type() != attribute.None {
		if sp, err = p.t.spanOf(p.within); err != nil {
			return sp, err
		}
	}
	sp.Descending = p.descending
	k, err := p.startKey()
	if k == nil || err != nil {
		return sp, err
	}
	if p.within.Hash.Type() != attribute.None && !p.inside(p.start) {
		return sp, errStartOutside
	}
	if p.descending {
		sp.To, sp.Before = string(k.id), true
	} else {
		sp.From = string(k.id) + "\x00"
	}
	return sp, nil
}

// spanOf returns the ids of the items in a range.
func (t *tableAt) spanOf(in expr.Range) (sp store.Span, err error) {
	hash := in.Hash.Text()
	partition, err := t.Partition(hash)
	if err != nil {
		return sp, errKeySchema
	}
	sp = store.Span{From: string(partition) + ":", To: string(partition) + ";", Before: true}
	if in.Bounds == nil {
		return sp, nil
	}
	low, high := boundsOf(in.Bounds)
	if in.Bounds.Prefix && low.Set && !high.Set { // of strings: so begin the ids as well
		begins, err := t.idPrefix(hash, low.Text)
		if err != nil {
			return sp, err
		}
		sp.From, sp.To = begins, begins+above
		return sp, nil
	}
	if low.Set {
		if sp.From, err = t.idPrefix(hash, low.Text); low.Exclusive {
			sp.From += "\x00"
		}
	}
	if high.Set && err == nil {
		sp.To, err = t.idPrefix(hash, high.Text)
		sp.Before = high.Exclusive
	}
	return sp, err
}

// idPrefix returns the id of the item with a key, or what the ids begin with whose sort
// keys begin with a string.
func (t *tableAt) idPrefix(hash, sort string) (string, error) {
	if t.IDs {
		return hash + ":" + sort, nil
	}
	id, err := t.ID(hash, sort)
	if err != nil {
		return "", attribute.Invalid("The key can't be that of a document: %s", reasonOf(err))
	}
	return string(id), nil
}

// boundsOf returns the bounds of a condition on a sort key. What binary values begin with
// becomes bounds: the texts of ids hold six bits a character.
func boundsOf(b *expr.Bounds) (low, high secondary.Bound) {
	if b.Low.Type() != attribute.None {
		low = secondary.Bound{Text: b.Low.Text(), Exclusive: b.LowOpen, Set: true}
	}
	if b.High.Type() != attribute.None {
		high = secondary.Bound{Text: b.High.Text(), Exclusive: b.HighOpen, Set: true}
	}
	if b.Prefix && b.Low.Type() == attribute.B {
		// No key is longer than that.
		high = secondary.Bound{Text: b.Low.Text() + strings.Repeat("\xff", table.MaxSortKey), Set: true}
	}
	return low, high
}

// indexSpan returns the rows that the listing reads of an index.
func (p *page) indexSpan() (sp secondary.Span, err error) {
	if p.within.Hash.Type() == attribute.None {
		return sp, nil
	}
	sp.Hash = p.within.Hash.Text()
	if p.x.Local {
		if sp.Partition, err = p.t.Partition(sp.Hash); err != nil {
			return sp, errKeySchema
		}
	}
	if b := p.within.Bounds; b != nil && b.Prefix {
		sp.Begins = b.Low.Text()
	} else if b != nil {
		sp.Low, sp.High = boundsOf(b)
	}
	return sp, nil
}

// startKey returns the primary key in ExclusiveStartKey, nil if there is none.
func (p *page) startKey() (*key, error) {
	if p.start.Len() == 0 {
		return nil, nil
	}
	keys := p.allKeys()
	if p.start.Len() != len(keys) {
		return nil, errStartSize
	}
	for _, name := range keys {
		if v, ok := p.start.Get(name); !ok || v.Type() != p.t.wireType(name) {
			return nil, errStartKey
		}
	}
	return p.t.keyIn(p.start)
}

// inside reports whether an item's key is within the query.
func (p *page) inside(item attribute.Item) bool {
	keys := p.keys()
	if v, _ := item.Get(keys[0]); !attribute.Equal(v, p.within.Hash) {
		return false
	}
	if p.within.Bounds == nil || len(keys) < 2 {
		return true
	}
	v, _ := item.Get(keys[1])
	return p.within.Bounds.Contains(v)
}

// position returns the row of an index after which the page begins, nil for the first.
func (p *page) position() (*secondary.Position, error) {
	k, err := p.startKey()
	if k == nil || err != nil {
		return nil, err
	}
	if p.within.Hash.Type() != attribute.None && !p.inside(p.start) {
		return nil, errStartOutside
	}
	at := &secondary.Position{ID: k.id}
	for _, name := range p.keys() {
		v, _ := p.start.Get(name)
		at.Keys = append(at.Keys, v.Text())
	}
	return at, nil
}
