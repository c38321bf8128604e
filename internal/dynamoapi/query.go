package dynamoapi

import (
	"cmp"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
	"github.com/sectional/sectional/internal/store"
)

// queryForms are the parameters of Query that may be in two forms.
var queryForms = expr.Forms{
	Expressions: []expr.Kind{expr.ProjectionExpression, expr.FilterExpression, expr.KeyConditionExpression},
	Legacy:      []string{"AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions"},
}

var queryMembers = append([]string{"KeyConditions", "KeyConditionExpression", "QueryFilter", "ScanIndexForward"}, listingMembers...)

var errNoKeyCondition = attribute.Invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")

func query(r *Request) error {
	var keys *expr.KeyCondition
	l, err := r.listing(queryMembers, queryForms, "QueryFilter", func(l *listing) (err error) {
		if text := l.text("KeyConditionExpression"); text != nil {
			keys, err = l.names.KeyCondition(*text)
		} else if raw := l.object("KeyConditions"); raw != nil {
			keys, err = expr.ParseKeyConditions(raw)
		} else if err = l.err; err == nil {
			err = errNoKeyCondition
		}
		return err
	})
	if err != nil {
		return err
	}
	l.descending = l.get("ScanIndexForward") != nil && !l.truth("ScanIndexForward")
	if l.err != nil {
		return l.err
	}
	return r.answerListing(l, func() (err error) {
		if l.within, err = keys.Range(l.keyNames()); err == nil && l.filter != nil {
			err = l.filter.CheckNoKeys(l.keys()...)
		}
		return err
	})
}

// keyNames are the keys of what is read.
func (l *listing) keyNames() (hash, sort expr.Key) {
	keys := l.keys()
	hash = l.keyNamed(keys[0])
	if len(keys) > 1 {
		sort = l.keyNamed(keys[1])
	}
	return hash, sort
}

func (l *listing) keyNamed(name string) expr.Key {
	return expr.Key{Name: name, Type: l.t.wireType(name)}
}

// scanForms are the parameters of Scan that may be in two forms.
var scanForms = expr.Forms{
	Expressions: []expr.Kind{expr.ProjectionExpression, expr.FilterExpression},
	Legacy:      []string{"AttributesToGet", "ScanFilter", "ConditionalOperator"},
}

var scanMembers = append([]string{"ScanFilter", "Segment", "TotalSegments"}, listingMembers...)

// maxSegments is how many parts a scan may have.
const maxSegments = 1000000

func scan(r *Request) error {
	l, err := r.listing(scanMembers, scanForms, "ScanFilter", nil)
	if err != nil {
		return err
	}
	if err := l.readSegment(); err != nil {
		return err
	}
	return r.answerListing(l, func() error { return nil })
}

// readSegment reads which part of the whole is wanted.
func (l *listing) readSegment() error {
	segment, total := l.number("Segment"), l.number("TotalSegments")
	if l.err != nil {
		return l.err
	}
	var c constraints
	c.between("segment", segment, 0, maxSegments-1)
	c.between("totalSegments", total, 1, maxSegments)
	switch {
	case len(c) > 0:
		return c.err()
	case segment == nil && total == nil:
		return nil
	case total == nil:
		return attribute.Invalid("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case segment == nil:
		return attribute.Invalid("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case *segment >= *total:
		return attribute.Invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not less than TotalSegments: %d", *segment, *total)
	}
	l.segment, l.segments = uint32(*segment), uint32(*total)
	return nil
}

// answerListing reads a page and answers with it. check says, once it is known how the
// table is defined, what is to be read of it.
func (r *Request) answerListing(l *listing, check func() error) error {
	p := newPage(l, takeBuffer())
	err := r.viewTable(l.table, func(t *tableAt, rd *store.Reader) (err error) {
		l.t = t
		if err = l.openIndex(); err == nil {
			err = check()
		}
		if err != nil {
			return err
		}
		*p = *newPage(l, p.out)
		return p.read(r, rd)
	})
	r.Read.Index, r.Read.Keys, r.Read.Rows = cmp.Or(l.index, "table"), p.scanned, p.count
	if err != nil {
		return err
	}
	if p.selected == selectCount {
		p.out = append(p.out[:0], '{')
	} else {
		p.out = append(p.out, ']')
	}
	b := appendCount(appendCount(p.out, "Count", p.count), "ScannedCount", p.scanned)
	if p.last != nil {
		b = append(b, `,"LastEvaluatedKey":`...)
		b = attribute.AppendItem(b, attribute.NewItem(p.last))
	}
	return r.answerFrom(l.appendCapacity(b, l.t, p.cost()))
}
