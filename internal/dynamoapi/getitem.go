package dynamoapi

import (
	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
	"github.com/sectional/sectional/internal/store"
)

// projectionForms are the parameters of a read that may be in two forms.
var projectionForms = expr.Forms{Expressions: []expr.Kind{expr.ProjectionExpression}, Legacy: []string{"AttributesToGet"}}

// projectionMembers are the members of requests that read parts of items.
var projectionMembers = []string{"ProjectionExpression", "ExpressionAttributeNames"}

var getMembers = append([]string{"TableName", "Key", "AttributesToGet", "ConsistentRead", "ReturnConsumedCapacity"}, projectionMembers...)

func getItem(r *Request) error {
	a := argsOf(r.body, getMembers)
	var c constraints
	name := c.tableName(a.text("TableName"))
	c.given("key", a.has("Key"))
	want := reportsOf(a, &c)
	consistent := a.truth("ConsistentRead")
	if a.err != nil {
		return a.err
	}
	if err := c.err(); err != nil {
		return err
	}
	projection, err := projectionOf(a, projectionForms)
	if err != nil {
		return err
	}
	item, err := attribute.ParseItem(a.get("Key"))
	if err != nil {
		return err
	}
	b := takeBuffer()
	err = r.viewTable(name, func(t *tableAt, rd *store.Reader) error {
		k, err := t.keyOfItem(item)
		if err != nil {
			return err
		}
		if err := r.mayPartition(t, k.partition, false); err != nil {
			return err
		}
		if projection != nil {
			if err := projection.CheckKeyPaths(t.Keys...); err != nil {
				return err
			}
		}
		begun := append(b[:0], `{,"Item":`...)
		answer, size, err := t.appendRead(begun, rd, k, projection)
		if len(answer) == len(begun) {
			answer = answer[:1]
		}
		b = want.appendCapacity(answer, t, reading(size, consistent))
		return err
	})
	if err != nil {
		return err
	}
	return r.answerFrom(b)
}

// projectionOf reads which parts of items are wanted, nil for all.
func projectionOf(a *args, forms expr.Forms) (*expr.Projection, error) {
	if err := forms.Check(a.has); err != nil {
		return nil, err
	}
	names, err := a.placeholders()
	if err != nil {
		return nil, err
	}
	p, err := projectionIn(a, names)
	if err == nil {
		err = a.err
	}
	if err == nil {
		err = names.CheckUsed()
	}
	return p, err
}

func projectionIn(a *args, names *expr.Placeholders) (*expr.Projection, error) {
	if text := a.text("ProjectionExpression"); text != nil {
		return names.Projection(*text)
	}
	if raw := a.array("AttributesToGet"); raw != nil {
		return expr.ParseAttributesToGet(raw)
	}
	return nil, nil
}

// appendItem appends what is wanted of an item.
func appendItem(dst []byte, item attribute.Item, p *expr.Projection) []byte {
	if p != nil {
		item = p.Apply(item)
	}
	return attribute.AppendItem(dst, item)
}
