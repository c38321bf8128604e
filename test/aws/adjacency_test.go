package aws

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// adjacent is a table that is a graph: an entity has its id as both keys, an edge the ids of its two ends, and an index
// with the keys the other way round follows edges backwards.
type adjacent struct {
	*server
	t     *testing.T
	table *string
}

// entity and edge are its items.
func entity(id, name string) item { return item{"pk": text(id), "sk": text(id), "name": text(name)} }
func edge(from, to, as string) item {
	return item{"pk": text(from), "sk": text(to), "as": text(as)}
}

func makeAdjacent(t *testing.T) *adjacent {
	t.Helper()
	a := &adjacent{start(t), t, aws.String("everything")}
	a.server.table(&dynamodb.CreateTableInput{
		TableName: a.table, AttributeDefinitions: stringAttributes("pk", "sk"), KeySchema: keys("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("inverted"), KeySchema: keys("sk", "pk"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}},
	})
	var puts []types.WriteRequest
	for _, i := range []item{
		entity("org#abc123", "Foo Inc"), entity("org#def456", "Bar Ltd"),
		entity("person#jane", "Jane"), entity("person#john", "John"), entity("person#sarah", "Sarah"),
		entity("project#1", "Foo Project"), entity("project#2", "Other Foo Project"), entity("project#3", "Bar Project"),
		edge("org#abc123", "project#1", "has"), edge("org#abc123", "project#2", "has"), edge("org#def456", "project#3", "has"),
		edge("org#abc123", "person#jane", "employs"), edge("org#def456", "person#sarah", "employs"),
		edge("project#1", "person#jane", "owner"), edge("project#1", "person#john", "member"),
		edge("project#2", "person#john", "owner"), edge("project#3", "person#jane", "owner"), edge("project#3", "person#sarah", "member"),
	} {
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: i}})
	}
	_, err := a.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*a.table: puts}})
	ok(t, err)
	return a
}

// follow gives the other ends of the edges of an entity, those whose ids begin with a kind: forwards, or backwards by the
// inverted index. A filter may ask for what the edges say. Without a kind it gives the entity itself as well.
func (a *adjacent) follow(from, kind string, backwards bool, as string) (ends []string) {
	a.t.Helper()
	in := &dynamodb.QueryInput{
		TableName: a.table, ExpressionAttributeValues: item{":from": text(from)},
	}
	begin, end := "pk", "sk"
	if backwards {
		in.IndexName, begin, end = aws.String("inverted"), "sk", "pk"
	}
	condition := begin + " = :from"
	if kind != "" {
		condition += " AND begins_with(" + end + ", :kind)"
		in.ExpressionAttributeValues[":kind"] = text(kind)
	}
	in.KeyConditionExpression = &condition
	if as != "" {
		in.FilterExpression, in.ExpressionAttributeNames = aws.String("#as = :as"), map[string]string{"#as": "as"}
		in.ExpressionAttributeValues[":as"] = text(as)
	}
	for pages := dynamodb.NewQueryPaginator(a, in); pages.HasMorePages(); {
		page, err := pages.NextPage(a.t.Context())
		ok(a.t, err)
		for _, found := range page.Items {
			ends = append(ends, textOf(found[end]))
		}
	}
	return ends
}

// One table for all kinds of things: each question is one query, and what belongs together changes together.
func TestAdjacencyLists(t *testing.T) {
	a := makeAdjacent(t)
	ctx := t.Context()

	whole, err := a.Query(ctx, &dynamodb.QueryInput{TableName: a.table, KeyConditionExpression: aws.String("pk = :o"), ExpressionAttributeValues: item{":o": text("org#abc123")}})
	ok(t, err)
	if whole.Count != 4 || textOf(whole.Items[0]["name"]) != "Foo Inc" {
		t.Errorf("an organisation with all that it has: %+v", whole.Items)
	}
	equal(t, "an organisation's projects", a.follow("org#abc123", "project#", false, ""), "project#1", "project#2")
	equal(t, "whose project it is", a.follow("project#3", "org#", true, ""), "org#def456")
	equal(t, "a project's people", a.follow("project#1", "person#", false, ""), "person#jane", "person#john")
	equal(t, "a person's projects", a.follow("person#jane", "project#", true, ""), "project#1", "project#3")
	equal(t, "the projects that a person owns", a.follow("person#john", "project#", true, "owner"), "project#2")
	equal(t, "who employs a person", a.follow("person#sarah", "org#", true, ""), "org#def456")
	equal(t, "all projects", a.entities("project#"), "Bar Project", "Foo Project", "Other Foo Project")

	t.Run("a project goes to another organisation", func(t *testing.T) {
		move := func(project, from, to string) error {
			_, err := a.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				{ConditionCheck: &types.ConditionCheck{TableName: a.table, Key: item{"pk": text(to), "sk": text(to)}, ConditionExpression: aws.String("attribute_exists(pk)")}},
				{Delete: &types.Delete{TableName: a.table, Key: item{"pk": text(from), "sk": text(project)}, ConditionExpression: aws.String("attribute_exists(pk)")}},
				{Put: &types.Put{TableName: a.table, Item: edge(to, project, "has")}},
			}})
			return err
		}
		ok(t, move("project#2", "org#abc123", "org#def456"))
		equal(t, "whose project it is", a.follow("project#2", "org#", true, ""), "org#def456")
		var canceled *types.TransactionCanceledException
		if err := move("project#1", "org#abc123", "org#nowhere"); !errors.As(err, &canceled) || *canceled.CancellationReasons[0].Code != "ConditionalCheckFailed" {
			t.Errorf("to an organisation that there is not: %v", err)
		}
		equal(t, "what was not moved", a.follow("project#1", "org#", true, ""), "org#abc123")
	})

	t.Run("a person leaves with all edges", func(t *testing.T) {
		var gone []types.WriteRequest
		for _, from := range a.follow("person#john", "", true, "") {
			gone = append(gone, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: item{"pk": text(from), "sk": text("person#john")}}})
		}
		_, err := a.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*a.table: gone}})
		ok(t, err)
		equal(t, "the person's edges", a.follow("person#john", "", true, ""))
		equal(t, "a project's people", a.follow("project#1", "person#", false, ""), "person#jane")
	})

	t.Run("each entity is a partition", func(t *testing.T) {
		var list struct {
			Rows []struct {
				Partition string
				Docs      int `json:"doc_count"`
			}
		}
		a.couch(http.StatusOK, "GET", "/everything/_partitions", "", &list)
		var partitions []string
		for _, row := range list.Rows {
			partitions = append(partitions, fmt.Sprint(row.Partition, " ", row.Docs))
		}
		equal(t, "partitions", partitions, "Sorg#abc123! 3", "Sorg#def456! 4", "Sperson#jane! 1", "Sperson#john! 0", "Sperson#sarah! 1",
			"Sproject#1! 2", "Sproject#2! 1", "Sproject#3! 3")
		var found struct {
			Docs []struct{ PK, SK string }
		}
		a.couch(http.StatusOK, "POST", "/everything/_find", `{"selector":{"as":"owner"},"fields":["pk","sk"]}`, &found)
		var owners []string
		for _, d := range found.Docs {
			owners = append(owners, d.PK+" "+d.SK)
		}
		equal(t, "owners, by Mango", owners, "project#1 person#jane", "project#3 person#jane")
	})
}

// entities gives the names of all entities of a kind, in their order: by PartiQL, which scans.
func (a *adjacent) entities(kind string) (names []string) {
	a.t.Helper()
	out, err := a.ExecuteStatement(a.t.Context(), &dynamodb.ExecuteStatementInput{
		Statement: aws.String(`SELECT name FROM everything WHERE begins_with(pk, ?) AND begins_with(sk, ?)`), Parameters: []types.AttributeValue{text(kind), text(kind)},
	})
	ok(a.t, err)
	for _, found := range out.Items {
		names = append(names, textOf(found["name"]))
	}
	slices.Sort(names)
	return names
}
