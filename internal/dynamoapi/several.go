package dynamoapi

import (
	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
)

// What requests about several tables have in common.

// opened are the tables of a request, each opened once.
type opened struct {
	r      *Request
	tables map[toOpen]*tableAt
}

type toOpen struct {
	name  string
	write bool
}

// table is Request.table.
func (o *opened) table(name string, write bool) (*tableAt, error) {
	to := toOpen{name, write}
	if t := o.tables[to]; t != nil {
		return t, nil
	}
	t, err := o.r.table(name, write)
	if err != nil {
		return nil, err
	}
	if o.tables == nil {
		o.tables = map[toOpen]*tableAt{}
	}
	o.tables[to] = t
	return t, nil
}

// distinct refuses the same item twice.
type distinct map[itemOf]bool

type itemOf struct {
	db uint64
	id string
}

// add reports whether an item is new.
func (d distinct) add(t *tableAt, k *key) bool {
	item := itemOf{t.db.Number(), string(k.id)}
	if d[item] {
		return false
	}
	d[item] = true
	return true
}

// requestItems takes the RequestItems of a batch apart, by tables. It calls each with the
// table's name as it came and as it is, and what is asked of it.
func requestItems(a *args, operation string, each func(as, name string, value []byte) error) error {
	object := a.object("RequestItems")
	if a.err != nil {
		return a.err
	}
	none := true
	for m := jsonscan.MembersOf(object); object != nil; none = false {
		quoted, value, ok := m.Next()
		if !ok {
			break
		}
		as := string(jsonscan.Text(nil, quoted))
		name := as
		if plain, ok := cutARN(as); ok {
			name = plain
		}
		if len(name) < 3 || len(name) > 255 {
			return attribute.Invalid("TableName must be at least 3 characters long and at most 255 characters long")
		}
		if err := each(as, name, value); err != nil {
			return err
		}
	}
	if none {
		return attribute.Invalid("The requestItems parameter is required for %s", operation)
	}
	return nil
}

// bill is what a request cost in one table.
type bill struct {
	table string
	cost
}

// bills are those of a request, in the order in which its tables came.
type bills []bill

func (bs *bills) add(table string, c cost) {
	for i := range *bs {
		if b := &(*bs)[i]; b.table == table {
			b.cost.table += c.table
			for _, x := range c.indexes {
				b.cost.add(x)
			}
			return
		}
	}
	*bs = append(*bs, bill{table, c})
}

// appendBills appends the member ConsumedCapacity with a comma before it, a list, if it is
// wanted. kind is that of appendCost.
func (r *reports) appendBills(dst []byte, bs bills, kind string) []byte {
	if r.capacity == "NONE" {
		return dst
	}
	dst = append(dst, `,"ConsumedCapacity":[`...)
	for i, b := range bs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = r.appendCost(dst, b.table, b.cost, kind)
	}
	return append(dst, ']')
}

// appendCollections appends the member ItemCollectionMetrics with a comma before it, if it
// is wanted: by tables with local indexes, for each partition key that was written to.
func (r *Request) appendCollections(dst []byte, want *reports, changes []*change) ([]byte, error) {
	if !want.collections {
		return dst, nil
	}
	var tables []string
	lists := map[string][]byte{}
	seen := map[store.Scope]bool{}
	for _, c := range changes {
		scope := c.t.db.Within(c.key.partition)
		if seen[scope] || !c.t.hasLocal() {
			continue
		}
		seen[scope] = true
		totals, err := scope.Totals(r.Ctx())
		if err != nil {
			return dst, noTable(err)
		}
		if lists[c.t.name] == nil {
			tables = append(tables, c.t.name)
		}
		lists[c.t.name] = appendMetrics(append(lists[c.t.name], ','), c.key, totals)
	}
	dst = append(dst, `,"ItemCollectionMetrics":`...)
	return appendLists(dst, tables, func(table string) []byte { return lists[table] }), nil
}

// appendLists appends an object with a list for each name; elements have a comma before
// each.
func appendLists(dst []byte, names []string, elements func(name string) []byte) []byte {
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendQuoted(dst, name), ":["...)
		dst = append(append(dst, elements(name)[1:]...), ']')
	}
	return append(dst, '}')
}
