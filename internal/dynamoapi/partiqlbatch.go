package dynamoapi

import (
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
	list     []*execution
	failures []error // what is wrong with the text of each
	tables   opened
	bills    bills
	answer   []byte
}

// The members of the request, and of one of its statements.
var (
	batchExecuteMembers = []string{"Statements", "ReturnConsumedCapacity"}
	batchedMembers      = append([]string{"ConsistentRead"}, statementMembers...)
)

func batchExecuteStatement(r *Request) error {
	b := &statements{Request: r, tables: opened{r: r}, answer: []byte(`{"Responses":[`)}
	if err := b.parse(argsOf(r.body, batchExecuteMembers)); err != nil {
		return err
	}
	for i, s := range b.list {
		if i > 0 {
			b.answer = append(b.answer, ',')
		}
		begun := len(b.answer)
		b.answer = b.respond(b.answer, s, b.failures[i])
		if err := r.Hold(int64(len(b.answer) - begun)); err != nil {
			return err
		}
	}
	return r.answer(append(b.appendBills(append(b.answer, ']'), b.bills, ""), '}'))
}

// parse reads the request. What is wrong with the text of a statement stays with it.
func (b *statements) parse(a *args) (err error) {
	var c constraints
	b.reports = reportsOf(a, &c)
	if b.list, err = b.statementsIn(a, "Statements", batchedMembers, maxStatements, &c); err == nil {
		err = c.err()
	}
	if err == nil {
		err = b.parseEach()
	}
	return err
}

// parseEach reads the statements.
func (b *statements) parseEach() error {
	reads, writes := false, false
	for _, s := range b.list {
		err := s.parseStatement()
		if err != nil && !ofStatement(err) {
			return err
		}
		b.failures = append(b.failures, err)
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
func (b *statements) respond(dst []byte, s *execution, err error) []byte {
	var item attribute.Item
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
func (b *statements) run(s *execution) (item attribute.Item, err error) {
	switch s.Kind {
	case partiql.Exists:
		return item, errExists
	case partiql.Select:
		return b.readOne(s)
	}
	c, err := s.change(&b.tables)
	if err == nil {
		err = b.write(c)
	}
	if err != nil {
		return item, err
	}
	b.bills.add(s.Table, b.costOf(c))
	return s.shown(c), nil
}

// readOne reads the item whose key a SELECT binds.
func (b *statements) readOne(s *execution) (item attribute.Item, err error) {
	if s.t, err = b.tables.table(s.Table, false); err != nil {
		return item, err
	}
	k, rest, err := s.key()
	if unbound(err) || rest != nil || s.Index != "" {
		return item, errBatchKey
	}
	if err == nil {
		err = b.mayPartition(s.t, k.partition, false)
	}
	if err != nil {
		return item, err
	}
	err = s.t.db.Whole().View(b.Ctx(), func(rd *store.Reader) error {
		item, _, err = s.t.read(rd, k)
		return err
	})
	b.bills.add(s.Table, reading(item.Size(), s.consistent))
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
