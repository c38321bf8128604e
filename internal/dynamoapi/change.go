package dynamoapi

import (
	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// change is what a write makes of one item. It is decided in the commit, on what the
// writes before it left, so that of two that would both see the same item the second sees
// what the first made.
type change struct {
	t         *tableAt
	key       *key
	condition *expr.Condition // nil for none
	// apply makes the new item of the old one, one without attributes where there is none;
	// gone says that there is to be none.
	apply func(old attribute.Item, exists bool) (now attribute.Item, gone bool, err error)
	// showOld says that a condition that fails shows the item.
	showOld bool
	// fresh says that there is most likely no item yet.
	fresh bool

	// What was decided last, which is what was stored.
	old, now attribute.Item
	existed  bool
}

// errCondition is AWS's error for a condition that does not hold.
var errCondition = dberr.New(dberr.Conflict, "ConditionalCheckFailedException", "The conditional request failed")

// edit returns the edit of the item's document.
func (c *change) edit() document.Edit {
	return document.Edit{ID: c.key.id, Decide: c.decide, Conforms: true, New: c.fresh}
}

// decide implements document.Decide.
func (c *change) decide(now document.Current) (d document.Decision, err error) {
	c.old, c.now, c.existed = attribute.Item{}, attribute.Item{}, now.Exists()
	if c.existed {
		if c.old, err = c.t.itemOf(c.key.id, now.Body); err != nil {
			return d, err
		}
	}
	if c.condition != nil && !c.condition.Holds(c.old) {
		return d, c.failed()
	}
	made, gone, err := c.apply(c.old, c.existed)
	switch {
	case err != nil:
		return d, err
	case gone:
		return document.Decision{Keep: !c.existed, Deleted: true, Body: []byte("{}")}, nil
	case c.existed && attribute.EqualItems(c.old, made):
		c.now = made
		return document.Decision{Keep: true}, nil // nothing changed: no stream has it either
	}
	c.now = made
	return document.Decision{Body: c.t.appendBody(nil, made)}, nil
}

// failed is the error for the condition, with the item if it is to be shown.
func (c *change) failed() error {
	if !c.showOld || !c.existed {
		return errCondition
	}
	return &exception{errCondition, attribute.AppendItem([]byte(`,"Item":`), c.old)}
}

// write stores one change.
func (r *Request) write(c *change) error {
	if err := r.mayPartition(c.t, c.key.partition, true); err != nil {
		return err
	}
	results, err := c.t.db.Whole().Write(r.Ctx(), []document.Edit{c.edit()}, store.WriteOptions{})
	if err != nil {
		return noTable(err)
	}
	return results[0].Err
}

// conditionOf reads the condition of a write, in the new form or the older one.
func conditionOf(a *args, p *expr.Placeholders) (*expr.Condition, error) {
	if text := a.text("ConditionExpression"); text != nil {
		return p.Condition(expr.ConditionExpression, *text)
	}
	operator := a.textOr("ConditionalOperator", "")
	if raw := a.object("Expected"); raw != nil {
		return expr.ParseExpected(raw, operator)
	}
	return nil, expr.CheckOperator(operator)
}

// appendImage appends a member with an item and a comma before it, if it has attributes.
func appendImage(dst []byte, name string, item attribute.Item) []byte {
	if item.Len() == 0 {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return attribute.AppendItem(dst, item)
}

// finish closes an object whose members all have a comma before them.
func finish(b []byte) []byte {
	b = append(b, '}')
	if len(b) > 2 {
		b[1] = '{'
		return b[1:]
	}
	return b
}
