package aws

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// server is a running one with both of its APIs, and the access key of its administrator.
type server struct {
	t       *testing.T
	process *launched
	address string // of the DynamoDB API
	key     aws.Credentials
	*dynamodb.Client
}

// start runs a server for the length of a test.
func start(t *testing.T) *server {
	t.Helper()
	t.Parallel()
	s := &server{t: t, process: launch(t, "--dynamodb", "127.0.0.1:0")}
	listens := regexp.MustCompile(`The DynamoDB API listens on (\S+)`)
	until(t, "the DynamoDB API listens", func() bool {
		found := listens.FindStringSubmatch(s.process.printed())
		if found != nil {
			s.address = found[1]
		}
		return found != nil
	})
	s.key = s.accessKey(`{}`)
	s.Client = s.client()
	return s
}

// accessKey makes a key of the administrator, bound as the body says.
func (s *server) accessKey(body string) aws.Credentials {
	s.t.Helper()
	var key struct{ ID, Secret string }
	s.couch(http.StatusCreated, "POST", "/_access_keys/"+user, body, &key)
	return aws.Credentials{AccessKeyID: key.ID, SecretAccessKey: key.Secret}
}

// client makes a client with the administrator's key, unless an option says otherwise.
func (s *server) client(options ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &s.address,
		Region:       "eu-central-1",
		Credentials:  credentials.StaticCredentialsProvider{Value: s.key},
	}, options...)
}

// streams makes a client of the API of streams.
func (s *server) streams() *dynamodbstreams.Client {
	return dynamodbstreams.New(dynamodbstreams.Options{
		BaseEndpoint: &s.address,
		Region:       "eu-central-1",
		Credentials:  credentials.StaticCredentialsProvider{Value: s.key},
	})
}

// couch sends a request to CouchDB's API as the administrator and decodes the answer, where somebody wants it. Another
// status than the one wanted fails the test.
func (s *server) couch(want int, method, path, body string, into any) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.process.base+path, bytes.NewBufferString(body))
	ok(s.t, err)
	request.SetBasicAuth(user, password)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	ok(s.t, err)
	answer, err := io.ReadAll(response.Body)
	ok(s.t, err)
	ok(s.t, response.Body.Close())
	if response.StatusCode != want {
		s.t.Fatalf("%s %s answered %d, want %d: %.300s", method, path, response.StatusCode, want, answer)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			s.t.Fatalf("%s %s: %v: %.300s", method, path, err, answer)
		}
	}
}

// database is the URL of a database with credentials, as replications take it.
func (s *server) database(name string) string {
	u, err := url.Parse(s.process.base)
	ok(s.t, err)
	u.User = url.UserPassword(user, password)
	return u.String() + "/" + url.PathEscape(name)
}

// table makes a table and waits until it is there.
func (s *server) table(in *dynamodb.CreateTableInput) {
	s.t.Helper()
	if in.BillingMode == "" {
		in.BillingMode = types.BillingModePayPerRequest
	}
	_, err := s.CreateTable(s.t.Context(), in)
	ok(s.t, err)
	waiter := dynamodb.NewTableExistsWaiter(s.Client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
	})
	ok(s.t, waiter.Wait(s.t.Context(), &dynamodb.DescribeTableInput{TableName: in.TableName}, time.Minute))
}

// stringAttributes are attributes of keys that are all of type S.
func stringAttributes(names ...string) (list []types.AttributeDefinition) {
	for _, name := range names {
		list = append(list, types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS})
	}
	return list
}

// keys is the schema of a partition key and, if there is one, a sort key.
func keys(names ...string) (list []types.KeySchemaElement) {
	for i, name := range names {
		list = append(list, types.KeySchemaElement{AttributeName: aws.String(name), KeyType: types.KeyType("").Values()[i]})
	}
	return list
}

// ok fails the test on an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until asks again and again until the answer is yes, and fails the test when that takes too long.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("not in time: %s", what)
		case <-tick.C:
		}
	}
}
