package dynamoapi

import "github.com/sectional/sectional/internal/web"

// action is an operation.
type action struct {
	name  string
	run   func(r *Request) error
	frame web.Action
}

// The prefixes of the header that names an operation.
const (
	targets       = "DynamoDB_20120810."
	streamTargets = "DynamoDBStreams_20120810."
)

// Bodies: those that hold items may be 16 MB long, as at AWS.
var (
	smallBody = web.BodyCost{Most: 1 << 20, Weight: 2, Element: 64}
	itemsBody = web.BodyCost{Most: 16 << 20, Weight: 4, Element: 64}
)

// actions are the operations that there are.
var actions = []action{
	{name: "BatchExecuteStatement", run: batchExecuteStatement, frame: web.Action{Body: itemsBody}},
	{name: "BatchGetItem", run: batchGetItem},
	{name: "BatchWriteItem", run: batchWriteItem, frame: web.Action{Body: itemsBody}},
	{name: "CreateTable", run: createTable},
	{name: "DeleteItem", run: deleteItem},
	{name: "DeleteTable", run: deleteTable},
	{name: "DescribeContinuousBackups", run: describeContinuousBackups},
	{name: "DescribeEndpoints", run: describeEndpoints},
	{name: "DescribeLimits", run: describeLimits},
	{name: "DescribeTable", run: describeTable},
	{name: "DescribeTimeToLive", run: describeTimeToLive},
	{name: "ExecuteStatement", run: executeStatement, frame: web.Action{Body: itemsBody}},
	{name: "GetItem", run: getItem},
	{name: "ListTables", run: listTables},
	{name: "ListTagsOfResource", run: listTags},
	{name: "PutItem", run: putItem, frame: web.Action{Body: itemsBody}},
	{name: "Query", run: query},
	{name: "Scan", run: scan},
	{name: "TagResource", run: tagResource},
	{name: "TransactGetItems", run: transactGetItems},
	{name: "TransactWriteItems", run: transactWriteItems, frame: web.Action{Body: itemsBody}},
	{name: "UntagResource", run: untagResource},
	{name: "UpdateItem", run: updateItem, frame: web.Action{Body: itemsBody}},
	{name: "UpdateTable", run: updateTable},
	{name: "UpdateTimeToLive", run: updateTimeToLive},
}

// streamActions are those on streams, for AWS another API.
var streamActions = []action{
	{name: "DescribeStream", run: describeStream},
	{name: "GetRecords", run: getRecords},
	{name: "GetShardIterator", run: getShardIterator},
	{name: "ListStreams", run: listStreams},
}

// actionsBy returns the operations by the header that names them, all of one class.
func actionsBy(class *web.Class) map[string]*action {
	all := map[string]*action{}
	for prefix, list := range map[string][]action{targets: actions, streamTargets: streamActions} {
		for _, a := range list {
			a.frame.Class = class
			if a.frame.Body == (web.BodyCost{}) {
				a.frame.Body = smallBody
			}
			all[prefix+a.name] = &a
		}
	}
	return all
}
