package dynamoapi

import (
	"fmt"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
)

// transactGet is a TransactGetItems on its way: all is read at one snapshot, of however
// many tables.
type transactGet struct {
	*Request
	reports
	gets   []*transactedGet
	answer []byte
	bytes  int
	bills  bills
}

type transactedGet struct {
	*args
	table      string
	t          *tableAt
	key        *key
	projection *expr.Projection
}

// transactedForms are the parameters of a get in a transaction: there is no older form.
var transactedForms = expr.Forms{Expressions: []expr.Kind{expr.ProjectionExpression}}

func transactGetItems(r *Request) error {
	x := &transactGet{Request: r}
	if err := x.parse(argsOf(r.body)); err != nil {
		return err
	}
	if err := x.open(); err != nil {
		return err
	}
	scopes := make([]store.Scope, len(x.gets))
	for i, g := range x.gets {
		scopes[i] = g.t.db.Whole()
	}
	if err := r.api.Store.View(r.Ctx(), scopes, x.read); err != nil {
		return noTable(err)
	}
	return r.answer(append(x.appendKinds(x.answer, "ReadCapacityUnits", x.bills), '}'))
}

// transactItems walks the elements of TransactItems, counted from 1.
func transactItems(a *args, c *constraints, each func(n int, a *args) error) error {
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
		if err := each(n, argsOf(raw)); err != nil {
			return err
		}
	}
}

// parse reads the request, without the keys.
func (x *transactGet) parse(a *args) error {
	var c constraints
	x.reports = reportsOf(a, &c)
	err := transactItems(a, &c, func(n int, a *args) error {
		at := fmt.Sprintf("transactItems.%d.member.get", n)
		get := a.object("Get")
		if a.err != nil || !c.given(at, get != nil) {
			return a.err
		}
		g := &transactedGet{args: argsOf(get)}
		g.table = c.tableNameAt(at+".tableName", g.text("TableName"))
		c.given(at+".key", g.has("Key"))
		x.gets = append(x.gets, g)
		return g.err
	})
	if err == nil {
		err = c.err()
	}
	for i := 0; i < len(x.gets) && err == nil; i++ {
		x.gets[i].projection, err = x.gets[i].parseProjection()
	}
	return err
}

func (g *transactedGet) parseProjection() (p *expr.Projection, err error) {
	if err := transactedForms.Check(g.has); err != nil {
		return nil, err
	}
	names, err := expr.ParsePlaceholders(g.object("ExpressionAttributeNames"), nil)
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

// open opens the tables and reads the keys.
func (x *transactGet) open() error {
	tables, seen := opened{r: x.Request}, distinct{}
	errs := make([]error, len(x.gets))
	for i, g := range x.gets {
		item, err := attribute.ParseItem(g.get("Key"))
		if err != nil {
			return err
		}
		if g.t, err = tables.table(g.table, false); err != nil {
			return err
		}
		if g.key, err = g.t.keyOfItem(item); cancels(err) {
			errs[i] = err
			continue
		}
		if err == nil && !seen.add(g.t, g.key) {
			err = errManyOnOne
		}
		if err == nil {
			err = x.mayPartition(g.t, g.key.partition, false)
		}
		if err == nil && g.projection != nil {
			err = g.projection.CheckKeyPaths(g.t.Keys...)
		}
		if err != nil {
			return err
		}
	}
	return cancelled(errs)
}

// read writes the answer's items.
func (x *transactGet) read(rds []*store.Reader) error {
	x.answer = append(x.answer, `{"Responses":[`...)
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
		x.bills.add(g.table, 2*readUnits(size, true))
		if x.bytes += size; x.bytes > transactionBytes {
			return errTransactionSize
		}
	}
	x.answer = append(x.answer, ']')
	return nil
}
