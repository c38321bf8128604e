package aws

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Transactions over two tables: all or nothing, reasons in order and typed, and tokens.
func TestTransactions(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	accounts, log := aws.String("accounts"), aws.String("log")
	for _, name := range []*string{accounts, log} {
		s.table(&dynamodb.CreateTableInput{TableName: name, AttributeDefinitions: stringAttributes("id"), KeySchema: keys("id")})
	}
	for _, id := range []string{"a", "b"} {
		_, err := s.PutItem(ctx, &dynamodb.PutItemInput{TableName: accounts, Item: item{"id": text(id), "balance": number(100)}})
		ok(t, err)
	}
	// transfer moves an amount from a to b and writes it down; nothing may be owed, nor written down twice.
	transfer := func(id, token string, amount int64) error {
		add := func(account string, by int64, condition *string) types.TransactWriteItem {
			values := item{":by": number(by)}
			if condition != nil {
				values[":amount"] = number(amount)
			}
			return types.TransactWriteItem{Update: &types.Update{
				TableName: accounts, Key: item{"id": text(account)}, UpdateExpression: aws.String("ADD balance :by"), ConditionExpression: condition,
				ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			}}
		}
		in := &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			add("a", -amount, aws.String("balance >= :amount")),
			add("b", amount, nil),
			{Put: &types.Put{TableName: log, Item: item{"id": text(id), "amount": number(amount)}, ConditionExpression: aws.String("attribute_not_exists(id)")}},
			{ConditionCheck: &types.ConditionCheck{TableName: log, Key: item{"id": text("closed")}, ConditionExpression: aws.String("attribute_not_exists(id)")}},
		}}
		if token != "" {
			in.ClientRequestToken = &token
		}
		_, err := s.TransactWriteItems(ctx, in)
		return err
	}
	// balances reads both at one moment.
	balances := func() (list [2]string) {
		t.Helper()
		get := func(id string) types.TransactGetItem {
			return types.TransactGetItem{Get: &types.Get{TableName: accounts, Key: item{"id": text(id)}, ProjectionExpression: aws.String("balance")}}
		}
		out, err := s.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{get("a"), get("b")}})
		ok(t, err)
		for i, response := range out.Responses {
			list[i] = textOf(response.Item["balance"])
		}
		return list
	}

	ok(t, transfer("1", "", 30))
	var canceled *types.TransactionCanceledException
	if err := transfer("1", "", 80); !errors.As(err, &canceled) {
		t.Fatalf("owed: %v", err)
	}
	var codes []string
	for _, reason := range canceled.CancellationReasons {
		codes = append(codes, aws.ToString(reason.Code))
	}
	if len(codes) != 4 || codes[0] != "ConditionalCheckFailed" || codes[1] != "None" || codes[2] != "ConditionalCheckFailed" || codes[3] != "None" {
		t.Fatalf("reasons %q", codes)
	}
	if got := textOf(canceled.CancellationReasons[0].Item["balance"]); got != "70" || canceled.CancellationReasons[2].Item != nil {
		t.Fatalf("reasons with %q and %+v", got, canceled.CancellationReasons[2])
	}
	if got := balances(); got != [2]string{"70", "130"} {
		t.Fatalf("balances %q", got)
	}

	for range 3 {
		ok(t, transfer("2", "the-token", 10))
	}
	if got := balances(); got != [2]string{"60", "140"} {
		t.Fatalf("balances after one request three times %q", got)
	}
	var mismatch *types.IdempotentParameterMismatchException
	if err := transfer("3", "the-token", 20); !errors.As(err, &mismatch) {
		t.Fatalf("another request with the token: %v", err)
	}
}
