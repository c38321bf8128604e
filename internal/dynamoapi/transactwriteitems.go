package dynamoapi

import (
	"errors"
	"fmt"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// transaction is a TransactWriteItems on its way, or an ExecuteTransaction that writes. Its
// actions are edits of one transaction of the store: all conditions are judged in its
// commit, on one state.
type transaction struct {
	*Request
	reports
	token   string // ClientRequestToken, "" for none
	items   []byte // the actions as they came
	actions []*transacted
	sizes   []int // of the items, as they were decided last
}

// transacted is an action of a transaction.
type transacted struct {
	actor
	change *change
}

// actor is what an action was asked for by.
type actor interface {
	// checks reports whether the action is a condition alone.
	checks() bool
	// open opens the table and returns what the action makes of its item.
	open(tables *opened) (*change, error)
}

// transactItem is an element of TransactItems.
type transactItem struct {
	*args
	kind      string // its member: Put, Update, Delete, ConditionCheck
	table     string
	failed    string // ReturnValuesOnConditionCheckFailure
	condition *expr.Condition
	update    *expr.Update
}

// The kinds of action.
const (
	doPut    = "Put"
	doUpdate = "Update"
	doDelete = "Delete"
	doCheck  = "ConditionCheck"
)

// actionKinds are the members of an element of TransactItems, one of which it has.
var actionKinds = []string{doCheck, doPut, doDelete, doUpdate}

// The members of the request, and of the actions in it.
var (
	transactWriteMembers = []string{"TransactItems", "ClientRequestToken", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics"}
	actionMembers        = map[string][]string{
		doCheck:  append([]string{"Key"}, conditionMembers...),
		doPut:    append([]string{"Item"}, conditionMembers...),
		doDelete: append([]string{"Key"}, conditionMembers...),
		doUpdate: append([]string{"Key", "UpdateExpression"}, conditionMembers...),
	}
)

// transactedExpressions are the parameters with expressions that an action has.
var transactedExpressions = map[string]expr.Forms{
	doPut:    {Expressions: []expr.Kind{expr.ConditionExpression}},
	doUpdate: {Expressions: []expr.Kind{expr.UpdateExpression, expr.ConditionExpression}},
	doDelete: {Expressions: []expr.Kind{expr.ConditionExpression}},
	doCheck:  {Expressions: []expr.Kind{expr.ConditionExpression}},
}

var (
	errNoAction    = attribute.Invalid("Invalid Request: TransactWriteRequest should contain Delete or Put or Update request")
	errManyActions = attribute.Invalid("TransactItems can only contain one of Check, Put, Update or Delete")
	errOtherItems  = dberr.New(dberr.Invalid, "IdempotentParameterMismatchException", "The client request token was used for a transaction with other parameters.")
)

func transactWriteItems(r *Request) error {
	x := &transaction{Request: r}
	if err := x.parse(argsOf(r.body, transactWriteMembers)); err != nil {
		return err
	}
	return x.run([]byte{'{'})
}

// run carries the transaction out and answers; answer is what the answer begins with.
func (x *transaction) run(answer []byte) error {
	if err := x.open(); err != nil {
		return err
	}
	again, err := x.write()
	if err != nil {
		return err
	}
	return x.reply(answer, again)
}

// parse reads the request, without items and keys.
func (x *transaction) parse(a *args) error {
	var c constraints
	x.reports = reportsOf(a, &c)
	x.token = tokenOfClient(a, &c)
	x.items = a.get("TransactItems")
	var items []*transactItem
	err := transactItems(a, actionKinds, &c, func(n int, a *args) error {
		w, err := actionOf(a, &c, n)
		items = append(items, w)
		x.actions = append(x.actions, &transacted{actor: w})
		return err
	})
	if err == nil {
		err = a.err
	}
	if err == nil {
		err = c.err()
	}
	for i := 0; i < len(items) && err == nil; i++ {
		err = items[i].parseExpressions()
	}
	return err
}

// tokenOfClient reads ClientRequestToken, "" for none.
func tokenOfClient(a *args, c *constraints) string {
	token := a.text("ClientRequestToken")
	c.length("clientRequestToken", token, clientTokenLength)
	return textOr(token, "")
}

// actionOf reads which action the n-th is, and what every kind has.
func actionOf(a *args, c *constraints, n int) (*transactItem, error) {
	w := &transactItem{}
	for _, kind := range actionKinds {
		object := a.object(kind)
		switch {
		case a.err != nil:
			return nil, a.err
		case object == nil:
			continue
		case w.args != nil:
			return nil, errManyActions
		}
		w.kind, w.args = kind, argsOf(object, actionMembers[kind])
	}
	if w.args == nil {
		return nil, errNoAction
	}
	at := fmt.Sprintf("transactItems.%d.member.%s.", n, small(w.kind))
	w.table = c.tableNameAt(at+"tableName", w.text("TableName"))
	c.given(at+small(w.itemName()), w.has(w.itemName()))
	switch w.kind {
	case doUpdate:
		c.given(at+"updateExpression", w.has("UpdateExpression"))
	case doCheck:
		c.given(at+"conditionExpression", w.has("ConditionExpression"))
	}
	w.failed = w.textOr("ReturnValuesOnConditionCheckFailure", "NONE")
	c.oneOf(at+"returnValuesOnConditionCheckFailure", w.failed, returnOnFailure)
	return w, w.err
}

// small returns a member's name as AWS's errors have it.
func small(name string) string { return string(name[0]-'A'+'a') + name[1:] }

// itemName is the member with the item, or its key.
func (w *transactItem) itemName() string {
	if w.kind == doPut {
		return "Item"
	}
	return "Key"
}

// parseExpressions reads the action's expressions.
func (w *transactItem) parseExpressions() error {
	if err := transactedExpressions[w.kind].Check(w.has); err != nil {
		return err
	}
	names, err := w.placeholders()
	if err != nil {
		return err
	}
	if text := w.text("UpdateExpression"); text != nil && w.kind == doUpdate {
		if w.update, err = names.Update(*text); err != nil {
			return err
		}
	}
	if text := w.text("ConditionExpression"); text != nil {
		if w.condition, err = names.Condition(expr.ConditionExpression, *text); err != nil {
			return err
		}
	}
	if w.err != nil {
		return w.err
	}
	return names.CheckUsed()
}

// open opens the tables and reads items and keys. Those that do not fit their tables cancel
// the transaction.
func (x *transaction) open() error {
	tables, seen := opened{r: x.Request}, distinct{}
	errs := make([]error, len(x.actions))
	for i, w := range x.actions {
		c, err := w.actor.open(&tables)
		if cancels(err) {
			errs[i] = err
			continue
		}
		if err == nil && !seen.add(c.t, c.key) {
			err = errManyOnOne
		}
		if err == nil {
			err = x.mayPartition(c.t, c.key.partition, !w.checks())
		}
		if err != nil {
			return err
		}
		w.change = c
	}
	return cancelled(errs)
}

// cancels reports whether an error in a request is a reason to cancel its transaction.
func cancels(err error) bool {
	var m *mismatch
	return errors.As(err, &m)
}

func (w *transactItem) checks() bool { return w.kind == doCheck }

// open implements actor.
func (w *transactItem) open(tables *opened) (c *change, err error) {
	item, err := attribute.ParseItem(w.get(w.itemName()))
	if err != nil {
		return nil, err
	}
	t, err := tables.table(w.table, !w.checks())
	if err != nil {
		return nil, err
	}
	if c, err = w.changeOf(t, item); err == nil && w.condition != nil {
		err = w.condition.CheckKeyPaths(t.Keys...)
	}
	return c, err
}

// changeOf returns what the action makes of an item.
func (w *transactItem) changeOf(t *tableAt, item attribute.Item) (c *change, err error) {
	if w.kind == doPut {
		if err := item.CheckPut(); err != nil {
			return nil, err
		}
		k, err := t.checkItem(item)
		if err != nil {
			return nil, err
		}
		c = t.putting(k, item)
	} else {
		k, err := t.keyOfItem(item)
		if err != nil {
			return nil, err
		}
		switch w.kind {
		case doUpdate:
			c = &change{t: t, key: k, apply: t.updating(w.update, k)}
		case doDelete:
			c = t.deleting(k)
		default:
			c = t.keeping(k)
		}
	}
	c.condition, c.showOld = w.condition, w.failed == "ALL_OLD"
	return c, nil
}

// keeping is the change that leaves an item as it is, for its condition's sake.
func (t *tableAt) keeping(k *key) *change {
	return &change{t: t, key: k, apply: func(old attribute.Item, exists bool) (attribute.Item, bool, error) { return old, !exists, nil }}
}

// write carries the transaction out; again if it was carried out before, by its token.
func (x *transaction) write() (again bool, err error) {
	parts, order := x.parts()
	var results []store.Result
	if x.token == "" {
		results, err = x.api.Store.Transact(x.Ctx(), parts)
	} else {
		results, again, err = x.api.Store.TransactOnce(x.Ctx(), parts, store.Once{By: x.Caller.Name, Token: x.token, Request: digest(x.items)})
	}
	if errors.Is(err, store.ErrOtherRequest) {
		return false, errOtherItems
	}
	if err != nil {
		return false, noTable(err)
	}
	errs := make([]error, len(order))
	for i, n := range order {
		errs[n] = results[i].Err
	}
	return again, cancelled(errs)
}

// parts returns the edits by tables, and for each of them which action it is.
func (x *transaction) parts() (parts []store.ScopedEdits, order []int) {
	x.sizes = make([]int, len(x.actions))
	done := map[uint64]bool{}
	for _, w := range x.actions {
		db := w.change.t.db
		if done[db.Number()] {
			continue
		}
		done[db.Number()] = true
		part := store.ScopedEdits{Scope: db.Whole()}
		for n, w := range x.actions {
			if w.change.t.db.Number() == db.Number() {
				// A check is decided before it is admitted, which tells that it writes nothing.
				part.Edits = append(part.Edits, document.Edit{ID: w.change.key.id, Decide: x.deciding(n), Conforms: true, Pinned: w.checks(), New: w.change.fresh})
				order = append(order, n)
			}
		}
		parts = append(parts, part)
	}
	return parts, order
}

// deciding decides an action, and refuses a transaction that is too large: whichever action
// is decided last sees what all the others came to.
func (x *transaction) deciding(n int) document.Decide {
	c := x.actions[n].change
	return func(now document.Current) (document.Decision, error) {
		d, err := c.decide(now)
		if err != nil {
			return d, err
		}
		x.sizes[n] = max(c.old.Size(), c.now.Size())
		total := 0
		for _, size := range x.sizes {
			total += size
		}
		if total > transactionBytes {
			return d, errTransactionSize
		}
		return d, nil
	}
}

// answer answers. Who asks again is billed for reading, as at AWS.
func (x *transaction) reply(answer []byte, again bool) error {
	var bs bills
	var changes []*change
	kind := "WriteCapacityUnits"
	for _, w := range x.actions {
		taken := x.costOf(w.change).twice()
		if again {
			kind, taken = "ReadCapacityUnits", reading(w.change.old.Size(), true).twice()
		}
		bs.add(w.change.t.name, taken)
		if !w.checks() {
			changes = append(changes, w.change)
		}
	}
	answer, err := x.appendCollections(x.appendBills(answer, bs, kind), &x.reports, changes)
	if err != nil {
		return err
	}
	return x.answer(finish(answer))
}
