package aws

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// readings makes a table of ten sensors with ten readings each, with both kinds of indexes, filled by batches.
func readings(t *testing.T, s *server) *string {
	t.Helper()
	name := aws.String("readings")
	definitions := append(stringAttributes("sensor", "kind"),
		types.AttributeDefinition{AttributeName: aws.String("at"), AttributeType: types.ScalarAttributeTypeN},
		types.AttributeDefinition{AttributeName: aws.String("value"), AttributeType: types.ScalarAttributeTypeN},
		types.AttributeDefinition{AttributeName: aws.String("mark"), AttributeType: types.ScalarAttributeTypeB})
	s.table(&dynamodb.CreateTableInput{
		TableName: name, AttributeDefinitions: definitions, KeySchema: keys("sensor", "at"),
		LocalSecondaryIndexes: []types.LocalSecondaryIndex{{
			IndexName: aws.String("by_value"), KeySchema: keys("sensor", "value"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"note"}},
		}},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			{IndexName: aws.String("by_kind"), KeySchema: keys("kind", "at"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}},
			{IndexName: aws.String("by_mark"), KeySchema: keys("mark"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}},
		},
	})
	for sensor := range 10 {
		var puts []types.WriteRequest
		for at := range int64(10) {
			reading := item{
				"sensor": text(fmt.Sprint("s", sensor)), "at": number(at), "value": number((at * 7) % 10), "note": text("n" + fmt.Sprint(at)),
				"kind": text([]string{"heat", "rain"}[sensor%2]), "other": text("x"),
			}
			if at == 5 {
				reading["mark"] = &types.AttributeValueMemberB{Value: []byte{0, byte(sensor % 3)}}
			}
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: reading}})
		}
		_, err := s.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*name: puts}})
		ok(t, err)
	}
	return name
}

// Queries by every kind of key condition, of tables and indexes, by pages and backwards.
func TestQueries(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	name := readings(t, s)
	// query reads all pages and gives an attribute of the items, and how many pages there were.
	query := func(attribute string, in dynamodb.QueryInput, b expression.Builder) (values string, pages int) {
		t.Helper()
		e, err := b.Build()
		ok(t, err)
		in.TableName, in.KeyConditionExpression, in.FilterExpression, in.ProjectionExpression = name, e.KeyCondition(), e.Filter(), e.Projection()
		in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.Names(), e.Values()
		var list []string
		for p := dynamodb.NewQueryPaginator(s, &in); p.HasMorePages(); pages++ {
			page, err := p.NextPage(ctx)
			ok(t, err)
			for _, found := range page.Items {
				list = append(list, textOf(found[attribute]))
			}
		}
		return strings.Join(list, " "), pages
	}
	one := expression.Key("sensor").Equal(expression.Value("s3"))
	for _, c := range []struct {
		condition expression.KeyConditionBuilder
		want      string
	}{
		{one, "0 1 2 3 4 5 6 7 8 9"},
		{one.And(expression.Key("at").Equal(expression.Value(4))), "4"},
		{one.And(expression.Key("at").LessThan(expression.Value(2))), "0 1"},
		{one.And(expression.Key("at").LessThanEqual(expression.Value(2))), "0 1 2"},
		{one.And(expression.Key("at").GreaterThan(expression.Value(7))), "8 9"},
		{one.And(expression.Key("at").GreaterThanEqual(expression.Value(7))), "7 8 9"},
		{one.And(expression.Key("at").Between(expression.Value(3), expression.Value(5))), "3 4 5"},
	} {
		if got, _ := query("at", dynamodb.QueryInput{}, expression.NewBuilder().WithKeyCondition(c.condition)); got != c.want {
			t.Errorf("found %q, want %q", got, c.want)
		}
	}
	backwards := dynamodb.QueryInput{ScanIndexForward: aws.Bool(false), Limit: aws.Int32(4)}
	if got, pages := query("at", backwards, expression.NewBuilder().WithKeyCondition(one)); got != "9 8 7 6 5 4 3 2 1 0" || pages != 3 {
		t.Errorf("backwards: %q in %d pages", got, pages)
	}
	odd := expression.NewBuilder().WithKeyCondition(one).WithFilter(expression.Name("value").GreaterThan(expression.Value(6)).Or(expression.Name("note").BeginsWith("n1")))
	if got, _ := query("at", dynamodb.QueryInput{Limit: aws.Int32(3)}, odd); got != "1 4 7" {
		t.Errorf("filtered: %q", got)
	}
	local := expression.NewBuilder().WithKeyCondition(one.And(expression.Key("value").GreaterThanEqual(expression.Value(5))))
	in := dynamodb.QueryInput{IndexName: aws.String("by_value"), ConsistentRead: aws.Bool(true), Limit: aws.Int32(2)}
	if got, pages := query("note", in, local); got != "n5 n8 n1 n4 n7" || pages != 3 {
		t.Errorf("by the local index: %q in %d pages", got, pages)
	}
	rain := expression.NewBuilder().WithKeyCondition(expression.Key("kind").Equal(expression.Value("rain")).And(expression.Key("at").LessThan(expression.Value(2)))).
		WithProjection(expression.NamesList(expression.Name("sensor")))
	if got, pages := query("sensor", dynamodb.QueryInput{IndexName: aws.String("by_kind"), Limit: aws.Int32(3)}, rain); len(strings.Fields(got)) != 10 || pages != 4 {
		t.Errorf("by the global index: %q in %d pages", got, pages)
	}
	marked := expression.NewBuilder().WithKeyCondition(expression.Key("mark").Equal(expression.Value([]byte{0, 2})))
	got, _ := query("sensor", dynamodb.QueryInput{IndexName: aws.String("by_mark")}, marked)
	if sensors := strings.Fields(got); !slices.Equal(slices.Sorted(slices.Values(sensors)), []string{"s2", "s5", "s8"}) {
		t.Errorf("by the sparse index: %q", got)
	}
	counted, err := s.Query(ctx, &dynamodb.QueryInput{
		TableName: name, Select: types.SelectCount, KeyConditionExpression: aws.String("sensor = :s"), ExpressionAttributeValues: item{":s": text("s1")},
	})
	ok(t, err)
	if counted.Count != 10 || counted.Items != nil {
		t.Errorf("counted %d, with %d items", counted.Count, len(counted.Items))
	}
}

// Four workers scan a segment each, with pages, and meet no item twice and miss none. A sparse index has what is marked.
func TestScans(t *testing.T) {
	s := start(t)
	name := readings(t, s)
	var mu sync.Mutex
	seen := map[string]int{}
	var workers sync.WaitGroup
	for segment := range int32(4) {
		workers.Go(func() {
			in := &dynamodb.ScanInput{TableName: name, Segment: aws.Int32(segment), TotalSegments: aws.Int32(4), Limit: aws.Int32(7)}
			for p := dynamodb.NewScanPaginator(s, in); p.HasMorePages(); {
				page, err := p.NextPage(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, found := range page.Items {
					seen[textOf(found["sensor"])+" "+textOf(found["at"])]++
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s was met %d times", id, times)
		}
	}
	if len(seen) != 100 {
		t.Errorf("%d items were met", len(seen))
	}
	marked, err := s.Scan(t.Context(), &dynamodb.ScanInput{TableName: name, IndexName: aws.String("by_mark")})
	ok(t, err)
	if marked.Count != 10 || len(marked.Items[0]) != 3 {
		t.Errorf("the sparse index has %d items, the first is %+v", marked.Count, marked.Items[0])
	}
}

// Statements of PartiQL, with parameters, pages and typed errors, and several at once, also as transactions.
func TestPartiQL(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	name := readings(t, s)
	in := &dynamodb.ExecuteStatementInput{
		Statement: aws.String(`SELECT "at", note FROM readings WHERE sensor = ? AND "at" BETWEEN ? AND ? ORDER BY "at" DESC`), Limit: aws.Int32(2),
		Parameters: []types.AttributeValue{text("s4"), number(2), number(6)},
	}
	var list []string
	for {
		out, err := s.ExecuteStatement(ctx, in)
		ok(t, err)
		for _, found := range out.Items {
			list = append(list, textOf(found["at"])+textOf(found["note"]))
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			break
		}
	}
	if got := strings.Join(list, " "); got != "6n6 5n5 4n4 3n3 2n2" {
		t.Errorf("selected %q", got)
	}
	insert := &dynamodb.ExecuteStatementInput{Statement: aws.String(`INSERT INTO readings VALUE {'sensor': 's4', 'at': 100, 'tags': <<'a', 'b'>>}`)}
	_, err := s.ExecuteStatement(ctx, insert)
	ok(t, err)
	var duplicate *types.DuplicateItemException
	if _, err := s.ExecuteStatement(ctx, insert); !errors.As(err, &duplicate) {
		t.Errorf("a second insert: %v", err)
	}
	var failed *types.ConditionalCheckFailedException
	if _, err := s.ExecuteStatement(ctx, &dynamodb.ExecuteStatementInput{
		Statement: aws.String(`UPDATE readings SET note = 'x' WHERE sensor = 's4' AND "at" = 100 AND note = 'y'`),
	}); !errors.As(err, &failed) {
		t.Errorf("an update whose condition fails: %v", err)
	}
	batch, err := s.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{
		{Statement: aws.String(`UPDATE readings SET note = ? WHERE sensor = 's4' AND "at" = 100`), Parameters: []types.AttributeValue{text("new")}},
		{Statement: aws.String(`DELETE FROM readings WHERE sensor = 's4' AND "at" = 1 AND note = 'other'`)},
	}})
	ok(t, err)
	if r := batch.Responses; len(r) != 2 || r[0].Error != nil || r[1].Error == nil || r[1].Error.Code != types.BatchStatementErrorCodeEnumConditionalCheckFailed {
		t.Errorf("answers of the batch %+v", r)
	}
	got, err := s.GetItem(ctx, &dynamodb.GetItemInput{TableName: name, Key: item{"sensor": text("s4"), "at": number(100)}})
	ok(t, err)
	if tags, is := got.Item["tags"].(*types.AttributeValueMemberSS); !is || !slices.Equal(tags.Value, []string{"a", "b"}) || textOf(got.Item["note"]) != "new" {
		t.Errorf("the item is %+v", got.Item)
	}

	transact := func(token string, statements ...types.ParameterizedStatement) ([]types.ItemResponse, error) {
		in := &dynamodb.ExecuteTransactionInput{TransactStatements: statements}
		if token != "" {
			in.ClientRequestToken = &token
		}
		out, err := s.ExecuteTransaction(ctx, in)
		if err != nil {
			return nil, err
		}
		return out.Responses, nil
	}
	statement := func(text string, parameters ...types.AttributeValue) types.ParameterizedStatement {
		return types.ParameterizedStatement{Statement: &text, Parameters: parameters}
	}
	add := statement(`UPDATE readings SET "value" = "value" + ? WHERE sensor = 's5' AND "at" = 1`, number(100))
	for range 2 {
		_, err = transact("once", add, statement(`DELETE FROM readings WHERE sensor = 's5' AND "at" = 2`))
		ok(t, err)
	}
	var canceled *types.TransactionCanceledException
	if _, err := transact("", add, statement(`EXISTS(SELECT * FROM readings WHERE sensor = 's5' AND "at" = 3 AND "value" = 7)`)); !errors.As(err, &canceled) ||
		len(canceled.CancellationReasons) != 2 || aws.ToString(canceled.CancellationReasons[1].Code) != "ConditionalCheckFailed" {
		t.Errorf("a transaction whose condition fails: %v", err)
	}
	read, err := transact("", statement(`SELECT "value" FROM readings WHERE sensor = 's5' AND "at" = 1`), statement(`SELECT * FROM readings WHERE sensor = 's5' AND "at" = 2`))
	ok(t, err)
	if len(read) != 2 || textOf(read[0].Item["value"]) != "107" || read[1].Item != nil {
		t.Errorf("read %+v", read)
	}
}
