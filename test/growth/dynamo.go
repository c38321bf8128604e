package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
)

// actions are the bodies of each operation of the DynamoDB API: of every one that internal/dynamoapi/actions.go has.
// Members that many have come in every shape, beside these.
var actions = map[string][]func(n int) string{
	"BatchExecuteStatement":     {within(`{"Statements":[…]}`, `{"Statement":"SELECT * FROM \"tab\" WHERE p='#'"}`)},
	"BatchGetItem":              {within(`{"RequestItems":{"tab":{"Keys":[…]}}}`, `{"p":{"S":"#"}}`), within(`{"RequestItems":{…}}`, `"tab#":{"Keys":[{"p":{"S":"#"}}]}`)},
	"BatchWriteItem":            {within(`{"RequestItems":{"tab":[…]}}`, `{"PutRequest":{"Item":{"p":{"S":"#"}}}}`), within(`{"RequestItems":{"tab":[{"PutRequest":{"Item":{"p":{"S":"«n»"},…}}}]}}`, `"a#":{"N":"#"}`)},
	"CreateTable":               {within(`{"TableName":"new","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"p","KeyType":"HASH"}],"AttributeDefinitions":[…]}`, `{"AttributeName":"a#","AttributeType":"S"}`), within(`{"TableName":"new","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[],"KeySchema":[…]}`, `{"AttributeName":"p#","KeyType":"HASH"}`), within(`{"TableName":"new","Tags":[…]}`, `{"Key":"k#","Value":"v"}`), within(`{"TableName":"new","GlobalSecondaryIndexes":[…]}`, `{"IndexName":"iii#","KeySchema":[{"AttributeName":"p","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}`)},
	"DeleteItem":                conditions(`{"TableName":"tab","Key":{"p":{"S":"x"}},`),
	"DeleteTable":               {within(`{"TableName":"none",…}`, `"x#":#`)},
	"DescribeContinuousBackups": {within(`{"TableName":"none",…}`, `"x#":#`)}, "DescribeEndpoints": {within(`{…}`, `"x#":#`)}, "DescribeLimits": {within(`{…}`, `"x#":#`)},
	"DescribeTable": {within(`{"TableName":"tab",…}`, `"x#":#`)}, "DescribeTimeToLive": {within(`{"TableName":"tab",…}`, `"x#":#`)},
	"ExecuteStatement":        statements(`{"Statement":"`, `"}`, `{"Statement":"SELECT * FROM \"tab\" WHERE p=?","Parameters":[`, `]}`),
	"ExecuteTransaction":      {within(`{"TransactStatements":[…]}`, `{"Statement":"SELECT * FROM \"tab\" WHERE p='#'"}`)},
	"GetItem":                 {within(`{"TableName":"tab","Key":{…}}`, `"p#":{"S":"x"}`), within(`{"TableName":"tab","Key":{"p":{"S":"x"}},"AttributesToGet":[…]}`, `"a#"`), within(`{"TableName":"tab","Key":{"p":{"S":"x"}},"ProjectionExpression":"a…"}`, `#,a`), within(`{"TableName":"tab","Key":{"p":{"S":"x"}},"ProjectionExpression":"#a0","ExpressionAttributeNames":{…}}`, `"#a#":"x#"`)},
	"ListTables":              {within(`{…}`, `"x#":#`)},
	"ListTagsOfResource":      {within(`{"ResourceArn":"arn:aws:dynamodb:eu-west-1:000000000000:table/t",…}`, `"x#":#`)},
	"PutItem":                 append(conditions(`{"TableName":"tab","Item":{"p":{"S":"«n»"}},`), within(`{"TableName":"tab","Item":{"p":{"S":"«n»"},…}}`, `"a#":{"N":"#"}`), within(`{"TableName":"tab","Item":{"p":{"S":"«n»"},"s":{"SS":[…]}}}`, `"x#"`), within(`{"TableName":"tab","Item":{"p":{"S":"«n»"},"s":{"NS":[…]}}}`, `"#"`), within(`{"TableName":"tab","Item":{"p":{"S":"«n»"},"l":{"L":[…]}}}`, `{"S":"#"}`), within(`{"TableName":"tab","Item":{"p":{"S":"«n»"},"l":{"M":{…}}}}`, `"m#":{"S":"#"}`), within(`{"TableName":"tab","Item":{"p":{"S":"«n»"}},"Expected":{…}}`, `"a#":{"Exists":false}`)),
	"Query":                   append(conditions(`{"TableName":"tab","KeyConditionExpression":"p=:v0",`), within(`{"TableName":"tab","KeyConditions":{…}}`, `"p#":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]}`), within(`{"TableName":"tab","KeyConditionExpression":"p=:v0…","ExpressionAttributeValues":{":v0":{"S":"x"}}}`, ` AND s=:v0`), within(`{"TableName":"tab","KeyConditions":{"p":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]}},"QueryFilter":{…}}`, `"a#":{"ComparisonOperator":"NULL"}`)),
	"Scan":                    append(conditions(`{"TableName":"tab",`), within(`{"TableName":"tab","ScanFilter":{…}}`, `"a#":{"ComparisonOperator":"NULL"}`)),
	"TagResource":             {within(`{"ResourceArn":"arn:aws:dynamodb:eu-west-1:000000000000:table/t","Tags":[…]}`, `{"Key":"k#","Value":"v"}`)},
	"TransactGetItems":        {within(`{"TransactItems":[…]}`, `{"Get":{"TableName":"tab","Key":{"p":{"S":"#"}}}}`)},
	"TransactWriteItems":      {within(`{"TransactItems":[…]}`, `{"Put":{"TableName":"tab","Item":{"p":{"S":"#"}}}}`), within(`{"TransactItems":[{"Put":{"TableName":"tab","Item":{"p":{"S":"«n»"},…}}}]}`, `"a#":{"N":"#"}`)},
	"UntagResource":           {within(`{"ResourceArn":"arn:aws:dynamodb:eu-west-1:000000000000:table/t","TagKeys":[…]}`, `"k#"`)},
	"UpdateContinuousBackups": {within(`{"TableName":"tab",…}`, `"x#":#`)},
	"UpdateItem": append(conditions(`{"TableName":"tab","Key":{"p":{"S":"x"}},`), within(`{"TableName":"tab","Key":{"p":{"S":"x"}},"UpdateExpression":"SET a=:v0…","ExpressionAttributeValues":{":v0":{"S":"x"}}}`, `, a#=:v0`), within(`{"TableName":"tab","Key":{"p":{"S":"x"}},"AttributeUpdates":{…}}`, `"a#":{"Action":"PUT","Value":{"S":"x"}}`),
		within(`{"TableName":"tab","Key":{"p":{"S":"x"}},"UpdateExpression":"REMOVE a…"}`, `, a#`), within(`{"TableName":"tab","Key":{"p":{"S":"x"}},"UpdateExpression":"ADD s :v0","ExpressionAttributeValues":{":v0":{"SS":[…]}}}`, `"x#"`), within(`{"TableName":"tab","Key":{"p":{"S":"x"}},"UpdateExpression":"DELETE s :v0","ExpressionAttributeValues":{":v0":{"SS":[…]}}}`, `"x#"`)),
	"UpdateTable":      {within(`{"TableName":"none","GlobalSecondaryIndexUpdates":[…]}`, `{"Delete":{"IndexName":"iii#"}}`), within(`{"TableName":"none","AttributeDefinitions":[…]}`, `{"AttributeName":"a#","AttributeType":"S"}`)},
	"UpdateTimeToLive": {within(`{"TableName":"tab",…}`, `"x#":#`)},
	"DescribeStream":   {within(`{"StreamArn":"arn:aws:dynamodb:eu-west-1:000000000000:table/t/stream/2026-01-01T00:00:00.000",…}`, `"x#":#`)},
	"GetRecords":       {func(n int) string { return `{"ShardIterator":"` + strings.Repeat("AAAA", n) + `"}` }},
	"GetShardIterator": {within(`{"ShardId":"shardId-00000000000000000000",…}`, `"x#":#`)},
	"ListStreams":      {within(`{"TableName":"tab",…}`, `"x#":#`)},
}

// conditions are bodies with an expression, its names and its values.
func conditions(begin string) []func(n int) string {
	member := "ConditionExpression"
	if strings.Contains(begin, "KeyCondition") || begin == `{"TableName":"tab",` {
		member = "FilterExpression"
	}
	begin += `"` + member + `":"`
	return []func(n int) string{
		within(begin+`a=:v0…","ExpressionAttributeValues":{":v0":{"S":"x"}}}`, ` OR a=:v0`),
		within(begin+`a IN (:v0…)","ExpressionAttributeValues":{":v0":{"S":"x"}}}`, `,:v0`),
		within(begin+`a=:v0","ExpressionAttributeValues":{…}}`, `":v#":{"S":"x"}`),
		within(begin+`a=:v0","ExpressionAttributeValues":{":v0":{"SS":[…]}}}`, `"x#"`),
		within(begin+`#a0=:v0","ExpressionAttributeValues":{":v0":{"S":"x"}},"ExpressionAttributeNames":{…}}`, `"#a#":"a#"`),
		func(n int) string { return begin + strings.Repeat("(", n) + "a" + strings.Repeat(")", n) + `"}` },
		func(n int) string { return begin + strings.Repeat("NOT ", n) + `attribute_exists(a)"}` },
		func(n int) string { return begin + "a" + strings.Repeat(".a[0]", n) + `=a"}` },
	}
}

// statements are bodies with a statement of PartiQL.
func statements(before, after, parameters, end string) []func(n int) string {
	return []func(n int) string{
		within(before+`SELECT a… FROM \"tab\"`+after, `,a#`), within(before+`SELECT * FROM \"tab\" WHERE p='x'…`+after, ` OR p='#'`), within(before+`SELECT * FROM \"tab\" WHERE p IN ['x'…]`+after, `,'#'`),
		within(before+`INSERT INTO \"tab\" VALUE {'p':'x'…}`+after, `,'a#':#`), within(before+`UPDATE \"tab\" SET a=1… WHERE p='x'`+after, ` SET a#=1`),
		func(n int) string {
			return before + `SELECT * FROM \"tab\" WHERE ` + strings.Repeat("(", n/8) + "p='x'" + strings.Repeat(")", n/8) + after
		},
		within(parameters+`…`+end, `{"S":"#"}`),
	}
}

// streams are the operations that have another prefix.
var streams = []string{"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}

// dynamo returns the inputs of the DynamoDB API, at the path for those who have logged in, and the operations that
// the table lacks or has for nothing.
func dynamo(c *client) (all []input, failures []string, err error) {
	source, err := os.ReadFile(root() + "/internal/dynamoapi/actions.go")
	if err != nil {
		return nil, nil, err
	}
	left := map[string]bool{}
	for name := range actions {
		left[name] = true
	}
	for _, m := range regexp.MustCompile(`\{name: "(\w+)"`).FindAllSubmatch(source, -1) {
		name := string(m[1])
		if actions[name] == nil {
			failures = append(failures, name+" takes a body, and the table has none")
		}
		delete(left, name)
		prefix := "DynamoDB_20120810."
		for _, s := range streams {
			if s == name {
				prefix = "DynamoDBStreams_20120810."
			}
		}
		bodies := actions[name]
		for _, name := range c.shapes {
			shape := shapes[name]
			for _, member := range []string{"TableName", "Key", "Item", "RequestItems", "ExpressionAttributeValues", "ExpressionAttributeNames", "ExclusiveStartKey", "Expected"} {
				bodies = append(bodies, func(n int) string { return `{"` + member + `":` + shape(n) + `}` })
			}
		}
		for i, body := range bodies {
			all = append(all, input{name + " " + strconv.Itoa(i), 1000, func(n int) request {
				return request{method: "POST", path: "/_dynamodb", body: body(n), header: []string{"Content-Type", "application/x-amz-json-1.0", "X-Amz-Target", prefix + name}}
			}})
		}
	}
	for name := range left {
		failures = append(failures, name+" is in the table, and there is no such operation")
	}
	table := request{method: "POST", path: "/_dynamodb", header: []string{"Content-Type", "application/x-amz-json-1.0", "X-Amz-Target", "DynamoDB_20120810.CreateTable"},
		body: `{"TableName":"tab","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"p","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"}]}`}
	return all, failures, c.must(table)
}
