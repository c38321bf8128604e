package aws

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// project is an item of the model that an article explains DynamoDB's indexes with: the projects of organisations.
type project struct {
	Organisation string `dynamodbav:"organisation_id" json:"organisation_id"`
	Name         string `dynamodbav:"name" json:"name"`
	Owner        string `dynamodbav:"owner" json:"owner"`
	Updated      string `dynamodbav:"last_updated" json:"last_updated"`
}

var projects = []project{
	{"abc123", "Foo Project", "jane", "2018-08-02"},
	{"abc123", "Other Foo Project", "john", "2018-03-02"},
	{"def456", "Bar Project", "jane", "2018-03-12"},
	{"def456", "Other Bar Project", "sarah", "2017-12-06"},
}

// makeProjects makes both tables with their items: organisations by their id, and projects by organisation and name, with
// a local index by when they were updated and a global one by their owners, that has keys alone.
func makeProjects(t *testing.T, s *server) {
	t.Helper()
	ctx := t.Context()
	s.table(&dynamodb.CreateTableInput{TableName: aws.String("organisations"), AttributeDefinitions: stringAttributes("id"), KeySchema: keys("id")})
	s.table(&dynamodb.CreateTableInput{
		TableName:            aws.String("projects"),
		AttributeDefinitions: stringAttributes("organisation_id", "name", "owner", "last_updated"),
		KeySchema:            keys("organisation_id", "name"),
		LocalSecondaryIndexes: []types.LocalSecondaryIndex{{
			IndexName: aws.String("by_update"), KeySchema: keys("organisation_id", "last_updated"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("by_owner"), KeySchema: keys("owner"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	})
	for id, name := range map[string]string{"abc123": "Foo Inc", "def456": "Bar Ltd"} {
		_, err := s.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("organisations"), Item: item{"id": text(id), "name": text(name)}})
		ok(t, err)
	}
	for _, p := range projects {
		in, err := attributevalue.MarshalMap(p)
		ok(t, err)
		_, err = s.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("projects"), Item: in})
		ok(t, err)
	}
}

// found reads the answer of a query or a batch as projects.
func found(t *testing.T, items []item) (list []project) {
	t.Helper()
	ok(t, attributevalue.UnmarshalListOfMaps(items, &list))
	return list
}

// equal fails the test unless both lists are the same.
func equal[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// The queries of the article, each by the index that it is for.
func TestProjectsOfOrganisations(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	makeProjects(t, s)
	name := aws.String("projects")

	organisation, err := s.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("organisations"), Key: item{"id": text("abc123")}})
	ok(t, err)
	if textOf(organisation.Item["name"]) != "Foo Inc" {
		t.Errorf("the organisation is %+v", organisation.Item)
	}

	all, err := s.Query(ctx, &dynamodb.QueryInput{
		TableName: name, KeyConditionExpression: aws.String("organisation_id = :o"), ExpressionAttributeValues: item{":o": text("abc123")},
	})
	ok(t, err)
	equal(t, "an organisation's projects", found(t, all.Items), projects[0], projects[1])

	// Seven days before the sixth of August.
	lately, err := s.Query(ctx, &dynamodb.QueryInput{
		TableName: name, IndexName: aws.String("by_update"), ConsistentRead: aws.Bool(true), ScanIndexForward: aws.Bool(false),
		KeyConditionExpression:    aws.String("organisation_id = :o AND last_updated > :since"),
		ExpressionAttributeValues: item{":o": text("abc123"), ":since": text("2018-07-30")},
	})
	ok(t, err)
	equal(t, "updated in seven days", found(t, lately.Items), project{Organisation: "abc123", Name: "Foo Project", Updated: "2018-08-02"})

	janes := janesProjects(t, s, "projects")
	equal(t, "jane's projects", janes, projects[0], projects[2])

	// Nothing has an index by the text of names, so all of it is read.
	bars, err := s.Scan(ctx, &dynamodb.ScanInput{
		TableName: name, FilterExpression: aws.String("contains(#n, :bar)"), ExpressionAttributeNames: map[string]string{"#n": "name"}, ExpressionAttributeValues: item{":bar": text("Bar")},
	})
	ok(t, err)
	if bars.Count != 2 || bars.ScannedCount != 4 {
		t.Errorf("a scan found %d of %d", bars.Count, bars.ScannedCount)
	}
}

// janesProjects asks the global index, which has keys alone, and reads the items that they are of.
func janesProjects(t *testing.T, s *server, table string) []project {
	t.Helper()
	index, err := s.Query(t.Context(), &dynamodb.QueryInput{
		TableName: &table, IndexName: aws.String("by_owner"), KeyConditionExpression: aws.String("#o = :jane"),
		ExpressionAttributeNames: map[string]string{"#o": "owner"}, ExpressionAttributeValues: item{":jane": text("jane")},
	})
	ok(t, err)
	var wanted types.KeysAndAttributes
	for _, entry := range index.Items {
		if len(entry) != 3 {
			t.Errorf("the index has %v", entry)
		}
		delete(entry, "owner")
		wanted.Keys = append(wanted.Keys, entry)
	}
	if len(wanted.Keys) == 0 {
		return nil
	}
	read, err := s.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{table: wanted}})
	ok(t, err)
	list := found(t, read.Responses[table])
	slices.SortFunc(list, func(a, b project) int { return strings.Compare(a.Organisation+a.Name, b.Organisation+b.Name) })
	return list
}

// One data, two APIs: the same items are documents, for Mango, feeds, partitions and views, and what is written there are
// items. A replication takes them to another database, which then is a table too, with its indexes.
func TestItemsAreDocuments(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	makeProjects(t, s)

	var mango struct{ Docs []project }
	s.couch(http.StatusOK, "POST", "/projects/_find", `{"selector":{"owner":"jane"}}`, &mango)
	equal(t, "Mango's answer", mango.Docs, projects[0], projects[2])

	type rows struct {
		Rows []struct {
			ID, Key string
			Value   any
			Doc     project
		}
	}
	var partition rows
	s.couch(http.StatusOK, "GET", "/projects/_partition/Sabc123!/_all_docs?include_docs=true", "", &partition)
	if len(partition.Rows) != 2 || partition.Rows[0].Doc != projects[0] || partition.Rows[1].Doc != projects[1] {
		t.Errorf("the partition has %+v", partition.Rows)
	}

	s.couch(http.StatusCreated, "PUT", "/projects/_design/count",
		`{"options":{"partitioned":false},"views":{"owners":{"map":"function (doc) { emit(doc.owner) }","reduce":"_count"}}}`, nil)
	var view rows
	s.couch(http.StatusOK, "GET", "/projects/_design/count/_view/owners?group=true", "", &view)
	var counts []string
	for _, row := range view.Rows {
		counts = append(counts, fmt.Sprint(row.Key, " ", row.Value))
	}
	equal(t, "the view", counts, "jane 2", "john 1", "sarah 1")

	var feed struct {
		Results []struct {
			ID      string
			Deleted bool
		}
		LastSeq string `json:"last_seq"`
	}
	s.couch(http.StatusOK, "GET", "/projects/_changes", "", &feed)
	if len(feed.Results) != 6 { // four items, the definition and the view
		t.Errorf("the feed has %+v", feed.Results)
	}
	_, err := s.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String("projects"), Key: item{"organisation_id": text("def456"), "name": text("Bar Project")}})
	ok(t, err)
	s.couch(http.StatusOK, "GET", "/projects/_changes?since="+feed.LastSeq, "", &feed)
	if len(feed.Results) != 1 || feed.Results[0].ID != `Sdef456!:SBar"CProject` || !feed.Results[0].Deleted {
		t.Errorf("after a deletion the feed has %+v", feed.Results)
	}

	// A document is an item at once, in the indexes too. Its id is made of its keys.
	s.couch(http.StatusCreated, "PUT", "/projects/Sdef456!:SNew", `{"organisation_id":"def456","name":"New","owner":"jane","last_updated":"2018-08-05"}`, nil)
	fresh := project{"def456", "New", "jane", "2018-08-05"}
	equal(t, "jane's projects", janesProjects(t, s, "projects"), projects[0], fresh)
	s.couch(http.StatusForbidden, "PUT", "/projects/Sdef456!:SOther", `{"organisation_id":"def456","name":"New"}`, nil)

	replicate := func(from, to string) {
		t.Helper()
		var done struct {
			OK bool
		}
		s.couch(http.StatusOK, "POST", "/_replicate", fmt.Sprintf(
			`{"source":%q,"target":%q,"create_target":true,"create_target_params":{"partitioned":true}}`, s.database(from), s.database(to)), &done)
		if !done.OK {
			t.Errorf("the replication from %s to %s is not well", from, to)
		}
	}
	replicate("projects", "copy")
	described, err := s.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("copy")})
	ok(t, err)
	if d := described.Table; *d.KeySchema[1].AttributeName != "name" || len(d.LocalSecondaryIndexes) != 1 || len(d.GlobalSecondaryIndexes) != 1 {
		t.Fatalf("the copy is described as %+v", d)
	}
	until(t, "the copy is active", func() bool {
		now, err := s.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("copy")})
		ok(t, err)
		return now.Table.TableStatus == types.TableStatusActive
	})
	equal(t, "jane's projects in the copy", janesProjects(t, s, "copy"), projects[0], fresh)

	_, err = s.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String("copy"), Key: item{"organisation_id": text("abc123"), "name": text("Foo Project")}, ConditionExpression: aws.String("attribute_exists(#o)"),
		UpdateExpression: aws.String("SET #o = :john"), ExpressionAttributeNames: map[string]string{"#o": "owner"}, ExpressionAttributeValues: item{":john": text("john")},
	})
	ok(t, err)
	replicate("copy", "projects")
	equal(t, "jane's projects after the copy gave one away", janesProjects(t, s, "projects"), fresh)
}
