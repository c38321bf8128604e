package dynamoapi

import (
	"fmt"
	"sync"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
)

// maxBatchWrites is how many items a batch writes, as at AWS.
const maxBatchWrites = 25

// batchWrite is a BatchWriteItem on its way. What it writes to one table shares a commit.
type batchWrite struct {
	*Request
	reports
	tables []*writesTo
}

// writesTo is what is written to one table.
type writesTo struct {
	*tableAt
	as, name string
	list     []byte
	raw      [][]byte // the requests as they came
	items    []batched
	changes  []*change
	err      error // why nothing was written, or not all
}

// batched is a request of a batch.
type batched struct {
	put bool
	raw []byte // the item to put, or the key of the one to delete
}

var errNoWriteRequest = attribute.Invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes") // AWS's words

// The members of the request, and of one of its requests.
var (
	batchWriteMembers   = []string{"RequestItems", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics"}
	writeRequestMembers = []string{"PutRequest", "DeleteRequest"}
)

func batchWriteItem(r *Request) error {
	b := &batchWrite{Request: r}
	if err := b.parse(argsOf(r.body, batchWriteMembers)); err != nil {
		return err
	}
	if err := b.open(); err != nil {
		return err
	}
	var work sync.WaitGroup
	for _, t := range b.tables {
		work.Go(func() { t.err = t.write(b.Request) })
	}
	work.Wait()
	return b.reply()
}

// parse reads the request, without the items.
func (b *batchWrite) parse(a *args) error {
	var c constraints
	b.reports = reportsOf(a, &c)
	total := 0
	err := requestItems(a, "BatchWriteItem", func(as, name string, value []byte) error {
		if jsonscan.KindOf(value) != jsonscan.Array {
			return attribute.Unreadable("Unexpected value type in payload")
		}
		n := jsonscan.Len(value)
		if n == 0 || n > maxBatchWrites {
			c = append(c, fmt.Sprintf("Value '{%s=[%d requests]}' at 'requestItems' failed to satisfy constraint: "+
				"Map value must satisfy constraint: [Member must have length less than or equal to %d, Member must have length greater than or equal to 1]", as, n, maxBatchWrites))
		}
		total += n
		b.tables = append(b.tables, &writesTo{as: as, name: name, list: value})
		return nil
	})
	for i := 0; i < len(b.tables) && err == nil && len(c) == 0; i++ {
		err = b.tables[i].parse(&c)
	}
	if err == nil {
		err = c.err()
	}
	if err == nil && total > maxBatchWrites {
		err = attribute.Invalid("Too many items requested for the BatchWriteItem call")
	}
	return err
}

// parse takes the requests apart.
func (t *writesTo) parse(c *constraints) error {
	for e := jsonscan.ElementsOf(t.list); ; {
		raw, ok := e.Next()
		if !ok {
			return nil
		}
		if jsonscan.KindOf(raw) != jsonscan.Object {
			return attribute.Unreadable("Unexpected value type in payload")
		}
		a := argsOf(raw, writeRequestMembers)
		put, del := a.object("PutRequest"), a.object("DeleteRequest")
		if a.err != nil {
			return a.err
		}
		if (put == nil) == (del == nil) {
			return errNoWriteRequest
		}
		at := fmt.Sprintf("requestItems.%s.member.%d.member.", t.as, len(t.raw)+1)
		one := batched{put: put != nil}
		if one.put {
			a = argsOf(put, []string{"Item"})
			one.raw = a.get("Item")
			c.given(at+"putRequest.item", one.raw != nil)
		} else {
			a = argsOf(del, []string{"Key"})
			one.raw = a.get("Key")
			c.given(at+"deleteRequest.key", one.raw != nil)
		}
		if a.err != nil {
			return a.err
		}
		t.raw, t.items = append(t.raw, raw), append(t.items, one)
	}
}

// open opens the tables and makes the changes, none of which is written yet.
func (b *batchWrite) open() (err error) {
	for _, t := range b.tables {
		if t.tableAt, err = b.table(t.name, true); err != nil {
			return err
		}
	}
	seen := distinct{}
	for _, t := range b.tables {
		for _, one := range t.items {
			c, err := t.change(one)
			if err != nil {
				return err
			}
			if !seen.add(c.t, c.key) {
				return errDuplicateKeys
			}
			if err := b.mayPartition(c.t, c.key.partition, true); err != nil {
				return err
			}
			t.changes = append(t.changes, c)
		}
	}
	return nil
}

// change reads an item or a key.
func (t *writesTo) change(one batched) (*change, error) {
	item, err := attribute.ParseItem(one.raw)
	if err != nil {
		return nil, err
	}
	if !one.put {
		k, err := t.keyOfItem(item)
		return t.deleting(k), err
	}
	if err := item.CheckPut(); err != nil {
		return nil, err
	}
	if t.checkKeyTypes(item) != nil {
		return nil, errKeySchema
	}
	k, err := t.checkItem(item)
	return t.putting(k, item), err
}

// write stores the changes. The error is that of the first that is refused, if any is.
func (t *writesTo) write(r *Request) error {
	edits := make([]document.Edit, len(t.changes))
	for i, c := range t.changes {
		edits[i] = c.edit()
	}
	results, err := t.db.Whole().Write(r.Ctx(), edits, store.WriteOptions{})
	if err != nil {
		return noTable(err)
	}
	for _, result := range results {
		if result.Err != nil {
			return result.Err
		}
	}
	return nil
}

// answer answers. What could not be written because the store is busy is left to another
// request, if something else was written.
func (b *batchWrite) reply() error {
	var written []*change
	var bs bills
	var busy error
	for _, t := range b.tables {
		switch {
		case dberr.Is(t.err, dberr.Unavailable):
			busy = t.err
			continue
		case t.err != nil:
			return t.err
		}
		for _, c := range t.changes {
			bs.add(t.name, b.costOf(c))
			written = append(written, c)
		}
	}
	if len(written) == 0 {
		return busy
	}
	answer := append([]byte(nil), `{"UnprocessedItems":`...)
	answer = b.appendBills(b.appendRest(answer), bs, "")
	answer, err := b.appendCollections(answer, &b.reports, written)
	if err != nil {
		return err
	}
	return b.answer(append(answer, '}'))
}

// appendRest appends what was not written, as requests have it.
func (b *batchWrite) appendRest(dst []byte) []byte {
	var names []string
	lists := map[string][]byte{}
	for _, t := range b.tables {
		if t.err == nil {
			continue
		}
		names = append(names, t.as)
		for _, raw := range t.raw {
			lists[t.as] = append(append(lists[t.as], ','), raw...)
		}
	}
	return appendLists(dst, names, func(name string) []byte { return lists[name] })
}
