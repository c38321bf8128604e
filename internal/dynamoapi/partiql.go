package dynamoapi

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
	"github.com/sectional/sectional/internal/attribute/partiql"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// execution is a statement on its way: that of an ExecuteStatement, or one of several.
type execution struct {
	*Request
	*args
	reports
	*partiql.Statement
	failed string // ReturnValuesOnConditionCheckFailure
	limit  int
	// consistent is ConsistentRead, which changes what a SELECT is billed.
	consistent bool
	text       string // Statement
	t          *tableAt
}

// parsedByte is how many bytes of memory a byte of a statement takes once it is parsed, at
// most: that of a projection is a path.
const parsedByte = 96

var (
	errDuplicateItem = dberr.New(dberr.Conflict, "DuplicateItemException", "Duplicate primary key exists in table")
	errExists        = attribute.Invalid("EXISTS can only be used in ExecuteTransaction write requests.")
	errTableName     = attribute.Invalid("Table name should be within the length [3, 255] and only contain 'a-z', 'A-Z', '0-9', '-', '_', '.'.")
)

// statementMembers are the members of every statement, executeMembers those of a request with one.
var (
	statementMembers = []string{"Statement", "Parameters", "ReturnValuesOnConditionCheckFailure"}
	executeMembers   = append([]string{"ConsistentRead", "Limit", "NextToken", "ReturnConsumedCapacity"}, statementMembers...)
)

func executeStatement(r *Request) error {
	e := &execution{Request: r, args: argsOf(r.body, executeMembers)}
	if err := e.parse(); err != nil {
		return err
	}
	switch e.Kind {
	case partiql.Select:
		return e.read()
	case partiql.Exists:
		return errExists
	}
	c, err := e.change(&opened{r: r})
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
	return r.answer(finish(e.appendCapacity(append(b, ']'), c.t, e.costOf(c))))
}

// parse reads the request and its statement.
func (e *execution) parse() error {
	var c constraints
	e.parseForm(&c, "")
	if limit := e.number("Limit"); limit != nil {
		c.between("limit", limit, 1, 1<<62)
		e.limit = int(*limit)
	}
	e.reports = reportsOf(e.args, &c)
	if e.err != nil {
		return e.err
	}
	if err := c.err(); err != nil {
		return err
	}
	return e.parseStatement()
}

// parseForm reads what every statement has besides its text; path is where it is.
func (e *execution) parseForm(c *constraints, path string) {
	if c.given(path+"statement", e.has("Statement")) {
		e.text = e.textOr("Statement", "")
		switch n := len(e.text); {
		case n == 0:
			c.failed(path+"statement", "''", "have length greater than or equal to 1")
		case n > partiql.MaxLength:
			c.failed(path+"statement", fmt.Sprintf("'[%d bytes]'", n), fmt.Sprint("have length less than or equal to ", partiql.MaxLength))
		}
	}
	if list := e.array("Parameters"); list != nil && jsonscan.Len(list) == 0 {
		c.failed(path+"parameters", "'[]'", "have length greater than or equal to 1")
	}
	e.consistent = e.truth("ConsistentRead")
	e.failed = e.textOr("ReturnValuesOnConditionCheckFailure", "NONE")
	c.oneOf(path+"returnValuesOnConditionCheckFailure", e.failed, returnOnFailure)
}

// parseStatement reads the parameters and the statement.
func (e *execution) parseStatement() error {
	parameters, err := e.parameters()
	if err != nil {
		return err
	}
	return e.parseText(parameters)
}

func (e *execution) parseText(parameters []attribute.Value) (err error) {
	if err = e.Hold(parsedByte * int64(len(e.text))); err != nil {
		return err
	}
	if e.Statement, err = partiql.Parse(e.text, parameters); err == nil {
		err = checkTableName(e.Table)
	}
	return err
}

// ofStatement reports whether an error is about what a statement says; others are about
// the request, or about the server.
func ofStatement(err error) bool {
	name, _, _ := named(err)
	return name == attribute.Validation && dberr.Is(err, dberr.Invalid)
}

// statementsIn reads the form of a list of statements, which have the known members, and of
// which there are so many at most. The texts are not parsed yet.
func (r *Request) statementsIn(a *args, name string, known []string, most int, c *constraints) (list []*execution, err error) {
	raw := a.array(name)
	if a.err != nil || !c.given(small(name), raw != nil) {
		return nil, a.err
	}
	switch n := jsonscan.Len(raw); {
	case n == 0:
		c.failed(small(name), "'[]'", "have length greater than or equal to 1")
	case n > most:
		c.failed(small(name), fmt.Sprintf("'[%d statements]'", n), fmt.Sprint("have length less than or equal to ", most))
		return nil, nil
	}
	for each := jsonscan.ElementsOf(raw); ; {
		one, ok := each.Next()
		if !ok {
			return list, nil
		}
		if jsonscan.KindOf(one) != jsonscan.Object {
			return nil, attribute.Unreadable("Unexpected value type in payload")
		}
		e := &execution{Request: r, args: argsOf(one, known)}
		list = append(list, e)
		if e.parseForm(c, fmt.Sprintf("%s.%d.member.", small(name), len(list))); e.err != nil {
			return nil, e.err
		}
	}
}

// parameters reads the values of question marks.
func (e *execution) parameters() (values []attribute.Value, err error) {
	list := e.array("Parameters")
	for each := jsonscan.ElementsOf(list); list != nil; {
		raw, ok := each.Next()
		if !ok {
			break
		}
		v, err := attribute.ParseValue(raw)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
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

// key returns the key that the statement binds in its table, and the condition that is
// left, nil for none.
func (e *execution) key() (*key, *expr.Condition, error) {
	attributes, rest, err := e.Where.Key(e.t.keyTypes()...)
	if err != nil {
		return nil, nil, err
	}
	if err := e.Where.Condition().CheckKeyPaths(e.t.Keys...); err != nil {
		return nil, nil, err
	}
	k, err := e.t.keyOfItem(attribute.NewItem(attributes))
	return k, rest, err
}

// unbound reports whether an error is that of a statement which does not bind the key.
func unbound(err error) bool {
	var k *partiql.KeyError
	return errors.As(err, &k)
}

// mistyped reports whether it binds it by a value of another type.
func mistyped(err error) bool {
	var k *partiql.KeyError
	return errors.As(err, &k) && k.Mistyped
}

// change opens the table of a statement that writes, and returns what it makes of its item.
func (e *execution) change(tables *opened) (c *change, err error) {
	if e.t, err = tables.table(e.Table, true); err != nil {
		return nil, err
	}
	if e.Kind == partiql.Insert {
		return e.inserting()
	}
	k, rest, err := e.key()
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
	k, err := e.t.checkItem(e.Item)
	if err != nil {
		return nil, err
	}
	c := e.t.putting(k, e.Item)
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
		keys[i] = expr.Key{Name: name, Type: t.wireType(name)}
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
