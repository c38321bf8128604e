package dynamoapi

import (
	"maps"
	"slices"
	"strconv"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/table"
)

// What operations cost in units, as AWS counts them: nothing is throttled here, but
// programs that look at the numbers find them.
const (
	readUnit  = 4096 // bytes
	writeUnit = 1024
)

// cost is what an operation took in one table, and in its indexes.
type cost struct {
	table   float64
	indexes []indexCost // those that it took something in
}

type indexCost struct {
	name  string
	local bool
	units float64
}

// total is all of it.
func (c cost) total() float64 {
	total := c.table
	for _, x := range c.indexes {
		total += x.units
	}
	return total
}

// add adds what was taken in an index.
func (c *cost) add(x indexCost) {
	for i := range c.indexes {
		if c.indexes[i].name == x.name {
			c.indexes[i].units += x.units
			return
		}
	}
	c.indexes = append(c.indexes, x)
}

// twice is the cost in a transaction, which reads or writes each item two times.
func (c cost) twice() cost {
	c.table *= 2
	return c
}

// readUnits is what reading so many bytes costs: half, unless the read is consistent.
func readUnits(size int, consistent bool) float64 {
	units := float64(max(1, (size+readUnit-1)/readUnit))
	if consistent {
		return units
	}
	return units / 2
}

// reading is the cost of reading so many bytes of a table.
func reading(size int, consistent bool) cost { return cost{table: readUnits(size, consistent)} }

// writeUnits is what writing an item costs, over what was there.
func writeUnits(old, now int) float64 {
	return float64(max(1, (max(old, now)+writeUnit-1)/writeUnit))
}

// cost is what the change took: a write of the item, and one of each row of an index that
// comes, goes or is another.
func (c *change) cost() cost {
	taken := cost{table: writeUnits(c.old.Size(), c.now.Size())}
	for _, name := range slices.Sorted(maps.Keys(c.t.Indexes)) {
		x := c.t.Indexes[name]
		if units := c.indexUnits(&x); units > 0 {
			taken.indexes = append(taken.indexes, indexCost{name, x.Local, units})
		}
	}
	return taken
}

// indexUnits is what the change took in an index.
func (c *change) indexUnits(x *table.Index) float64 {
	old, was := c.t.entryOf(x, c.old)
	now, is := c.t.entryOf(x, c.now)
	switch {
	case was && is && !sameKeys(x, old, now):
		return writeUnits(old.Size(), 0) + writeUnits(0, now.Size())
	case was != is, was && !attribute.EqualItems(old, now):
		return writeUnits(old.Size(), now.Size())
	}
	return 0
}

// entryOf returns what an index has of an item; ok is false for an item that is not in it.
func (t *tableAt) entryOf(x *table.Index, item attribute.Item) (entry attribute.Item, ok bool) {
	for _, name := range x.Keys {
		if _, ok := item.Get(name); !ok {
			return entry, false
		}
	}
	return t.projectedOf(x, item), true
}

// projectedOf returns the attributes that an index has of an item.
func (t *tableAt) projectedOf(x *table.Index, item attribute.Item) attribute.Item {
	if x.Projection == table.All {
		return item
	}
	projected := t.Projected(x)
	var kept []attribute.Attribute
	for _, a := range item.Attributes() {
		if slices.Contains(projected, a.Name) {
			kept = append(kept, a)
		}
	}
	return attribute.NewItem(kept)
}

func sameKeys(x *table.Index, a, b attribute.Item) bool {
	for _, name := range x.Keys {
		old, _ := a.Get(name)
		if now, _ := b.Get(name); !attribute.Equal(old, now) {
			return false
		}
	}
	return true
}

// reports are what a request wants to be told besides its result.
type reports struct {
	capacity    string // ReturnConsumedCapacity
	collections bool   // ReturnItemCollectionMetrics
}

// reportsOf reads which reports are wanted.
func reportsOf(a *args, c *constraints) reports {
	r := reports{capacity: a.textOr("ReturnConsumedCapacity", "NONE")}
	c.oneOf("returnConsumedCapacity", r.capacity, capacityReports)
	metrics := a.textOr("ReturnItemCollectionMetrics", "NONE")
	c.oneOf("returnItemCollectionMetrics", metrics, metricsReports)
	r.collections = metrics == "SIZE"
	return r
}

// costOf is the change's cost, if it is wanted.
func (r *reports) costOf(c *change) cost {
	if r.capacity == "NONE" {
		return cost{}
	}
	return c.cost()
}

// appendCapacity appends the member ConsumedCapacity with a comma before it, if it is
// wanted.
func (r *reports) appendCapacity(dst []byte, t *tableAt, c cost) []byte {
	if r.capacity == "NONE" {
		return dst
	}
	return r.appendCost(append(dst, `,"ConsumedCapacity":`...), t.name, c, "")
}

// appendCost appends a cost in a table. A transaction's says which units they are: kind is
// ReadCapacityUnits or WriteCapacityUnits.
func (r *reports) appendCost(dst []byte, table string, c cost, kind string) []byte {
	dst = append(dst, `{"TableName":`...)
	dst = appendKind(append(jsonscan.AppendQuoted(dst, table), ','), kind, c.total())
	if r.capacity == "INDEXES" {
		dst = append(appendKind(append(dst, `,"Table":{`...), kind, c.table), '}')
		dst = appendIndexCosts(dst, "LocalSecondaryIndexes", c.indexes, true, kind)
		dst = appendIndexCosts(dst, "GlobalSecondaryIndexes", c.indexes, false, kind)
	}
	return append(dst, '}')
}

// appendIndexCosts appends a member with the costs in local or in global indexes, if there
// are any.
func appendIndexCosts(dst []byte, member string, indexes []indexCost, local bool, kind string) []byte {
	some := false
	for _, x := range indexes {
		if x.local != local {
			continue
		}
		if some {
			dst = append(dst, ',')
		} else {
			dst = append(append(append(dst, `,"`...), member...), `":{`...)
		}
		some = true
		dst = append(jsonscan.AppendQuoted(dst, x.name), ":{"...)
		dst = append(appendKind(dst, kind, x.units), '}')
	}
	if some {
		dst = append(dst, '}')
	}
	return dst
}

func appendKind(dst []byte, kind string, units float64) []byte {
	dst = appendFloat(append(dst, `"CapacityUnits":`...), units)
	if kind == "" {
		return dst
	}
	dst = append(append(append(dst, `,"`...), kind...), `":`...)
	return appendFloat(dst, units)
}

func appendFloat(dst []byte, f float64) []byte {
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if f == float64(int64(f)) {
		dst = append(dst, ".0"...)
	}
	return dst
}

// appendCollection appends the member ItemCollectionMetrics with a comma before it, if it
// is wanted and the table has local indexes: how large the items of a partition key are.
func (r *Request) appendCollection(dst []byte, w *reports, t *tableAt, k *key) ([]byte, error) {
	if !w.collections || !t.hasLocal() {
		return dst, nil
	}
	totals, err := t.db.Within(k.partition).Totals(r.Ctx())
	if err != nil {
		return dst, err
	}
	return appendMetrics(append(dst, `,"ItemCollectionMetrics":`...), k, totals), nil
}

func appendMetrics(dst []byte, k *key, totals store.Totals) []byte {
	dst = append(dst, `{"ItemCollectionKey":`...)
	dst = attribute.AppendItem(dst, attribute.NewItem(k.attributes[:1]))
	gb := float64(totals.External >> 30)
	dst = appendFloat(append(dst, `,"SizeEstimateRangeGB":[`...), gb)
	dst = appendFloat(append(dst, ','), gb+1)
	return append(dst, "]}"...)
}

func (t *tableAt) hasLocal() bool {
	for _, x := range t.Indexes {
		if x.Local {
			return true
		}
	}
	return false
}
