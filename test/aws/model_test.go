package aws

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	streamschemas "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/schemas"
	"github.com/aws/smithy-go"
)

// answers are the models of what operations answer.
var answers = map[string]*smithy.Schema{
	"BatchExecuteStatement": schemas.BatchExecuteStatementOutput, "BatchGetItem": schemas.BatchGetItemOutput, "BatchWriteItem": schemas.BatchWriteItemOutput,
	"CreateTable": schemas.CreateTableOutput, "DeleteItem": schemas.DeleteItemOutput, "DeleteTable": schemas.DeleteTableOutput,
	"DescribeContinuousBackups": schemas.DescribeContinuousBackupsOutput, "DescribeEndpoints": schemas.DescribeEndpointsResponse, "DescribeLimits": schemas.DescribeLimitsOutput,
	"DescribeTable": schemas.DescribeTableOutput, "DescribeTimeToLive": schemas.DescribeTimeToLiveOutput, "ExecuteStatement": schemas.ExecuteStatementOutput,
	"ExecuteTransaction": schemas.ExecuteTransactionOutput, "GetItem": schemas.GetItemOutput, "ListTables": schemas.ListTablesOutput,
	"ListTagsOfResource": schemas.ListTagsOfResourceOutput, "PutItem": schemas.PutItemOutput, "Query": schemas.QueryOutput, "Scan": schemas.ScanOutput,
	"TransactGetItems": schemas.TransactGetItemsOutput, "TransactWriteItems": schemas.TransactWriteItemsOutput, "UpdateContinuousBackups": schemas.UpdateContinuousBackupsOutput, "UpdateItem": schemas.UpdateItemOutput,
	"UpdateTable": schemas.UpdateTableOutput, "UpdateTimeToLive": schemas.UpdateTimeToLiveOutput,
	"DescribeStream": streamschemas.DescribeStreamOutput, "GetRecords": streamschemas.GetRecordsOutput, "GetShardIterator": streamschemas.GetShardIteratorOutput,
	"ListStreams": streamschemas.ListStreamsOutput,
}

// elided finds what scripts leave out of an answer.
var elided = regexp.MustCompile(`([\[:,])…`)

// All answers that the scripts of the API hold have the members and types of AWS's model, letter for letter: clients
// overlook what has another name.
func TestAnswersAreOfTheModel(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "internal", "dynamoapi", "testdata", "scripts", "*.txt"))
	ok(t, err)
	checked := map[string]int{}
	for _, file := range files {
		script, err := os.ReadFile(file)
		ok(t, err)
		for _, paragraph := range regexp.MustCompile(`\n\s*\n`).Split(string(script), -1) {
			operation, answer := answered(paragraph)
			if answer == "" || answer == "{}" {
				continue
			}
			schema := answers[operation]
			if schema == nil {
				t.Errorf("%s: there is no model of what %s answers", file, operation)
				continue
			}
			in := json.NewDecoder(bytes.NewBufferString(elided.ReplaceAllString(answer, `$1"…"`)))
			in.UseNumber()
			var value any
			if err := in.Decode(&value); err != nil {
				t.Errorf("%s: %s: %v", file, operation, err)
			}
			for _, wrong := range differs(schema, value, operation) {
				t.Errorf("%s: %s", filepath.Base(file), wrong)
			}
			checked[operation]++
		}
	}
	if len(checked) < len(answers)-2 || checked["Query"] < 10 {
		t.Errorf("few answers were found: %v", checked)
	}
}

// answered takes the operation of a script's paragraph, and its answer, "" for an error or a request of the other API.
func answered(paragraph string) (operation, answer string) {
	request, said, found := strings.Cut(paragraph, "\n----\n200\n")
	for line := range strings.Lines(request) {
		if line = strings.TrimSpace(line); operation == "" && !strings.HasPrefix(line, "#") {
			operation = line
		}
	}
	if !found || strings.Contains(operation, " ") {
		return operation, ""
	}
	return operation, strings.TrimSpace(said)
}

// differs says where a value is not as the model has it.
func differs(schema *smithy.Schema, value any, path string) (wrong []string) {
	if value == "…" {
		return nil
	}
	is := func(right bool) {
		if !right {
			wrong = append(wrong, fmt.Sprintf("%s is %T", path, value))
		}
	}
	switch schema.Type() {
	case smithy.ShapeTypeStructure, smithy.ShapeTypeUnion:
		members, right := value.(map[string]any)
		is(right)
		for name, v := range members {
			if member := schema.Member(name); member == nil {
				wrong = append(wrong, fmt.Sprintf("%s has no member %q", path, name))
			} else {
				wrong = append(wrong, differs(member, v, path+"."+name)...)
			}
		}
	case smithy.ShapeTypeMap:
		members, right := value.(map[string]any)
		is(right)
		for name, v := range members {
			wrong = append(wrong, differs(schema.MapValue(), v, path+"."+name)...)
		}
	case smithy.ShapeTypeList:
		elements, right := value.([]any)
		is(right)
		for _, v := range elements {
			wrong = append(wrong, differs(schema.ListMember(), v, path+"[]")...)
		}
	case smithy.ShapeTypeBoolean:
		_, right := value.(bool)
		is(right)
	case smithy.ShapeTypeInteger, smithy.ShapeTypeLong:
		n, right := value.(json.Number)
		is(right && !strings.ContainsAny(n.String(), ".eE"))
	case smithy.ShapeTypeDouble, smithy.ShapeTypeTimestamp:
		_, right := value.(json.Number)
		is(right)
	default: // strings, enums, blobs
		_, right := value.(string)
		is(right)
	}
	return wrong
}
