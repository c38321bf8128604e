package dynamoapi

import "github.com/sectional/sectional/internal/attribute"

var deleteMembers = append([]string{"Key"}, writingMembers...)

func deleteItem(r *Request) error {
	w, err := r.writingOf("key", deleteMembers, conditionForms, []string{"NONE", "ALL_OLD"}, nil)
	if err != nil {
		return err
	}
	t, k, err := r.keyed(w.table, w.get("Key"), true)
	if err != nil {
		return err
	}
	c := t.deleting(k)
	c.condition, c.showOld = w.condition, w.failed == "ALL_OLD"
	return r.answerChange(w, c, c.previous)
}

// deleting is the change that takes an item away, if it is there.
func (t *tableAt) deleting(k *key) *change {
	return &change{t: t, key: k, apply: func(attribute.Item, bool) (attribute.Item, bool, error) { return attribute.Item{}, true, nil }}
}

// keyed opens the table of a request that has a Key, and reads that.
func (r *Request) keyed(name string, raw []byte, write bool) (*tableAt, *key, error) {
	item, err := attribute.ParseItem(raw)
	if err != nil {
		return nil, nil, err
	}
	t, err := r.table(name, write)
	if err != nil {
		return nil, nil, err
	}
	k, err := t.keyOfItem(item)
	return t, k, err
}
