package dynamoapi

import (
	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
)

// updateForms are the parameters of UpdateItem that may be in two forms.
var updateForms = expr.Forms{
	Expressions: []expr.Kind{expr.UpdateExpression, expr.ConditionExpression},
	Legacy:      []string{"AttributeUpdates", "Expected", "ConditionalOperator"},
}

var updateMembers = append([]string{"Key", "UpdateExpression", "AttributeUpdates"}, writingMembers...)

func updateItem(r *Request) error {
	var u *expr.Update
	w, err := r.writingOf("key", updateMembers, updateForms, []string{"NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"}, func(w *writing) (err error) {
		if text := w.text("UpdateExpression"); text != nil {
			u, err = w.names.Update(*text)
		} else if raw := w.object("AttributeUpdates"); raw != nil {
			u, err = expr.ParseAttributeUpdates(raw)
		}
		return err
	})
	if err != nil {
		return err
	}
	t, k, err := r.keyed(w.table, w.get("Key"), true)
	if err != nil {
		return err
	}
	c := &change{t: t, key: k, condition: w.condition, showOld: w.failed == "ALL_OLD", apply: t.updating(u, k)}
	return r.answerChange(w, c, func() attribute.Item { return c.returned(u, w.returns) })
}

// updating returns what an update, nil for none, makes of the item with a key. Where there
// is not an item it makes one, unless all it does is take attributes out.
func (t *tableAt) updating(u *expr.Update, k *key) func(attribute.Item, bool) (attribute.Item, bool, error) {
	return func(old attribute.Item, exists bool) (attribute.Item, bool, error) {
		if !exists {
			old = k.item()
		}
		if u == nil {
			return old, false, nil
		}
		if err := u.CheckKeys(t.Keys...); err != nil {
			return old, false, err
		}
		if !exists && u.OnlyRemoves() {
			return attribute.Item{}, true, nil
		}
		now, err := u.Apply(old)
		if err == nil {
			err = now.CheckUpdate()
		}
		if err == nil {
			err = t.checkIndexKeys(now)
		}
		return now, false, err
	}
}

// returned returns what ReturnValues asks for.
func (c *change) returned(u *expr.Update, which string) attribute.Item {
	switch {
	case which == "ALL_OLD":
		return c.old
	case which == "ALL_NEW":
		return c.now
	case u == nil || which == "UPDATED_OLD" && !c.existed:
		return attribute.Item{}
	case which == "UPDATED_OLD":
		return u.Touched(c.old)
	}
	return u.Touched(c.now)
}
