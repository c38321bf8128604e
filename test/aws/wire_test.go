package aws

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
	"github.com/aws/smithy-go/private/requestcompression"
)

// between puts a proxy before the server, that may damage answers, and returns a client that goes through it.
func between(t *testing.T, s *server, damage func(*http.Response) error) *dynamodb.Client {
	t.Helper()
	target, err := url.Parse(s.address)
	ok(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", target.Host, r.In.Host
		},
		ModifyResponse: damage,
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	return s.client(func(o *dynamodb.Options) {
		o.BaseEndpoint = &front.URL
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		})
	})
}

// counters makes a table with one item, whose attribute n is counted up.
func counters(t *testing.T, s *server) (name *string, key item) {
	t.Helper()
	name = aws.String("counters")
	s.table(&dynamodb.CreateTableInput{TableName: name, AttributeDefinitions: stringAttributes("id"), KeySchema: keys("id")})
	return name, item{"id": text("hits")}
}

// warnings gathers what the SDK logs.
type warnings struct{ strings.Builder }

// Logf implements logging.Logger.
func (w *warnings) Logf(_ logging.Classification, format string, values ...any) {
	fmt.Fprintf(&w.Builder, format+"\n", values...)
}

// The SDK compares the sum of each answer, and tells of one that was damaged on its way.
func TestSumOfAnswers(t *testing.T) {
	s := start(t)
	name, key := counters(t, s)
	_, err := s.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: name, Item: item{"id": key["id"], "n": number(1)}})
	ok(t, err)
	changed := false
	client := between(t, s, func(r *http.Response) error {
		if r.Header.Get("X-Amz-Crc32") == "" {
			t.Error("an answer without a sum")
		}
		if !changed {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(bytes.Replace(body, []byte(`"1"`), []byte(`"7"`), 1)))
		return err
	})
	for _, changed = range []bool{false, true} {
		var log warnings
		out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: name, Key: key}, func(o *dynamodb.Options) { o.Logger = &log })
		ok(t, err)
		if warned := strings.Contains(log.String(), "checksum"); warned != changed || changed != (textOf(out.Item["n"]) == "7") {
			t.Errorf("got %+v, and the SDK said %q", out.Item, log.String())
		}
	}
}

// The SDK asks again when an answer is lost or says that the server is busy. What has a token is done once all the same.
func TestRetries(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	name, key := counters(t, s)
	var requests atomic.Int64
	lost := between(t, s, func(r *http.Response) error {
		switch requests.Add(1) {
		case 1:
			return errors.New("the answer is lost") // the proxy answers 502
		case 2:
			r.StatusCode = http.StatusServiceUnavailable
		}
		return nil
	})
	_, err := lost.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Update: &types.Update{
		TableName: name, Key: key, UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: item{":one": number(1)},
	}}}})
	ok(t, err)
	got, err := s.GetItem(ctx, &dynamodb.GetItemInput{TableName: name, Key: key})
	ok(t, err)
	if requests.Load() != 3 || textOf(got.Item["n"]) != "1" {
		t.Fatalf("after %d requests the counter is %s", requests.Load(), textOf(got.Item["n"]))
	}
}

// Requests and answers may be gzip.
func TestGzip(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	name, key := counters(t, s)
	var request, answer string
	zipped := between(t, s, func(r *http.Response) error {
		request, answer = r.Request.Header.Get("Content-Encoding"), r.Header.Get("Content-Encoding")
		return nil
	})
	small := func(o *dynamodb.Options) {
		o.EnableAcceptEncodingGzip = true
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return requestcompression.AddRequestCompression(stack, false, 0, []string{"gzip"})
		})
	}
	filler := strings.Repeat("what compresses well ", 2000)
	_, err := zipped.PutItem(ctx, &dynamodb.PutItemInput{TableName: name, Item: item{"id": key["id"], "filler": text(filler)}}, small)
	ok(t, err)
	if request != "gzip" {
		t.Fatalf("the request is %q", request)
	}
	got, err := zipped.GetItem(ctx, &dynamodb.GetItemInput{TableName: name, Key: key}, small)
	ok(t, err)
	if textOf(got.Item["filler"]) != filler {
		t.Fatalf("got %d bytes, with the encoding %q", len(textOf(got.Item["filler"])), answer)
	}
}

// late signs with another time than it is.
type late struct {
	*v4.Signer
	by time.Duration
}

func (l late) SignHTTP(ctx context.Context, key aws.Credentials, r *http.Request, hash, service, region string, at time.Time, options ...func(*v4.SignerOptions)) error {
	return l.Signer.SignHTTP(ctx, key, r, hash, service, region, at.Add(l.by), options...)
}

// Who can't be believed is told so by AWS's names, and nothing is stored.
func TestRefusedCallers(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	name, key := counters(t, s)
	with := func(key aws.Credentials) func(*dynamodb.Options) {
		return func(o *dynamodb.Options) {
			o.Credentials, o.Retryer = credentials.StaticCredentialsProvider{Value: key}, aws.NopRetryer{}
		}
	}
	forged := s.key
	forged.SecretAccessKey = strings.Repeat("x", 40)
	signed := func(by time.Duration) func(*dynamodb.Options) {
		return func(o *dynamodb.Options) { o.HTTPSignerV4, o.Retryer = late{v4.NewSigner(), by}, aws.NopRetryer{} }
	}
	for _, c := range []struct {
		who   string
		as    func(*dynamodb.Options)
		error string
		text  string
	}{
		{"a wrong secret", with(forged), "InvalidSignatureException", "does not match"},
		{"an unknown key", with(aws.Credentials{AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: "x"}), "UnrecognizedClientException", "security token"},
		{"a clock that is a day behind", signed(-24 * time.Hour), "InvalidSignatureException", "expired"},
		{"a clock that is a day ahead", signed(24 * time.Hour), "InvalidSignatureException", "not yet current"},
		{"a key for reading", with(s.accessKey(`{"tables":["counters"],"read_only":true}`)), "AccessDeniedException", ""},
		{"a key for another table", with(s.accessKey(`{"tables":["others"]}`)), "AccessDeniedException", ""},
		{"nobody", func(o *dynamodb.Options) { o.Credentials = aws.AnonymousCredentials{} }, "MissingAuthenticationTokenException", ""},
	} {
		_, err := s.client(c.as).PutItem(ctx, &dynamodb.PutItemInput{TableName: name, Item: key})
		var refusal smithy.APIError
		if !errors.As(err, &refusal) || refusal.ErrorCode() != c.error || !strings.Contains(refusal.ErrorMessage(), c.text) {
			t.Errorf("%s: %v", c.who, err)
		}
	}
	stored, err := s.client(with(s.accessKey(`{"tables":["counters"],"read_only":true}`))).Scan(ctx, &dynamodb.ScanInput{TableName: name})
	ok(t, err)
	if stored.Count != 0 {
		t.Errorf("stored %+v", stored.Items)
	}
}
