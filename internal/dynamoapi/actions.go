package dynamoapi

import "github.com/sectional/sectional/internal/web"

// action is an operation.
type action struct {
	name  string
	run   func(r *Request) error
	frame web.Action
	// reads says that it reads from the store before it does anything that is not a commit's: what let
	// the caller in is looked at by that read.
	reads bool
}

// The prefixes of the header that names an operation.
const (
	targets       = "DynamoDB_20120810."
	streamTargets = "DynamoDBStreams_20120810."
)

// Bodies: those that hold items may be 16 MB long, as at AWS. The values of an expression
// may have 2 MB together, which JSON and base64 make more of.
var (
	smallBody  = web.BodyCost{Max: 1 << 20, Weight: 2, Element: 64}
	valuesBody = web.BodyCost{Max: 4 << 20, Weight: 4, Element: 64}
	itemsBody  = web.BodyCost{Max: 16 << 20, Weight: 4, Element: 64, Written: true}
)

// actions are the operations that there are.
var actions = []action{
	{name: "BatchExecuteStatement", run: batchExecuteStatement, frame: web.Action{Body: itemsBody}},
	{name: "BatchGetItem", run: batchGetItem, reads: true, frame: web.Action{Body: valuesBody, Bounded: true}},
	{name: "BatchWriteItem", run: batchWriteItem, reads: true, frame: web.Action{Body: itemsBody}},
	{name: "CreateTable", run: createTable},
	{name: "DeleteItem", run: deleteItem, reads: true, frame: web.Action{Body: valuesBody}},
	{name: "DeleteTable", run: deleteTable},
	{name: "DescribeContinuousBackups", run: describeContinuousBackups},
	{name: "DescribeEndpoints", run: describeEndpoints},
	{name: "DescribeLimits", run: describeLimits},
	{name: "DescribeTable", run: describeTable, reads: true},
	{name: "DescribeTimeToLive", run: describeTimeToLive},
	{name: "ExecuteStatement", run: executeStatement, frame: web.Action{Body: itemsBody}},
	{name: "ExecuteTransaction", run: executeTransaction, frame: web.Action{Body: itemsBody}},
	{name: "GetItem", run: getItem, reads: true, frame: web.Action{Bounded: true}},
	{name: "ListTables", run: listTables},
	{name: "ListTagsOfResource", run: listTags},
	{name: "PutItem", run: putItem, reads: true, frame: web.Action{Body: itemsBody}},
	{name: "Query", run: query, reads: true, frame: web.Action{Body: valuesBody, Bounded: true}},
	{name: "Scan", run: scan, reads: true, frame: web.Action{Body: valuesBody, Bounded: true}},
	{name: "TagResource", run: tagResource},
	{name: "TransactGetItems", run: transactGetItems, reads: true, frame: web.Action{Body: valuesBody, Bounded: true}},
	{name: "TransactWriteItems", run: transactWriteItems, reads: true, frame: web.Action{Body: itemsBody}},
	{name: "UntagResource", run: untagResource},
	{name: "UpdateContinuousBackups", run: updateContinuousBackups},
	{name: "UpdateItem", run: updateItem, reads: true, frame: web.Action{Body: itemsBody}},
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

// auditedOperations are the operations that the audit log is told of.
var auditedOperations = map[string]bool{"CreateTable": true, "DeleteTable": true, "UpdateTable": true, "UpdateTimeToLive": true, "UpdateContinuousBackups": true, "TagResource": true, "UntagResource": true}

// actionsBy returns the operations by the header that names them, all of one class.
func actionsBy(class *web.Class) map[string]*action {
	all := map[string]*action{}
	for prefix, list := range map[string][]action{targets: actions, streamTargets: streamActions} {
		for _, a := range list {
			a.frame.Class, a.frame.Name, a.frame.Operation, a.frame.Audited = class, a.name, true, auditedOperations[a.name]
			if a.frame.Body == (web.BodyCost{}) {
				a.frame.Body = smallBody
			}
			all[prefix+a.name] = &a
		}
	}
	return all
}
