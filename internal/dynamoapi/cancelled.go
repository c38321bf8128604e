package dynamoapi

import (
	"errors"
	"strings"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// The limits of transactions, as at AWS.
const (
	maxTransacted    = 100
	transactionBytes = 4 << 20 // of the items that it reads or writes
)

var (
	errManyOnOne       = attribute.Invalid("Transaction request cannot include multiple operations on one item")
	errTransactionSize = attribute.Invalid("The items of the transaction have more than 4 MB together")
)

// mismatch is the error for an item or a key that does not fit the table. In a transaction
// it cancels that, as AWS finds it when it carries the transaction out.
type mismatch struct{ error }

// Unwrap returns the error.
func (m *mismatch) Unwrap() error { return m.error }

// cancelsBy is why one of a transaction's actions can't be carried out.
type cancelsBy struct {
	code, text string
	item       []byte // the member Item with a comma before it; nil for none
}

// reasonFor returns the reason that an error of an action is; ok is false for one that is
// no reason but the request's own error.
func reasonFor(err error) (reason cancelsBy, ok bool) {
	if err == nil {
		return cancelsBy{code: "None"}, true
	}
	_, text, _ := named(err)
	var shown *exception
	switch errors.As(err, &shown); {
	case errors.Is(err, errTransactionSize):
		return reason, false
	case errors.Is(err, errDuplicateItem):
		return cancelsBy{"DuplicateItem", text, nil}, true
	case errors.Is(err, errCondition) && shown != nil:
		return cancelsBy{"ConditionalCheckFailed", text, shown.members}, true
	case errors.Is(err, errCondition):
		return cancelsBy{"ConditionalCheckFailed", text, nil}, true
	}
	switch dberr.KindOf(err) {
	case dberr.Invalid, dberr.Precondition, dberr.TooLarge:
		return cancelsBy{"ValidationError", text, nil}, true
	case dberr.Conflict:
		return cancelsBy{"TransactionConflict", text, nil}, true
	}
	return reason, false
}

// cancelled returns the error for a transaction by the errors of its actions, in their
// order; nil if there is none.
func cancelled(errs []error) error {
	var codes []string
	any := false
	members := []byte(`,"CancellationReasons":[`)
	for i, err := range errs {
		reason, ok := reasonFor(err)
		if !ok {
			return err
		}
		any = any || err != nil
		codes = append(codes, reason.code)
		if i > 0 {
			members = append(members, ',')
		}
		members = reason.append(members)
	}
	if !any {
		return nil
	}
	return &exception{dberr.New(dberr.Conflict, "TransactionCanceledException",
		"Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", strings.Join(codes, ", ")), append(members, ']')}
}

func (c *cancelsBy) append(dst []byte) []byte {
	dst = jsonscan.AppendQuoted(append(dst, `{"Code":`...), c.code)
	dst = append(dst, c.item...)
	if c.text != "" {
		dst = jsonscan.AppendQuoted(append(dst, `,"Message":`...), c.text)
	}
	return append(dst, '}')
}
