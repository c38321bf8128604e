package aws

import (
	"net/http"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Two hundred callers add one to a counter at once, half of them as an item and half as a document: it is two hundred more.
func TestCounterOfManyCallers(t *testing.T) {
	s := start(t)
	name, key := counters(t, s)
	ctx := t.Context()
	increment := &dynamodb.UpdateItemInput{TableName: name, Key: key, UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: item{":one": number(1)}}
	_, err := s.UpdateItem(ctx, increment)
	ok(t, err)
	var callers sync.WaitGroup
	for range 100 {
		callers.Go(func() {
			if _, err := s.UpdateItem(ctx, increment); err != nil {
				t.Error(err)
			}
		})
		callers.Go(func() { s.couch(http.StatusCreated, "PATCH", "/counters/Shits!:!", `{"$inc":{"n":1}}`, nil) })
	}
	callers.Wait()
	got, err := s.GetItem(ctx, &dynamodb.GetItemInput{TableName: name, Key: key, ConsistentRead: aws.Bool(true)})
	ok(t, err)
	if textOf(got.Item["n"]) != "201" {
		t.Errorf("the counter is %s", textOf(got.Item["n"]))
	}
}
