package dynamoapi

// describeEndpoints names this server: clients that look for their endpoint stay here.
func describeEndpoints(r *Request) error {
	return r.answerMember("Endpoints", []any{map[string]any{"Address": r.HTTP.Host, "CachePeriodInMinutes": 1440}})
}

// describeLimits returns AWS's usual limits of capacity. Here there are none.
func describeLimits(r *Request) error {
	return r.answer([]byte(`{"AccountMaxReadCapacityUnits":80000,"AccountMaxWriteCapacityUnits":80000,"TableMaxReadCapacityUnits":40000,"TableMaxWriteCapacityUnits":40000}`))
}
