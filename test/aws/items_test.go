package aws

import (
	"errors"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// item is one as the SDK has it: also a key, and the values of an expression.
type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// textOf is the text of a string or a number.
func textOf(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

// record has an attribute of each of the ten types.
type record struct {
	ID      string                `dynamodbav:"id"`
	Number  float64               `dynamodbav:"number"`
	Exact   attributevalue.Number `dynamodbav:"exact"`
	Bytes   []byte                `dynamodbav:"bytes"`
	Yes     bool                  `dynamodbav:"yes"`
	Nothing *string               `dynamodbav:"nothing"`
	List    []any                 `dynamodbav:"list"`
	Map     map[string]inner      `dynamodbav:"map"`
	Words   []string              `dynamodbav:"words,stringset"`
	Numbers []int                 `dynamodbav:"numbers,numberset"`
	Blobs   [][]byte              `dynamodbav:"blobs,binaryset"`
	Empty   string                `dynamodbav:"empty"`
	Dollar  string                `dynamodbav:"$odd"`
	Under   string                `dynamodbav:"_own"`
}

type inner struct {
	Deep []string `dynamodbav:"deep"`
}

// Items of all types come back as they were, by attributevalue.
func TestAllTypes(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	things := aws.String("things")
	s.table(&dynamodb.CreateTableInput{TableName: things, AttributeDefinitions: stringAttributes("id"), KeySchema: keys("id")})
	exact := "-1234567890.1234567890123456789012345678"
	want := record{
		ID: "all", Number: 1.5e-10, Exact: attributevalue.Number(exact), Bytes: []byte{0, 255}, Yes: true,
		List: []any{"x", 1.0, true, nil, []any{map[string]any{"a": "ä"}}}, Map: map[string]inner{" ": {}, "$m": {Deep: []string{"", "😀"}}},
		Words: []string{"a", "b"}, Numbers: []int{-2, 1, 10}, Blobs: [][]byte{{1}, {2, 3}}, Dollar: "$", Under: "_",
	}
	in, err := attributevalue.MarshalMap(want)
	ok(t, err)
	_, err = s.PutItem(ctx, &dynamodb.PutItemInput{TableName: things, Item: in})
	ok(t, err)
	out, err := s.GetItem(ctx, &dynamodb.GetItemInput{TableName: things, Key: item{"id": text("all")}, ConsistentRead: aws.Bool(true)})
	ok(t, err)
	var got record
	ok(t, attributevalue.UnmarshalMap(out.Item, &got))
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
	if len(out.Item) != len(in) || textOf(out.Item["exact"]) != exact {
		t.Fatalf("got %+v", out.Item)
	}
	if n, same := new(big.Rat).SetString(textOf(out.Item["number"])); !same || n.Cmp(big.NewRat(15, 100_000_000_000)) != 0 {
		t.Fatalf("the number is %q", textOf(out.Item["number"]))
	}
}

// Conditions, updates and projections of the expression builder, what requests return, and typed errors.
func TestExpressions(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	products := aws.String("products")
	s.table(&dynamodb.CreateTableInput{TableName: products, AttributeDefinitions: stringAttributes("id"), KeySchema: keys("id")})
	key := item{"id": text("p1")}
	build := func(b expression.Builder) expression.Expression {
		t.Helper()
		e, err := b.Build()
		ok(t, err)
		return e
	}

	absent := build(expression.NewBuilder().WithCondition(expression.Name("id").AttributeNotExists()))
	put := &dynamodb.PutItemInput{
		TableName: products, Item: item{"id": text("p1"), "price": number(30), "size": &types.AttributeValueMemberM{Value: item{"height": number(5)}}},
		ConditionExpression: absent.Condition(), ExpressionAttributeNames: absent.Names(), ExpressionAttributeValues: absent.Values(),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	_, err := s.PutItem(ctx, put)
	ok(t, err)
	var failed *types.ConditionalCheckFailedException
	if _, err = s.PutItem(ctx, put); !errors.As(err, &failed) || textOf(failed.Item["price"]) != "30" {
		t.Fatalf("a second put: %v, %+v", err, failed)
	}

	change := build(expression.NewBuilder().
		WithUpdate(expression.
			Set(expression.Name("price"), expression.Name("price").Minus(expression.Value(5))).
			Set(expression.Name("size.width"), expression.IfNotExists(expression.Name("size.width"), expression.Value(7))).
			Set(expression.Name("log"), expression.ListAppend(expression.IfNotExists(expression.Name("log"), expression.Value([]string{})), expression.Value([]string{"cheaper"}))).
			Add(expression.Name("sold"), expression.Value(1)).
			Add(expression.Name("tags"), expression.Value(&types.AttributeValueMemberSS{Value: []string{"new", "red"}})).
			Remove(expression.Name("size.height"))).
		WithCondition(expression.Name("price").Between(expression.Value(10), expression.Value(40)).
			And(expression.Name("size.height").In(expression.Value(4), expression.Value(5))).
			And(expression.Not(expression.Name("name").AttributeExists())).
			And(expression.Name("price").AttributeType(expression.Number))))
	updated, err := s.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: products, Key: key, UpdateExpression: change.Update(), ConditionExpression: change.Condition(),
		ExpressionAttributeNames: change.Names(), ExpressionAttributeValues: change.Values(),
		ReturnValues: types.ReturnValueUpdatedNew, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	ok(t, err)
	var now struct {
		Price, Sold int
		Size        map[string]int
		Log         []string
		Tags        []string
	}
	ok(t, attributevalue.UnmarshalMap(updated.Attributes, &now))
	if now.Price != 25 || now.Sold != 1 || now.Size["width"] != 7 || len(now.Log) != 1 || strings.Join(now.Tags, " ") != "new red" {
		t.Fatalf("updated to %+v", now)
	}
	if c := updated.ConsumedCapacity; c == nil || *c.CapacityUnits != 1 || *c.TableName != "products" {
		t.Fatalf("capacity %+v", c)
	}

	some := build(expression.NewBuilder().WithProjection(expression.NamesList(expression.Name("log[0]"), expression.Name("size.width"))))
	got, err := s.GetItem(ctx, &dynamodb.GetItemInput{TableName: products, Key: key, ProjectionExpression: some.Projection(), ExpressionAttributeNames: some.Names()})
	ok(t, err)
	want := item{"log": &types.AttributeValueMemberL{Value: []types.AttributeValue{text("cheaper")}}, "size": &types.AttributeValueMemberM{Value: item{"width": number(7)}}}
	if !reflect.DeepEqual(got.Item, want) {
		t.Fatalf("projected %+v", got.Item)
	}

	gone, err := s.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: products, Key: key, ReturnValues: types.ReturnValueAllOld})
	ok(t, err)
	if textOf(gone.Attributes["price"]) != "25" {
		t.Fatalf("deleted %+v", gone.Attributes)
	}
	refused := func(what string, in *dynamodb.PutItemInput) {
		t.Helper()
		_, err := s.PutItem(ctx, in)
		var refusal smithy.APIError
		if !errors.As(err, &refusal) || refusal.ErrorCode() != "ValidationException" || refusal.ErrorMessage() == "" {
			t.Fatalf("%s: %v", what, err)
		}
	}
	refused("no key", &dynamodb.PutItemInput{TableName: products, Item: item{"x": text("y")}})
	refused("a key of the wrong type", &dynamodb.PutItemInput{TableName: products, Item: item{"id": number(1)}})
	refused("an item that is too large", &dynamodb.PutItemInput{TableName: products, Item: item{"id": text("x"), "big": text(strings.Repeat("x", 400<<10))}})
	refused("an unused name", &dynamodb.PutItemInput{TableName: products, Item: key, ExpressionAttributeNames: map[string]string{"#x": "x"}})
}

// Batches: what does not fit an answer is left over, and asked for again.
func TestBatches(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	s.table(&dynamodb.CreateTableInput{TableName: aws.String("large"), AttributeDefinitions: stringAttributes("id"), KeySchema: keys("id")})
	filler := strings.Repeat("x", 390<<10)
	var written sync.WaitGroup
	asked := types.KeysAndAttributes{}
	for i := range 45 {
		id := text("item" + strconv.Itoa(i))
		asked.Keys = append(asked.Keys, item{"id": id})
		written.Go(func() {
			if _, err := s.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("large"), Item: item{"id": id, "filler": text(filler)}}); err != nil {
				t.Error(err)
			}
		})
	}
	written.Wait()
	seen := map[string]bool{}
	rounds := 0
	for left := map[string]types.KeysAndAttributes{"large": asked}; len(left) > 0; rounds++ {
		out, err := s.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: left})
		ok(t, err)
		for _, got := range out.Responses["large"] {
			seen[textOf(got["id"])] = true
		}
		left = out.UnprocessedKeys
	}
	if len(seen) != 45 || rounds != 2 {
		t.Fatalf("%d items in %d rounds", len(seen), rounds)
	}

	var writes []types.WriteRequest
	for _, key := range asked.Keys[:25] {
		writes = append(writes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key}})
	}
	out, err := s.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"large": writes}})
	ok(t, err)
	left, err := s.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String("large"), Select: types.SelectCount})
	ok(t, err)
	if len(out.UnprocessedItems) > 0 || left.Count == 0 || left.LastEvaluatedKey == nil {
		t.Fatalf("left over %+v, and counted %d", out.UnprocessedItems, left.Count)
	}
	writes = append(writes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: asked.Keys[30]}})
	if _, err := s.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"large": writes}}); err == nil {
		t.Fatal("a batch of 26 was taken")
	}
}
