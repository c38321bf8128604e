package dynamoapi

import (
	"crypto/sha256"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
	"github.com/sectional/sectional/internal/attribute/partiql"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// execution is an ExecuteStatement on its way.
type execution struct {
	*Request
	*args
	reports
	*partiql.Statement
	failed string // ReturnValuesOnConditionCheckFailure
	limit  int
	text   string // Statement
	t      *tableAt
}

var (
	errDuplicateItem = dberr.New(dberr.Conflict, "DuplicateItemException", "Duplicate primary key exists in table")
	errExists        = attribute.Invalid("EXISTS can only be used in ExecuteTransaction write requests.")
	errTableName     = attribute.Invalid("Table name should be within the length [3, 255] and only contain 'a-z', 'A-Z', '0-9', '-', '_', '.'.")
)

func executeStatement(r *Request) error {
	e := &execution{Request: r, args: argsOf(r.body)}
	if err := e.parse(); err != nil {
		return err
	}
	switch e.Kind {
	case partiql.Select:
		return e.read()
	case partiql.Exists:
		return errExists
	}
	c, err := e.change()
	if err != nil {
		return err
	}
	if err := r.write(c); err != nil {
		return err
	}
	b := append([]byte{'{'}, `,"Items":[`...)
	if shown := e.shown(c); shown.Len() > 0 {
		b = attribute.AppendItem(b, shown)
	}
	return r.answer(finish(e.appendCapacity(append(b, ']'), c.t, c.units())))
}

// parse reads the request and its statement.
func (e *execution) parse() error {
	var c constraints
	c.given("statement", e.has("Statement"))
	e.text = e.textOr("Statement", "")
	if limit := e.number("Limit"); limit != nil {
		c.between("limit", limit, 1, 1<<62)
		e.limit = int(*limit)
	}
	e.reports = reportsOf(e.args, &c)
	e.failed = e.textOr("ReturnValuesOnConditionCheckFailure", "NONE")
	c.oneOf("returnValuesOnConditionCheckFailure", e.failed, "ALL_OLD", "NONE")
	parameters, err := parametersIn(e.args)
	if e.err != nil {
		return e.err
	}
	if c.err() != nil {
		return c.err()
	}
	if err == nil {
		e.Statement, err = partiql.Parse(e.text, parameters)
	}
	if err == nil {
		err = checkTableName(e.Table)
	}
	return err
}

// parametersIn reads the values of question marks.
func parametersIn(a *args) (values []attribute.Value, err error) {
	list := a.array("Parameters")
	for e := jsonscan.ElementsOf(list); list != nil; {
		raw, ok := e.Next()
		if !ok {
			break
		}
		v, err := attribute.ParseValue(raw)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	if list != nil && values == nil {
		return nil, attribute.Invalid("1 validation error detected: Value '[]' at 'parameters' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	return values, nil
}

// checkTableName refuses a name that no table has.
func checkTableName(name string) error {
	if len(name) < 3 || len(name) > 255 {
		return errTableName
	}
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return errTableName
		}
	}
	return nil
}

// change opens the table of a statement that writes, and returns what it makes of its item.
func (e *execution) change() (c *change, err error) {
	if e.Kind == partiql.Insert {
		return e.inserting()
	}
	if e.t, err = e.table(e.Table, true); err != nil {
		return nil, err
	}
	attributes, rest, err := e.Where.Key(e.t.keyTypes()...)
	if err != nil {
		return nil, err
	}
	if err := e.Where.Condition().CheckKeyPaths(e.t.Keys...); err != nil {
		return nil, err
	}
	k, err := e.t.keyOfItem(attribute.NewItem(attributes))
	if err != nil {
		return nil, err
	}
	if e.Kind == partiql.Delete {
		c = e.t.deleting(k)
		c.apply = c.deletingIf(rest)
	} else {
		c = &change{t: e.t, key: k, condition: rest}
		c.apply = c.updatingThere(e.Update)
	}
	c.showOld = e.failed == "ALL_OLD"
	return c, nil
}

// inserting is the change of an INSERT, which fails where there is an item.
func (e *execution) inserting() (*change, error) {
	if err := e.Item.CheckPut(); err != nil {
		return nil, err
	}
	t, err := e.table(e.Table, true)
	if err != nil {
		return nil, err
	}
	k, err := t.checkItem(e.Item)
	if err != nil {
		return nil, err
	}
	c := t.putting(k, e.Item)
	c.apply = func(_ attribute.Item, exists bool) (attribute.Item, bool, error) {
		if exists {
			return attribute.Item{}, false, errDuplicateItem
		}
		return e.Item, false, nil
	}
	return c, nil
}

// updatingThere is what an UPDATE does: it makes no item.
func (c *change) updatingThere(u *expr.Update) func(attribute.Item, bool) (attribute.Item, bool, error) {
	update := c.t.updating(u, c.key)
	return func(old attribute.Item, exists bool) (attribute.Item, bool, error) {
		if !exists {
			return old, false, c.failed()
		}
		return update(old, exists)
	}
}

// deletingIf is what a DELETE does: nothing where there is no item, whatever it says.
func (c *change) deletingIf(rest *expr.Condition) func(attribute.Item, bool) (attribute.Item, bool, error) {
	return func(old attribute.Item, exists bool) (attribute.Item, bool, error) {
		if exists && rest != nil && !rest.Holds(old) {
			return old, false, c.failed()
		}
		return attribute.Item{}, true, nil
	}
}

// shown is what the statement returns of its change.
func (e *execution) shown(c *change) attribute.Item {
	if e.Returning == "" {
		return attribute.Item{}
	}
	return c.returned(e.Update, e.Returning)
}

// keyTypes are the keys of the table with their types.
func (t *tableAt) keyTypes() []expr.Key {
	keys := make([]expr.Key, len(t.Keys))
	for i, name := range t.Keys {
		keys[i] = expr.Key{Name: name, Type: wireTypes[t.Attributes[name]]}
	}
	return keys
}

// digest tells requests apart: a token goes on with none but its own.
func (e *execution) digest() string {
	h := sha256.New()
	h.Write([]byte(e.text))
	h.Write([]byte{0})
	if list := e.get("Parameters"); list != nil {
		sum := digest(list)
		h.Write(sum[:])
	}
	return string(h.Sum(nil))
}
