package dynamoapi

import (
	"strconv"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
)

// What operations cost in units, as AWS counts them: nothing is throttled here, but
// programs that look at the numbers find them.
const (
	readUnit  = 4096 // bytes
	writeUnit = 1024
)

// readUnits is what reading so many bytes costs: half, unless the read is consistent.
func readUnits(size int, consistent bool) float64 {
	units := float64(max(1, (size+readUnit-1)/readUnit))
	if consistent {
		return units
	}
	return units / 2
}

// writeUnits is what writing an item costs, over what was there.
func writeUnits(old, now int) float64 {
	return float64(max(1, (max(old, now)+writeUnit-1)/writeUnit))
}

// reports are what a request wants to be told besides its result.
type reports struct {
	capacity    string // ReturnConsumedCapacity
	collections bool   // ReturnItemCollectionMetrics
}

// reportsOf reads which reports are wanted.
func reportsOf(a *args, c *constraints) reports {
	r := reports{capacity: a.textOr("ReturnConsumedCapacity", "NONE")}
	c.oneOf("returnConsumedCapacity", r.capacity, "INDEXES", "TOTAL", "NONE")
	metrics := a.textOr("ReturnItemCollectionMetrics", "NONE")
	c.oneOf("returnItemCollectionMetrics", metrics, "SIZE", "NONE")
	r.collections = metrics == "SIZE"
	return r
}

// appendCapacity appends the member ConsumedCapacity with a comma before it, if it is
// wanted.
func (r *reports) appendCapacity(dst []byte, t *tableAt, units float64) []byte {
	if r.capacity == "NONE" {
		return dst
	}
	dst = append(dst, `,"ConsumedCapacity":`...)
	return r.appendUnits(dst, t.name, units)
}

func (r *reports) appendUnits(dst []byte, table string, units float64) []byte {
	dst = append(dst, `{"TableName":`...)
	dst = jsonscan.AppendQuoted(dst, table)
	dst = appendFloat(append(dst, `,"CapacityUnits":`...), units)
	if r.capacity == "INDEXES" {
		dst = appendFloat(append(dst, `,"Table":{"CapacityUnits":`...), units)
		dst = append(dst, '}')
	}
	return append(dst, '}')
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
