package aws

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// requests has for each operation that there is a request that succeeds: what it has and all that a test puts into it is
// read. $stream, $shard and $iterator stand for those of the table.
var requests = map[string]string{
	"BatchExecuteStatement":     `{"Statements":[{"Statement":"SELECT * FROM tab WHERE id = 'a'"}]}`,
	"BatchGetItem":              `{"RequestItems":{"tab":{"Keys":[{"id":{"S":"a"}}]}}}`,
	"BatchWriteItem":            `{"RequestItems":{"tab":[{"PutRequest":{"Item":{"id":{"S":"a"}}}}]}}`,
	"CreateTable":               `{"TableName":"made","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}`,
	"DeleteItem":                `{"TableName":"tab","Key":{"id":{"S":"a"}}}`,
	"DeleteTable":               `{"TableName":"made"}`,
	"DescribeContinuousBackups": `{"TableName":"tab"}`,
	"DescribeEndpoints":         `{}`,
	"DescribeLimits":            `{}`,
	"DescribeStream":            `{"StreamArn":"$stream"}`,
	"DescribeTable":             `{"TableName":"tab"}`,
	"DescribeTimeToLive":        `{"TableName":"tab"}`,
	"ExecuteStatement":          `{"Statement":"SELECT * FROM tab"}`,
	"ExecuteTransaction":        `{"TransactStatements":[{"Statement":"SELECT * FROM tab WHERE id = 'a'"}]}`,
	"GetItem":                   `{"TableName":"tab","Key":{"id":{"S":"a"}}}`,
	"GetRecords":                `{"ShardIterator":"$iterator"}`,
	"GetShardIterator":          `{"StreamArn":"$stream","ShardId":"$shard","ShardIteratorType":"LATEST"}`,
	"ListStreams":               `{}`,
	"ListTables":                `{}`,
	"ListTagsOfResource":        `{"ResourceArn":"arn:aws:dynamodb:sectional:000000000000:table/tab"}`,
	"PutItem":                   `{"TableName":"tab","Item":{"id":{"S":"a"}}}`,
	"Query":                     `{"TableName":"tab","KeyConditionExpression":"id = :i","ExpressionAttributeValues":{":i":{"S":"a"}}}`,
	"Scan":                      `{"TableName":"tab"}`,
	"TagResource":               `{"ResourceArn":"arn:aws:dynamodb:sectional:000000000000:table/tab","Tags":[{"Key":"a","Value":"b"}]}`,
	"TransactGetItems":          `{"TransactItems":[{"Get":{"TableName":"tab","Key":{"id":{"S":"a"}}}}]}`,
	"TransactWriteItems":        `{"TransactItems":[{"Put":{"TableName":"tab","Item":{"id":{"S":"a"}}}}]}`,
	"UntagResource":             `{"ResourceArn":"arn:aws:dynamodb:sectional:000000000000:table/tab","TagKeys":["a"]}`,
	"UpdateContinuousBackups":   `{"TableName":"tab","PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":false}}`,
	"UpdateItem":                `{"TableName":"tab","Key":{"id":{"S":"a"}}}`,
	"UpdateTable":               `{"TableName":"tab","DeletionProtectionEnabled":false}`,
	"UpdateTimeToLive":          `{"TableName":"tab","TimeToLiveSpecification":{"AttributeName":"t","Enabled":true}}`,
}

// otherRequests succeed too, and have members that can't be beside others.
var otherRequests = map[string][]string{
	"BatchWriteItem": {`{"RequestItems":{"tab":[{"DeleteRequest":{"Key":{"id":{"S":"a"}}}}]}}`},
	"Query":          {`{"TableName":"tab","KeyConditions":{"id":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"a"}]}}}`},
	"TransactWriteItems": {
		`{"TransactItems":[{"Update":{"TableName":"tab","Key":{"id":{"S":"a"}},"UpdateExpression":"SET n = :n","ExpressionAttributeValues":{":n":{"N":"1"}}}}]}`,
		`{"TransactItems":[{"Delete":{"TableName":"tab","Key":{"id":{"S":"a"}}}}]}`,
		`{"TransactItems":[{"ConditionCheck":{"TableName":"tab","Key":{"id":{"S":"a"}},"ConditionExpression":"attribute_not_exists(id)"}}]}`,
	},
}

// TestMembersOfTheModel sends each operation of the SDK's models, and each with every one of its members, of nested shapes
// too, at which a value of another type stands. The server complains of the type, which shows that it reads the member, or it
// refuses the operation or the member by its name; those are in testdata/refused.txt. So nothing that the SDK has is
// overlooked, and what a newer SDK brings is decided on: it fails the test until it is implemented, or in that file.
func TestMembersOfTheModel(t *testing.T) {
	t.Parallel()
	s := open(t)
	list, err := os.ReadFile(filepath.Join("testdata", "refused.txt"))
	ok(t, err)
	decided, refused := strings.Fields(string(list)), []string{}
	read := 0
	for operation, input := range inputs(t) {
		valid := requests[operation]
		if valid == "" {
			if code, text := s.send(operation, "{}"); code == http.StatusBadRequest && strings.Contains(text, "#UnknownOperationException") && strings.Contains(text, operation+" is not supported: ") {
				refused = append(refused, operation)
			} else {
				t.Errorf("%s, which there is not: %d %s", operation, code, text)
			}
			continue
		}
		all := probes(input, operation)
		for _, path := range slices.Sorted(maps.Keys(all)) { // a member comes before those in it
			if slices.ContainsFunc(refused, func(above string) bool { return strings.HasPrefix(path, above+".") }) {
				continue
			}
			took, answer := "", ""
			for _, valid := range append([]string{valid}, otherRequests[operation]...) {
				if took == "" {
					took, answer = s.probe(operation, path, with(t, s.filled(valid), all[path]))
				}
			}
			switch took {
			case "read":
				read++
			case "refused":
				refused = append(refused, path)
			default:
				t.Errorf("%s of another type is overlooked: %s", path, answer)
			}
		}
	}
	for _, operation := range slices.Sorted(maps.Keys(requests)) {
		for _, valid := range append(otherRequests[operation], requests[operation]) {
			if code, text := s.send(operation, s.filled(valid)); code != http.StatusOK {
				t.Errorf("%s %s: %d %s", operation, valid, code, text)
			}
		}
	}
	slices.Sort(refused)
	if !slices.Equal(refused, decided) {
		t.Errorf("what is refused and testdata/refused.txt differ: it has to be\n%s", strings.Join(refused, "\n"))
	}
	if read < 150 {
		t.Errorf("%d members are read", read)
	}
	for name := range schemas.AttributeValue.Members() {
		if !slices.Contains([]string{"S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"}, name) {
			t.Errorf("values may be of the type %s", name)
		}
	}
}

// probe sends a request in which a member is of another type, and returns whether that was "read" or the member "refused",
// "" if neither, with the answer.
func (s *opened) probe(operation, path, request string) (took, answer string) {
	s.t.Helper()
	name := path[strings.LastIndexByte(path, '.')+1:]
	code, text := s.send(operation, request)
	switch {
	case code != http.StatusBadRequest:
	case strings.Contains(text, "#ValidationException") && regexp.MustCompile(`: `+name+` is not supported\b`).MatchString(text):
		took = "refused"
	case strings.Contains(text, "#SerializationException"), strings.Contains(text, name+" can only be specified when using expressions"):
		took = "read"
	}
	return took, fmt.Sprint(code, " ", text)
}

// inputs returns what the operations of both APIs take, by the methods of the SDK's clients.
func inputs(t *testing.T) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for _, client := range []any{&dynamodb.Client{}, &dynamodbstreams.Client{}} {
		of := reflect.TypeOf(client)
		for i := range of.NumMethod() {
			if m := of.Method(i); m.Type.NumIn() == 4 && m.Type.In(2).Elem().Name() == m.Name+"Input" {
				all[m.Name] = m.Type.In(2).Elem()
			}
		}
	}
	if len(all) < 60 {
		t.Fatalf("the clients have %d operations", len(all))
	}
	return all
}

// probes returns for each member of a type, by its path, a JSON value in which it is of another type.
func probes(of reflect.Type, path string) map[string]any {
	all := map[string]any{}
	for i := range of.NumField() {
		f := of.Field(i)
		if !f.IsExported() {
			continue
		}
		at := path + "." + f.Name
		all[at] = map[string]any{f.Name: wrong(f.Type)}
		for deeper, probe := range inside(f.Type, at) {
			all[deeper] = map[string]any{f.Name: probe}
		}
	}
	return all
}

// inside is probes for the members in a value of a type.
func inside(of reflect.Type, path string) map[string]any {
	all := map[string]any{}
	switch of.Kind() {
	case reflect.Pointer:
		return inside(of.Elem(), path)
	case reflect.Struct:
		return probes(of, path)
	case reflect.Slice:
		for deeper, probe := range inside(of.Elem(), path) {
			all[deeper] = []any{probe}
		}
	case reflect.Map:
		for deeper, probe := range inside(of.Elem(), path) {
			all[deeper] = map[string]any{"tab": probe}
		}
	}
	return all
}

// wrong is a value that is of another type.
func wrong(of reflect.Type) any {
	switch of.Kind() {
	case reflect.Pointer:
		return wrong(of.Elem())
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Interface:
		return "of another type"
	}
	return []any{}
}

// with returns a request with a probe in it. The elements of lists in the request and in the probe are made one.
func with(t *testing.T, request string, probe any) string {
	t.Helper()
	var value any
	ok(t, json.Unmarshal([]byte(request), &value))
	text, err := json.Marshal(merged(value, probe))
	ok(t, err)
	return string(text)
}

func merged(value, probe any) any {
	switch probe := probe.(type) {
	case map[string]any:
		members, is := value.(map[string]any)
		if !is {
			return probe
		}
		for name, v := range probe {
			members[name] = merged(members[name], v)
		}
		return members
	case []any:
		if elements, is := value.([]any); is && len(elements) > 0 && len(probe) > 0 {
			elements[0] = merged(elements[0], probe[0])
			return elements
		}
	}
	return probe
}

// opened is a server that takes requests without a signature, with a table that has a stream.
type opened struct {
	t       *testing.T
	address string
	stands  *strings.Replacer
}

func open(t *testing.T) *opened {
	t.Helper()
	process := launch(t, "--dynamodb", "127.0.0.1:0", "--dynamodb-open")
	s := &opened{t: t, stands: strings.NewReplacer()}
	until(t, "the DynamoDB API listens", func() bool {
		if found := regexp.MustCompile(`The DynamoDB API listens on (\S+)`).FindStringSubmatch(process.printed()); found != nil {
			s.address = found[1]
		}
		return s.address != ""
	})
	member := func(operation, body, name string) string {
		code, text := s.send(operation, body)
		found := regexp.MustCompile(`"` + name + `":"([^"]*)"`).FindStringSubmatch(text)
		if code != http.StatusOK || found == nil {
			t.Fatalf("%s: %d %s", operation, code, text)
		}
		return found[1]
	}
	stream := member("CreateTable", strings.Replace(requests["CreateTable"], `"made",`, `"tab","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"`+string(types.StreamViewTypeKeysOnly)+`"},`, 1), "LatestStreamArn")
	s.stands = strings.NewReplacer("$stream", stream)
	shard := member("DescribeStream", s.filled(requests["DescribeStream"]), "ShardId")
	s.stands = strings.NewReplacer("$stream", stream, "$shard", shard)
	iterator := member("GetShardIterator", s.filled(requests["GetShardIterator"]), "ShardIterator")
	s.stands = strings.NewReplacer("$stream", stream, "$shard", shard, "$iterator", iterator)
	return s
}

func (s *opened) filled(request string) string { return s.stands.Replace(request) }

// send sends an operation as JSON and returns the status and the answer.
func (s *opened) send(operation, body string) (code int, text string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), "POST", s.address, bytes.NewBufferString(body))
	ok(s.t, err)
	target := "DynamoDB_20120810."
	if _, is := reflect.TypeOf(&dynamodbstreams.Client{}).MethodByName(operation); is {
		target = "DynamoDBStreams_20120810."
	}
	request.Header.Set("X-Amz-Target", target+operation)
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	response, err := http.DefaultClient.Do(request)
	ok(s.t, err)
	answer, err := io.ReadAll(response.Body)
	ok(s.t, err)
	ok(s.t, response.Body.Close())
	return response.StatusCode, string(answer)
}
