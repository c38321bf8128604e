package couchapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestPartitionAdvice asks how documents would lie under other keys, in databases of both kinds. Documents that were
// changed or deleted count once and not at all.
func TestPartitionAdvice(t *testing.T) {
	a := newTestAPI(t)
	a.users("ann")
	for _, create := range []string{"/plain", "/parts?partitioned=true"} {
		a.do("PUT", create, "").want(201, "")
		db, _, _ := strings.Cut(create, "?")
		var docs []string
		for i := range 300 {
			docs = append(docs, fmt.Sprintf(`{"_id":"c%d:%d","country":"c%d","n":%d}`, i%30, i, i%30, i))
		}
		a.do("POST", db+"/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).want(201, "")
		for i := range 40 { // sequences without a document any more
			at := fmt.Sprintf("%s/c%d:%d", db, i%30, i)
			rev := a.do("PATCH", at, `{"changed":true}`).want(201, "").json()["rev"].(string)
			if i < 10 {
				a.do("DELETE", at+"?rev="+rev, "").want(200, "")
			}
		}
		a.do("PUT", db+"/_design/x", `{"views":{}}`).want(201, "")
		v := a.do("GET", db+"/_partition_advice?by=country", "").want(200, "").json()
		if got := fmt.Sprintf("%v %v %v %v %v", v["sampled"], v["documents"], v["sampled_partitions"], v["unfit"], v["warnings"]); got != "290 291 30 0 []" {
			t.Errorf("%s by country: %v", db, v)
		}
		v = a.do("GET", db+"/_partition_advice?by=%7Bchanged%7D&sample=100", "").want(200, "").json()
		if got := fmt.Sprintf("%v %d %d", v["sampled"], len(v["unfit_examples"].([]any)), len(v["warnings"].([]any))); got != "100 5 3" {
			t.Errorf("%s by a member that few have: %v", db, v)
		}
		a.do("GET", db+"/_partition_advice?by=country", "", "Authorization", basic("ann", "pw")).want(403, "")
	}
	a.do("GET", "/plain/_partition_advice", "").want(400, `{"error":"bad_request","reason":"A template has 1 to 1000 bytes."}`)
	a.do("GET", "/plain/_partition_advice?by=%7Ba", "").want(400, `{"error":"bad_request","reason":"A { in \"{a\" has no } after it."}`)
	for _, sample := range []string{"0", "-1", "10001", "x"} {
		a.do("GET", "/plain/_partition_advice?by=a&sample="+sample, "").want(400, "")
	}
	a.do("PUT", "/empty", "").want(201, "")
	a.do("GET", "/empty/_partition_advice?by=a", "").want(200, `{"by":"a","documents":0,"sampled":0,"sampled_partitions":0,"estimated_partitions":0,"effective_partitions":0,"unfit":0,"unfit_examples":[],"largest":[],"histogram":[],"warnings":[]}`)
	a.do("GET", "/none/_partition_advice?by=a", "").want(404, "")
}
