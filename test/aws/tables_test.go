package aws

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A table is made, described, changed, listed and dropped, with the SDK's waiters and typed errors.
func TestTables(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	music := aws.String("Music")
	s.table(&dynamodb.CreateTableInput{
		TableName: music, AttributeDefinitions: stringAttributes("artist", "song"), KeySchema: keys("artist", "song"),
		Tags:                []types.Tag{{Key: aws.String("team"), Value: aws.String("red")}},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeKeysOnly},
	})
	_, err := s.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: music, AttributeDefinitions: stringAttributes("artist"), KeySchema: keys("artist"), BillingMode: types.BillingModePayPerRequest,
	})
	var inUse *types.ResourceInUseException
	if !errors.As(err, &inUse) || !strings.Contains(inUse.ErrorMessage(), "Music") {
		t.Fatalf("a second table of the name: %v", err)
	}
	described, err := s.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: music})
	ok(t, err)
	if d := described.Table; d.TableStatus != types.TableStatusActive || time.Since(*d.CreationDateTime).Abs() > time.Hour || d.LatestStreamArn == nil {
		t.Fatalf("described as %+v", d)
	}
	arn := described.Table.TableArn

	for _, name := range []string{"Albums", "Bands"} {
		s.table(&dynamodb.CreateTableInput{TableName: &name, AttributeDefinitions: stringAttributes("id"), KeySchema: keys("id")})
	}
	var names []string
	pages := 0
	for list := dynamodb.NewListTablesPaginator(s, &dynamodb.ListTablesInput{Limit: aws.Int32(2)}); list.HasMorePages(); pages++ {
		page, err := list.NextPage(ctx)
		ok(t, err)
		names = append(names, page.TableNames...)
	}
	if !slices.Equal(names, []string{"Albums", "Bands", "Music"}) || pages != 2 {
		t.Fatalf("listed %q in %d pages", names, pages)
	}

	t.Run("tags", func(t *testing.T) {
		_, err := s.TagResource(ctx, &dynamodb.TagResourceInput{ResourceArn: arn, Tags: []types.Tag{{Key: aws.String("cost"), Value: aws.String("7")}}})
		ok(t, err)
		_, err = s.UntagResource(ctx, &dynamodb.UntagResourceInput{ResourceArn: arn, TagKeys: []string{"team"}})
		ok(t, err)
		tags, err := s.ListTagsOfResource(ctx, &dynamodb.ListTagsOfResourceInput{ResourceArn: arn})
		ok(t, err)
		if len(tags.Tags) != 1 || *tags.Tags[0].Key != "cost" || *tags.Tags[0].Value != "7" {
			t.Fatalf("tags %+v", tags.Tags)
		}
	})

	t.Run("time to live", func(t *testing.T) {
		on := &types.TimeToLiveSpecification{AttributeName: aws.String("until"), Enabled: aws.Bool(true)}
		_, err := s.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: music, TimeToLiveSpecification: on})
		ok(t, err)
		shown, err := s.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: music})
		ok(t, err)
		if d := shown.TimeToLiveDescription; d.TimeToLiveStatus != types.TimeToLiveStatusEnabled || *d.AttributeName != "until" {
			t.Fatalf("time to live %+v", d)
		}
	})

	t.Run("what the server has", func(t *testing.T) {
		limits, err := s.DescribeLimits(ctx, &dynamodb.DescribeLimitsInput{})
		ok(t, err)
		if aws.ToInt64(limits.TableMaxWriteCapacityUnits) <= 0 {
			t.Fatalf("limits %+v", limits)
		}
		backups, err := s.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: music})
		ok(t, err)
		if backups.ContinuousBackupsDescription.ContinuousBackupsStatus == "" {
			t.Fatalf("backups %+v", backups)
		}
		endpoints, err := s.DescribeEndpoints(ctx, &dynamodb.DescribeEndpointsInput{})
		ok(t, err)
		if len(endpoints.Endpoints) != 1 || endpoints.Endpoints[0].CachePeriodInMinutes <= 0 {
			t.Fatalf("endpoints %+v", endpoints)
		}
	})

	t.Run("dropped", func(t *testing.T) {
		protect := func(on bool) {
			_, err := s.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: music, DeletionProtectionEnabled: &on})
			ok(t, err)
		}
		protect(true)
		_, err := s.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: music})
		if err == nil || !strings.Contains(err.Error(), "protect") {
			t.Fatalf("a table that is protected was dropped: %v", err)
		}
		protect(false)
		_, err = s.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: music})
		ok(t, err)
		waiter := dynamodb.NewTableNotExistsWaiter(s, func(o *dynamodb.TableNotExistsWaiterOptions) {
			o.MinDelay, o.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
		})
		ok(t, waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: music}, time.Minute))
		var notFound *types.ResourceNotFoundException
		if _, err := s.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: music}); !errors.As(err, &notFound) {
			t.Fatalf("a table that was dropped: %v", err)
		}
	})
}

// A global index is added to a table with items, waited for, used, and dropped, while the table is.
func TestIndexComesAndGoes(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	people := aws.String("people")
	s.table(&dynamodb.CreateTableInput{TableName: people, AttributeDefinitions: stringAttributes("id"), KeySchema: keys("id")})
	for _, id := range []string{"1", "2", "3"} {
		_, err := s.PutItem(ctx, &dynamodb.PutItemInput{TableName: people, Item: item{"id": text(id), "town": text("town" + id)}})
		ok(t, err)
	}
	change := func(u types.GlobalSecondaryIndexUpdate) {
		t.Helper()
		_, err := s.UpdateTable(ctx, &dynamodb.UpdateTableInput{
			TableName: people, AttributeDefinitions: stringAttributes("id", "town"), GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{u},
		})
		ok(t, err)
	}
	described := func() *types.TableDescription {
		out, err := s.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: people})
		ok(t, err)
		return out.Table
	}
	change(types.GlobalSecondaryIndexUpdate{Create: &types.CreateGlobalSecondaryIndexAction{
		IndexName: aws.String("by_town"), KeySchema: keys("town"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
	}})
	until(t, "the index is there", func() bool {
		d := described()
		return d.TableStatus == types.TableStatusActive && d.GlobalSecondaryIndexes[0].IndexStatus == types.IndexStatusActive
	})
	found, err := s.Query(ctx, &dynamodb.QueryInput{
		TableName: people, IndexName: aws.String("by_town"), ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("town = :t"), ExpressionAttributeValues: item{":t": text("town2")},
	})
	ok(t, err)
	if found.Count != 1 || textOf(found.Items[0]["id"]) != "2" {
		t.Fatalf("found %+v", found.Items)
	}
	change(types.GlobalSecondaryIndexUpdate{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: aws.String("by_town")}})
	until(t, "the index is gone", func() bool { return len(described().GlobalSecondaryIndexes) == 0 })
}
