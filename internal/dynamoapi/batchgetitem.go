package dynamoapi

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
)

// The limits of a batch that reads, as at AWS.
const (
	maxBatchKeys  = 100
	maxBatchBytes = 16 << 20 // of items; the rest is left to another request
)

var errDuplicateKeys = attribute.Invalid("Provided list of item keys contains duplicates")

// batchGet is a BatchGetItem on its way. It reads at one snapshot.
type batchGet struct {
	*Request
	reports
	tables []*wanted
	answer []byte
	bytes  int // of the items in it
	bills  bills
}

// wanted is what is wanted of one table.
type wanted struct {
	*args
	*tableAt
	as, name   string
	list       []byte   // the member Keys
	raw        [][]byte // its elements
	keys       []*key
	consistent bool
	projection *expr.Projection
	done       int // how many of the keys are answered
}

// The members of the request, and of what is wanted of a table.
var (
	batchGetMembers = []string{"RequestItems", "ReturnConsumedCapacity"}
	keysMembers     = append([]string{"Keys", "AttributesToGet", "ConsistentRead"}, projectionMembers...)
)

func batchGetItem(r *Request) error {
	a := argsOf(r.body, batchGetMembers)
	b := &batchGet{Request: r}
	if err := b.parse(a); err != nil {
		return err
	}
	if err := b.open(); err != nil {
		return err
	}
	scopes := make([]store.Scope, len(b.tables))
	for i, t := range b.tables {
		scopes[i] = t.db.Whole()
	}
	if err := r.api.Store.View(r.Ctx(), scopes, b.read); err != nil {
		return noTable(err)
	}
	b.answer = append(b.answer, `,"UnprocessedKeys":`...)
	b.answer = b.appendRest(b.answer)
	return r.answer(append(b.appendBills(b.answer, b.bills, ""), '}'))
}

// parse reads the request, without the keys.
func (b *batchGet) parse(a *args) error {
	var c constraints
	b.reports = reportsOf(a, &c)
	total := 0
	err := requestItems(a, "BatchGetItem", func(as, name string, value []byte) error {
		if jsonscan.KindOf(value) != jsonscan.Object {
			return attribute.Unreadable("Unexpected value type in payload")
		}
		t := &wanted{args: argsOf(value, keysMembers), as: as, name: name}
		t.list, t.consistent = t.array("Keys"), t.truth("ConsistentRead")
		b.tables = append(b.tables, t)
		if t.err != nil || !c.given(fmt.Sprintf("requestItems.%s.member.keys", as), t.list != nil) {
			return t.err
		}
		n := jsonscan.Len(t.list)
		total += n
		return checkBatchLength(as, n)
	})
	if err == nil {
		err = c.err()
	}
	if err == nil && total > maxBatchKeys {
		err = attribute.Invalid("Too many items requested for the BatchGetItem call")
	}
	if err == nil {
		err = b.parseProjections()
	}
	return err
}

// checkBatchLength refuses so many keys of one table.
func checkBatchLength(table string, n int) error {
	const text = "1 validation error detected: Value at 'RequestItems.%s.member.Keys' failed to satisfy constraint: Member must have length %s"
	switch {
	case n == 0:
		return attribute.Invalid(text, table, "greater than or equal to 1")
	case n > maxBatchKeys:
		return attribute.Invalid(text, table, fmt.Sprint("less than or equal to ", maxBatchKeys))
	}
	return nil
}

// parseProjections reads what is wanted of items. All tables are asked in one form.
func (b *batchGet) parseProjections() (err error) {
	err = projectionForms.Check(func(parameter string) bool {
		for _, t := range b.tables {
			if t.has(parameter) {
				return true
			}
		}
		return false
	})
	for i := 0; i < len(b.tables) && err == nil; i++ {
		b.tables[i].projection, err = projectionOf(b.tables[i].args, projectionForms)
	}
	return err
}

// open opens the tables and reads the keys.
func (b *batchGet) open() (err error) {
	for _, t := range b.tables {
		for e := jsonscan.ElementsOf(t.list); ; {
			raw, ok := e.Next()
			if !ok {
				break
			}
			t.raw = append(t.raw, raw)
		}
		if t.tableAt, err = b.table(t.name, false); err != nil {
			return err
		}
		if t.projection != nil {
			if err := t.projection.CheckKeyPaths(t.Keys...); err != nil {
				return err
			}
		}
	}
	seen := distinct{}
	for _, t := range b.tables {
		if err := b.parseKeys(t, seen); err != nil {
			return err
		}
	}
	return nil
}

func (b *batchGet) parseKeys(t *wanted, seen distinct) error {
	for _, raw := range t.raw {
		item, err := attribute.ParseItem(raw)
		if err != nil {
			return err
		}
		k, err := t.keyOfItem(item)
		if err != nil {
			return err
		}
		if !seen.add(t.tableAt, k) {
			return errDuplicateKeys
		}
		if err := b.mayPartition(t.tableAt, k.partition, false); err != nil {
			return err
		}
		t.keys = append(t.keys, k)
	}
	return nil
}

// errFull says that no more items go into an answer.
var errFull = errors.New("dynamoapi: the answer is full")

// read writes the answer's items, until it is full.
func (b *batchGet) read(rds []*store.Reader) (err error) {
	b.answer = append(b.answer[:0], `{"Responses":{`...) // it may have begun before
	for i, t := range b.tables {
		if i > 0 {
			b.answer = append(b.answer, ',')
		}
		b.answer = append(jsonscan.AppendQuoted(b.answer, t.as), ":["...)
		for some := false; err == nil && t.done < len(t.keys); {
			before := len(b.answer)
			if some {
				b.answer = append(b.answer, ',')
			}
			begun := len(b.answer)
			if err = b.add(rds[i], t, t.keys[t.done]); err == nil {
				t.done++
			}
			if some = some || len(b.answer) > begun; len(b.answer) == begun {
				b.answer = b.answer[:before]
			}
		}
		b.answer = append(b.answer, ']')
	}
	b.answer = append(b.answer, '}')
	if errors.Is(err, errFull) {
		err = nil
	}
	return err
}

// add appends an item, if it is there. errFull if there is no room for it.
func (b *batchGet) add(rd *store.Reader, t *wanted, k *key) error {
	begun := len(b.answer)
	answer, size, err := t.appendRead(b.answer, rd, k, t.projection)
	if err != nil {
		return err
	}
	if b.bytes > 0 && b.bytes+size > maxBatchBytes {
		return errFull
	}
	if err := b.Hold(int64(len(answer) - begun)); err != nil {
		if b.bytes == 0 {
			return err
		}
		return errFull // there is no memory for more
	}
	b.answer = answer
	b.bytes += size
	b.bills.add(t.name, reading(size, t.consistent))
	return nil
}

// appendRead appends what is wanted of an item, nothing where there is none, and returns
// the item's size.
func (t *tableAt) appendRead(dst []byte, rd *store.Reader, k *key, p *expr.Projection) ([]byte, int, error) {
	if p == nil && !t.IDs {
		w, err := rd.Winner(k.id)
		if dberr.Is(err, dberr.NotFound) || err == nil && w.Deleted {
			return dst, 0, nil
		}
		if err != nil {
			return dst, 0, err
		}
		wire, size, err := attribute.AppendWire(slices.Grow(dst, len(w.Body)+len(w.Body)/2), w.Body)
		if err == nil {
			return wire, size, nil
		}
	}
	item, ok, err := t.read(rd, k)
	if err != nil || !ok {
		return dst, 0, err
	}
	return appendItem(dst, item, p), item.Size(), nil
}

// appendRest appends what the answer has no room for, as requests have it.
func (b *batchGet) appendRest(dst []byte) []byte {
	dst = append(dst, '{')
	for _, t := range b.tables {
		if t.done == len(t.keys) {
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendQuoted(dst, t.as), ":{"...)
		for _, m := range t.members {
			if name := string(m.name); name != "Keys" {
				dst = append(append(jsonscan.AppendQuoted(dst, name), ':'), m.value...)
				dst = append(dst, ',')
			}
		}
		dst = append(dst, `"Keys":[`...)
		for i, raw := range t.raw[t.done:] {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, raw...)
		}
		dst = append(dst, "]}"...)
	}
	return append(dst, '}')
}
