package dynamoapi

import (
	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
)

// conditionForms are the parameters of PutItem and DeleteItem that may be in two forms.
var conditionForms = expr.Forms{Expressions: []expr.Kind{expr.ConditionExpression}, Legacy: []string{"Expected", "ConditionalOperator"}}

// writing is what the requests that write one item have in common.
type writing struct {
	*args
	reports
	table     string
	returns   string // ReturnValues
	failed    string // ReturnValuesOnConditionCheckFailure
	names     *expr.Placeholders
	condition *expr.Condition
}

// conditionMembers are the members of all actions that write an item, but for the item or its
// key, and writingMembers are those of requests with one such action.
var (
	conditionMembers = []string{"TableName", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues", "ReturnValuesOnConditionCheckFailure"}
	writingMembers   = append([]string{"Expected", "ConditionalOperator", "ReturnValues", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics"}, conditionMembers...)
	putMembers       = append([]string{"Item"}, writingMembers...)
)

// writingOf reads it; item is the member that holds the item or the key, members are all of
// them, returns are the ReturnValues that there are. parse reads what the operation has besides, before it is
// checked that all placeholders are used.
func (r *Request) writingOf(item string, members []string, forms expr.Forms, returns []string, parse func(*writing) error) (*writing, error) {
	w := &writing{args: argsOf(r.body, members)}
	var c constraints
	w.table = c.tableName(w.text("TableName"))
	c.given(item, w.has(capital(item)))
	w.reports = reportsOf(w.args, &c)
	w.returns = w.textOr("ReturnValues", "NONE")
	c.oneOf("returnValues", w.returns, returnValues)
	w.failed = w.textOr("ReturnValuesOnConditionCheckFailure", "NONE")
	c.oneOf("returnValuesOnConditionCheckFailure", w.failed, returnOnFailure)
	c.oneOf("conditionalOperator", w.textOr("ConditionalOperator", ""), logicalOperators)
	if w.err != nil {
		return nil, w.err
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := forms.Check(w.has); err != nil {
		return nil, err
	}
	if !oneOf(w.returns, returns) {
		return nil, attribute.Invalid("Return values set to invalid value")
	}
	return w, w.parseExpressions(parse)
}

func oneOf(text string, list []string) bool {
	for _, one := range list {
		if text == one {
			return true
		}
	}
	return false
}

// capital returns a member's name as requests have it; AWS's errors have it with a small
// letter.
func capital(name string) string { return string(name[0]-'a'+'A') + name[1:] }

// parseExpressions reads the expressions with the names and values in them.
func (w *writing) parseExpressions(parse func(*writing) error) (err error) {
	if w.names, err = w.placeholders(); err != nil {
		return err
	}
	if parse != nil {
		if err := parse(w); err != nil {
			return err
		}
	}
	if w.condition, err = conditionOf(w.args, w.names); err != nil {
		return err
	}
	if w.err != nil {
		return w.err
	}
	return w.names.CheckUsed()
}

func putItem(r *Request) error {
	var item attribute.Item
	w, err := r.writingOf("item", putMembers, conditionForms, []string{"NONE", "ALL_OLD"}, nil)
	if err != nil {
		return err
	}
	if item, err = attribute.ParseItem(w.get("Item")); err != nil {
		return err
	}
	if err := item.CheckPut(); err != nil {
		return err
	}
	t, err := r.table(w.table, true)
	if err != nil {
		return err
	}
	k, err := t.checkItem(item)
	if err != nil {
		return err
	}
	c := t.putting(k, item)
	c.condition, c.showOld = w.condition, w.failed == "ALL_OLD"
	return r.answerChange(w, c, c.previous)
}

// putting is the change that puts an item in the place of what is there.
func (t *tableAt) putting(k *key, item attribute.Item) *change {
	return &change{t: t, key: k, fresh: true, apply: func(attribute.Item, bool) (attribute.Item, bool, error) { return item, false, nil }}
}

// previous returns the item as it was.
func (c *change) previous() attribute.Item { return c.old }

// answerChange stores a change and answers with what was wanted of it: shown returns the
// image for whoever wants one.
func (r *Request) answerChange(w *writing, c *change, shown func() attribute.Item) error {
	if c.condition != nil {
		if err := c.condition.CheckKeyPaths(c.t.Keys...); err != nil {
			return err
		}
	}
	if err := r.write(c); err != nil {
		return err
	}
	b := []byte{'{'}
	if w.returns != "NONE" {
		b = appendImage(b, "Attributes", shown())
	}
	b = w.appendCapacity(b, c.t, w.costOf(c))
	b, err := r.appendCollection(b, &w.reports, c.t, c.key)
	if err != nil {
		return err
	}
	return r.answer(finish(b))
}
