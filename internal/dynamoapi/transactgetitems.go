package dynamoapi

import (
	"fmt"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
)

// transactGet is a TransactGetItems on its way, or an ExecuteTransaction that reads: all is
// read at one snapshot, of however many tables.
type transactGet struct {
	*Request
	reports
	gets   []*transactedGet
	answer []byte
	bytes  int
	bills  bills
}

// transactedGet is a read of a transaction.
type transactedGet struct {
	getter
	*wish
}

// getter is what a read was asked for by.
type getter interface {
	// open opens the table and returns what is wanted of it.
	open(tables *opened) (*wish, error)
}

// wish is what is wanted of an item.
type wish struct {
	t          *tableAt
	key        *key
	projection *expr.Projection // nil for all
}

// transactGetItem is an element of TransactItems.
type transactGetItem struct {
	*args
	table      string
	projection *expr.Projection
}

// transactedForms are the parameters of a get in a transaction: there is no older form.
var transactedForms = expr.Forms{Expressions: []expr.Kind{expr.ProjectionExpression}}

// The members of the request, and of one of its gets.
var (
	transactGetMembers   = []string{"TransactItems", "ReturnConsumedCapacity"}
	transactedGetMembers = append([]string{"TableName", "Key"}, projectionMembers...)
)

func transactGetItems(r *Request) error {
	x := &transactGet{Request: r}
	if err := x.parse(argsOf(r.body, transactGetMembers)); err != nil {
		return err
	}
	return x.run()
}

// run reads the items and answers.
func (x *transactGet) run() error {
	if err := x.open(); err != nil {
		return err
	}
	scopes := make([]store.Scope, len(x.gets))
	for i, g := range x.gets {
		scopes[i] = g.t.db.Whole()
	}
	if err := x.api.Store.View(x.Ctx(), scopes, x.read); err != nil {
		return noTable(err)
	}
	return x.Request.answer(append(x.appendBills(x.answer, x.bills, "ReadCapacityUnits"), '}'))
}

// transactItems walks the elements of TransactItems, which have the known members, counted from 1.
func transactItems(a *args, known []string, c *constraints, each func(n int, a *args) error) error {
	list := a.array("TransactItems")
	if a.err != nil || !c.given("transactItems", list != nil) {
		return a.err
	}
	switch n := jsonscan.Len(list); {
	case n == 0:
		c.failed("transactItems", "'[]'", "have length greater than or equal to 1")
	case n > maxTransacted:
		c.failed("transactItems", fmt.Sprintf("'[%d actions]'", n), fmt.Sprint("have length less than or equal to ", maxTransacted))
		return nil
	}
	n := 0
	for e := jsonscan.ElementsOf(list); ; {
		raw, ok := e.Next()
		if !ok {
			return nil
		}
		if jsonscan.KindOf(raw) != jsonscan.Object {
			return attribute.Unreadable("Unexpected value type in payload")
		}
		n++
		if err := each(n, argsOf(raw, known)); err != nil {
			return err
		}
	}
}

// parse reads the request, without the keys.
func (x *transactGet) parse(a *args) error {
	var c constraints
	x.reports = reportsOf(a, &c)
	var items []*transactGetItem
	err := transactItems(a, []string{"Get"}, &c, func(n int, a *args) error {
		at := fmt.Sprintf("transactItems.%d.member.get", n)
		get := a.object("Get")
		if a.err != nil || !c.given(at, get != nil) {
			return a.err
		}
		g := &transactGetItem{args: argsOf(get, transactedGetMembers)}
		g.table = c.tableNameAt(at+".tableName", g.text("TableName"))
		c.given(at+".key", g.has("Key"))
		items = append(items, g)
		x.gets = append(x.gets, &transactedGet{getter: g})
		return g.err
	})
	if err == nil {
		err = c.err()
	}
	for i := 0; i < len(items) && err == nil; i++ {
		items[i].projection, err = items[i].parseProjection()
	}
	return err
}

func (g *transactGetItem) parseProjection() (p *expr.Projection, err error) {
	if err := transactedForms.Check(g.has); err != nil {
		return nil, err
	}
	names, err := g.placeholders()
	if err != nil {
		return nil, err
	}
	if text := g.text("ProjectionExpression"); text != nil {
		if p, err = names.Projection(*text); err != nil {
			return nil, err
		}
	}
	if g.err != nil {
		return nil, g.err
	}
	return p, names.CheckUsed()
}

// open implements getter.
func (g *transactGetItem) open(tables *opened) (*wish, error) {
	item, err := attribute.ParseItem(g.get("Key"))
	if err != nil {
		return nil, err
	}
	t, err := tables.table(g.table, false)
	if err != nil {
		return nil, err
	}
	k, err := t.keyOfItem(item)
	if err == nil && g.projection != nil {
		err = g.projection.CheckKeyPaths(t.Keys...)
	}
	return &wish{t, k, g.projection}, err
}

// open opens the tables and reads the keys.
func (x *transactGet) open() error {
	tables, seen := opened{r: x.Request}, distinct{}
	errs := make([]error, len(x.gets))
	for i, g := range x.gets {
		w, err := g.getter.open(&tables)
		if cancels(err) {
			errs[i] = err
			continue
		}
		if err == nil && !seen.add(w.t, w.key) {
			err = errManyOnOne
		}
		if err == nil {
			err = x.mayPartition(w.t, w.key.partition, false)
		}
		if err != nil {
			return err
		}
		g.wish = w
	}
	return cancelled(errs)
}

// read writes the answer's items.
func (x *transactGet) read(rds []*store.Reader) error {
	x.answer = append(x.answer[:0], `{"Responses":[`...) // it may have begun before
	for i, g := range x.gets {
		if i > 0 {
			x.answer = append(x.answer, ',')
		}
		begun := len(x.answer)
		x.answer = append(x.answer, `{"Item":`...)
		empty := len(x.answer)
		answer, size, err := g.t.appendRead(x.answer, rds[i], g.key, g.projection)
		if err != nil {
			return err
		}
		if len(answer) == empty {
			answer = append(answer[:begun], '{')
		}
		x.answer = append(answer, '}')
		if err := x.Hold(int64(len(x.answer) - begun)); err != nil {
			return err
		}
		x.bills.add(g.t.name, reading(size, true).twice())
		if x.bytes += size; x.bytes > transactionBytes {
			return errTransactionSize
		}
	}
	x.answer = append(x.answer, ']')
	return nil
}
