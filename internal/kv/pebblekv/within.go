package pebblekv

import (
	"bytes"
	"sort"

	"github.com/sectional/sectional/internal/kv"
)

// within returns the writes of keys in r, in ascending order. They are copies, so that
// later writes of the transaction do not move what is being walked.
func (o *overlay) within(r kv.Range) []kv.Written {
	order := o.order()
	from := sort.Search(len(order), func(i int) bool { return bytes.Compare(o.entries[order[i]].key, r.Start) >= 0 })
	to := len(order)
	if r.End != nil {
		to = sort.Search(len(order), func(i int) bool { return bytes.Compare(o.entries[order[i]].key, r.End) >= 0 })
	}
	if from >= to {
		return nil
	}
	out := make([]kv.Written, 0, to-from)
	for _, i := range order[from:to] {
		e := &o.entries[i]
		out = append(out, kv.Written{Key: e.key, Value: e.value, Put: e.put})
	}
	return out
}
