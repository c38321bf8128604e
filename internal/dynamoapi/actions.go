package dynamoapi

import "github.com/sectional/sectional/internal/web"

// action is an operation.
type action struct {
	name  string
	run   func(r *Request) error
	frame web.Action
}

// The prefix of the header that names an operation.
const targets = "DynamoDB_20120810."

// smallBody is what bodies are that hold no items.
var smallBody = web.BodyCost{Most: 1 << 20, Weight: 2, Element: 64}

// actions are the operations that there are.
var actions = []action{
	{name: "CreateTable", run: createTable},
	{name: "DeleteTable", run: deleteTable},
	{name: "DescribeEndpoints", run: describeEndpoints},
	{name: "DescribeLimits", run: describeLimits},
	{name: "DescribeTable", run: describeTable},
	{name: "ListTables", run: listTables},
}

// actionsBy returns the operations by the header that names them, all of one class.
func actionsBy(class *web.Class) map[string]*action {
	all := map[string]*action{}
	for _, a := range actions {
		a.frame.Class = class
		if a.frame.Body == (web.BodyCost{}) {
			a.frame.Body = smallBody
		}
		all[targets+a.name] = &a
	}
	return all
}
