package dynamoapi

import (
	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
	"github.com/sectional/sectional/internal/attribute/partiql"
)

var (
	errTransactionMixed = attribute.Invalid("ExecuteTransaction API does not support both read and write operations in the same request.")
	errReturning        = attribute.Invalid("RETURNING clause is not supported in ExecuteTransaction.")
	errTransactedIndex  = attribute.Invalid("Reads on indices are not supported within transactions.")
	errTransactedKey    = attribute.Invalid("Select statements within ExecuteTransaction must specify the primary key in the where clause.")
	errExistsIndex      = attribute.Invalid("Operations on indices are not supported in transactions")
	errExistsKey        = attribute.Invalid("EXISTS() must contain a single item read with additional condition")
)

var executeTransactionMembers = []string{"TransactStatements", "ClientRequestToken", "ReturnConsumedCapacity"}

// executeTransaction carries statements out as a transaction: those that read are a
// TransactGetItems, those that write a TransactWriteItems, in which EXISTS is a
// ConditionCheck.
func executeTransaction(r *Request) error {
	var c constraints
	a := argsOf(r.body, executeTransactionMembers)
	reports, token := reportsOf(a, &c), tokenOfClient(a, &c)
	reports.collections = false // there is no such parameter
	list, err := r.statementsIn(a, "TransactStatements", statementMembers, maxTransacted, &c)
	if err == nil {
		err = c.err()
	}
	if err != nil {
		return err
	}
	reads, err := parseTransacted(list)
	if err != nil {
		return err
	}
	if reads {
		x := &transactGet{Request: r, reports: reports}
		for i, e := range list {
			x.gets = append(x.gets, &transactedGet{getter: &statementGet{e, i}})
		}
		return x.run()
	}
	x := &transaction{Request: r, reports: reports, token: token, items: a.get("TransactStatements")}
	for i, e := range list {
		x.actions = append(x.actions, &transacted{actor: &statementWrite{e, i}})
	}
	return x.run([]byte(`{,"Responses":[]`))
}

// parseTransacted reads the statements, and returns whether they all read; else they all
// write.
func parseTransacted(list []*execution) (reads bool, err error) {
	selects := 0
	for i, e := range list {
		parameters, err := e.parameters()
		if err != nil {
			return false, err
		}
		if err = e.parseText(parameters); err == nil && e.Returning != "" {
			err = errReturning
		}
		if err != nil {
			return false, inStatement(i, err)
		}
		if e.Kind == partiql.Select {
			selects++
		}
	}
	if selects > 0 && selects < len(list) {
		return false, errTransactionMixed
	}
	return selects > 0, nil
}

// inStatement says which statement what is wrong is about, unless it is a reason to
// cancel the transaction, which has its place.
func inStatement(i int, err error) error {
	if err == nil || cancels(err) || !ofStatement(err) {
		return err
	}
	_, text, _ := named(err)
	return attribute.Invalid("Validation failed in TransactStatements[%d]: %s", i, text)
}

// onlyItem returns the key of the statement and the condition that is left. A key that the
// statement does not bind is an error of the caller's, one of another type cancels.
func (e *execution) onlyItem(incomplete error) (*key, *expr.Condition, error) {
	k, rest, err := e.key()
	switch {
	case mistyped(err):
		err = errKeySchema
	case unbound(err):
		err = incomplete
	}
	return k, rest, err
}

// statementGet is a SELECT in a transaction.
type statementGet struct {
	*execution
	n int // which statement it is
}

// open implements getter.
func (g *statementGet) open(tables *opened) (*wish, error) {
	w, err := g.wished(tables)
	return w, inStatement(g.n, err)
}

func (g *statementGet) wished(tables *opened) (w *wish, err error) {
	if g.Index != "" {
		return nil, errTransactedIndex
	}
	if g.t, err = tables.table(g.Table, false); err != nil {
		return nil, err
	}
	k, rest, err := g.onlyItem(errTransactedKey)
	if err == nil && rest != nil {
		err = errTransactedKey
	}
	return &wish{g.t, k, g.Projection}, err
}

// statementWrite is a statement of a transaction that writes.
type statementWrite struct {
	*execution
	n int // which statement it is
}

func (w *statementWrite) checks() bool { return w.Kind == partiql.Exists }

// open implements actor.
func (w *statementWrite) open(tables *opened) (c *change, err error) {
	if w.checks() {
		c, err = w.checking(tables)
	} else if c, err = w.execution.change(tables); unbound(err) {
		err = errKeySchema
	}
	return c, inStatement(w.n, err)
}

// checking is the change of an EXISTS: none, but its condition must hold.
func (w *statementWrite) checking(tables *opened) (c *change, err error) {
	if w.Index != "" {
		return nil, errExistsIndex
	}
	if w.t, err = tables.table(w.Table, false); err != nil {
		return nil, err
	}
	k, rest, err := w.onlyItem(errExistsKey)
	if err == nil && rest == nil {
		err = errExistsKey
	}
	if err != nil {
		return nil, err
	}
	c = w.t.keeping(k)
	c.condition, c.showOld = rest, w.failed == "ALL_OLD"
	return c, nil
}
