package dynamoapi

import (
	"fmt"
	"strings"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/partiql"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
)

// maxStatements is how many statements a batch may have, as at AWS.
const maxStatements = 25

var (
	errBatchMixed = attribute.Invalid("The statements of a batch must all be reads or all be writes")
	errBatchKey   = attribute.Invalid("Select statements within BatchExecuteStatement must specify the primary key in the where clause.")
)

// statements is a BatchExecuteStatement on its way. Its statements are carried out one after
// the other, each for itself: what is wrong with one is told in its place.
type statements struct {
	*Request
	reports
	list   []*batchStatement
	bills  bills
	answer []byte
}

type batchStatement struct {
	execution
	failure error
}

func batchExecuteStatement(r *Request) error {
	b := &statements{Request: r, answer: []byte(`{"Responses":[`)}
	if err := b.parse(argsOf(r.body)); err != nil {
		return err
	}
	for i, s := range b.list {
		if i > 0 {
			b.answer = append(b.answer, ',')
		}
		begun := len(b.answer)
		b.answer = b.respond(b.answer, s)
		if err := r.Hold(int64(len(b.answer) - begun)); err != nil {
			return err
		}
	}
	return r.answer(append(b.appendBills(append(b.answer, ']'), b.bills), '}'))
}

// parse reads the request. What is wrong with a single statement stays with it.
func (b *statements) parse(a *args) error {
	var c constraints
	b.reports = reportsOf(a, &c)
	list := a.array("Statements")
	if a.err == nil && c.given("statements", list != nil) {
		switch n := jsonscan.Len(list); {
		case n == 0:
			c.failed("statements", "'[]'", "have length greater than or equal to 1")
		case n > maxStatements:
			c.failed("statements", fmt.Sprintf("'[%d statements]'", n), fmt.Sprint("have length less than or equal to ", maxStatements))
			list = nil
		}
	}
	for e := jsonscan.ElementsOf(list); list != nil && a.err == nil; {
		raw, ok := e.Next()
		if !ok {
			break
		}
		if jsonscan.KindOf(raw) != jsonscan.Object {
			return attribute.Unreadable("Unexpected value type in payload")
		}
		s := &batchStatement{execution: execution{Request: b.Request, args: argsOf(raw)}}
		b.list = append(b.list, s)
		c.given(fmt.Sprintf("statements.%d.member.statement", len(b.list)), s.has("Statement"))
	}
	if a.err != nil {
		return a.err
	}
	if err := c.err(); err != nil {
		return err
	}
	return b.parseEach()
}

// parseEach reads the statements.
func (b *statements) parseEach() error {
	reads, writes := false, false
	for _, s := range b.list {
		s.failure = s.execution.parse()
		if name, _, _ := named(s.failure); s.failure != nil && name == attribute.Serialization {
			return s.failure
		}
		if s.Statement == nil {
			continue
		}
		isRead := s.Kind == partiql.Select
		reads, writes = reads || isRead, writes || !isRead
	}
	if reads && writes {
		return errBatchMixed
	}
	return nil
}

// respond carries a statement out and appends its response.
func (b *statements) respond(dst []byte, s *batchStatement) []byte {
	var item attribute.Item
	err := s.failure
	if err == nil {
		item, err = b.run(s)
	}
	dst = append(dst, '{')
	begun := len(dst)
	switch {
	case err != nil:
		dst = appendStatementError(dst, err)
	case item.Len() > 0:
		dst = appendItem(append(dst, `"Item":`...), item, s.Projection)
	}
	if s.Statement != nil {
		if len(dst) > begun {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendQuoted(append(dst, `"TableName":`...), s.Table)
	}
	return append(dst, '}')
}

// run carries a statement out and returns the item that it shows.
func (b *statements) run(s *batchStatement) (item attribute.Item, err error) {
	switch s.Kind {
	case partiql.Exists:
		return item, errExists
	case partiql.Select:
		return b.readOne(s)
	}
	c, err := s.change()
	if err == nil {
		err = b.write(c)
	}
	if err != nil {
		return item, err
	}
	b.bills.add(s.Table, c.units())
	return s.shown(c), nil
}

// readOne reads the item whose key a SELECT binds.
func (b *statements) readOne(s *batchStatement) (item attribute.Item, err error) {
	t, err := b.table(s.Table, false)
	if err != nil {
		return item, err
	}
	attributes, rest, err := s.Where.Key(t.keyTypes()...)
	if err != nil || rest != nil || s.Index != "" {
		return item, errBatchKey
	}
	k, err := t.keyOfItem(attribute.NewItem(attributes))
	if err == nil {
		err = b.mayPartition(t, k.partition, false)
	}
	if err != nil {
		return item, err
	}
	consistent := s.truth("ConsistentRead")
	if s.args.err != nil {
		return item, s.args.err
	}
	err = t.db.Whole().View(b.Ctx(), func(rd *store.Reader) error {
		item, _, err = t.read(rd, k)
		return err
	})
	b.bills.add(s.Table, readUnits(item.Size(), consistent))
	return item, noTable(err)
}

// appendStatementError appends the member Error: AWS's codes are those of its exceptions,
// shorter, and ValidationError.
func appendStatementError(dst []byte, err error) []byte {
	name, text, _ := named(err)
	code := strings.TrimSuffix(name, "Exception")
	switch {
	case name == attribute.Validation:
		code = "ValidationError"
	case dberr.Is(err, dberr.Unavailable), dberr.Is(err, dberr.Full):
		code = "ThrottlingError" // clients try these again
	}
	reason := cancelsBy{code: code, text: text}
	if known, ok := reasonFor(err); ok {
		reason.item = known.item
	}
	return reason.append(append(dst, `"Error":`...))
}
