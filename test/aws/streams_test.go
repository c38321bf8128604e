package aws

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// A consumer follows a stream from its beginning: what each API wrote is there once, in order, with its images.
func TestStreams(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	name := aws.String("orders")
	s.table(&dynamodb.CreateTableInput{
		TableName: name, AttributeDefinitions: stringAttributes("customer", "id"), KeySchema: keys("customer", "id"),
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	})
	streams := s.streams()
	listed, err := streams.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: name})
	ok(t, err)
	if len(listed.Streams) != 1 {
		t.Fatalf("streams %+v", listed.Streams)
	}
	arn := listed.Streams[0].StreamArn
	described, err := streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	ok(t, err)
	d := described.StreamDescription
	if d.StreamStatus != streamtypes.StreamStatusEnabled || d.StreamViewType != streamtypes.StreamViewTypeNewAndOldImages || len(d.Shards) != 1 {
		t.Fatalf("described as %+v", d)
	}
	iterator := func(kind streamtypes.ShardIteratorType, after *string) *string {
		t.Helper()
		out, err := streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: arn, ShardId: d.Shards[0].ShardId, ShardIteratorType: kind, SequenceNumber: after,
		})
		ok(t, err)
		return out.ShardIterator
	}
	latest := iterator(streamtypes.ShardIteratorTypeLatest, nil)

	order := item{"customer": text("jane"), "id": text("1")}
	put := func(state string) {
		t.Helper()
		_, err := s.PutItem(ctx, &dynamodb.PutItemInput{TableName: name, Item: item{"customer": text("jane"), "id": text("1"), "state": text(state)}})
		ok(t, err)
	}
	put("open")
	put("paid")
	put("paid") // changes nothing
	s.couch(http.StatusCreated, "PUT", "/orders/Sjane!:S2", `{"customer":"jane","id":"2","state":"written as a document"}`, nil)
	_, err = s.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: name, Key: order})
	ok(t, err)

	var told []string
	var sequence []*string
	for at := latest; len(told) < 4; {
		page, err := streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: at, Limit: aws.Int32(2)})
		ok(t, err)
		if len(page.Records) > 2 || page.NextShardIterator == nil {
			t.Fatalf("a page of %d records", len(page.Records))
		}
		for _, r := range page.Records {
			told = append(told, fmt.Sprint(r.EventName, " ", image(r.Dynamodb.Keys["id"]), " ", image(r.Dynamodb.OldImage["state"]), " → ", image(r.Dynamodb.NewImage["state"])))
			sequence = append(sequence, r.Dynamodb.SequenceNumber)
			if age := time.Since(*r.Dynamodb.ApproximateCreationDateTime); age.Abs() > time.Hour || *r.EventSource != "aws:dynamodb" {
				t.Errorf("a record of %s, %s ago", *r.EventSource, age)
			}
		}
		at = page.NextShardIterator
	}
	want := []string{"INSERT 1  → open", "MODIFY 1 open → paid", "INSERT 2  → written as a document", "REMOVE 1 paid → "}
	if !slices.Equal(told, want) {
		t.Fatalf("told\n%s", strings.Join(told, "\n"))
	}
	for _, c := range []struct {
		at   *string
		want int
	}{
		{iterator(streamtypes.ShardIteratorTypeTrimHorizon, nil), 4},
		{iterator(streamtypes.ShardIteratorTypeAtSequenceNumber, sequence[1]), 3},
		{iterator(streamtypes.ShardIteratorTypeAfterSequenceNumber, sequence[1]), 2},
		{iterator(streamtypes.ShardIteratorTypeLatest, nil), 0},
	} {
		page, err := streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: c.at})
		ok(t, err)
		if len(page.Records) != c.want {
			t.Errorf("%d records, want %d", len(page.Records), c.want)
		}
	}

	_, err = s.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: name, StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)}})
	ok(t, err)
	var gone *streamtypes.ResourceNotFoundException
	if _, err := streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn}); !errors.As(err, &gone) {
		t.Errorf("a stream that is off: %v", err)
	}
}

// image is the text of a value of a record.
func image(v streamtypes.AttributeValue) string {
	if s, is := v.(*streamtypes.AttributeValueMemberS); is {
		return s.Value
	}
	return ""
}

// An item whose time is over goes by itself, and its record says who deleted it: not a client.
func TestTimeToLive(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	name := aws.String("sessions")
	s.table(&dynamodb.CreateTableInput{
		TableName: name, AttributeDefinitions: stringAttributes("id"), KeySchema: keys("id"),
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeOldImage},
	})
	_, err := s.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: name, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("until"), Enabled: aws.Bool(true)},
	})
	ok(t, err)
	put := func(id string, end time.Time) {
		t.Helper()
		_, err := s.PutItem(ctx, &dynamodb.PutItemInput{TableName: name, Item: item{"id": text(id), "until": number(end.Unix())}})
		ok(t, err)
	}
	put("lasting", time.Now().Add(time.Hour))
	put("over", time.Now().Add(-time.Minute))
	until(t, "the item is gone", func() bool {
		left, err := s.Scan(ctx, &dynamodb.ScanInput{TableName: name})
		ok(t, err)
		return left.Count == 1 && textOf(left.Items[0]["id"]) == "lasting"
	})
	streams := s.streams()
	listed, err := streams.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: name})
	ok(t, err)
	described, err := streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: listed.Streams[0].StreamArn})
	ok(t, err)
	first, err := streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn: listed.Streams[0].StreamArn, ShardId: described.StreamDescription.Shards[0].ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
	})
	ok(t, err)
	page, err := streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: first.ShardIterator})
	ok(t, err)
	if len(page.Records) != 3 {
		t.Fatalf("%d records", len(page.Records))
	}
	last := page.Records[2]
	if who := last.UserIdentity; last.EventName != streamtypes.OperationTypeRemove || who == nil || aws.ToString(who.PrincipalId) != "dynamodb.amazonaws.com" || aws.ToString(who.Type) != "Service" {
		t.Errorf("the last record is %+v, by %+v", last, last.UserIdentity)
	}
	if image(last.Dynamodb.OldImage["id"]) != "over" {
		t.Errorf("its image is %+v", last.Dynamodb.OldImage)
	}
}
