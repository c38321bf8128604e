package couchapi_test

import (
	"net/http"
	"strings"
)

// leakProbe is a request that might tell of somebody else's documents.
type leakProbe struct{ method, path, body string }

// The endpoints at which leakProbes ask.
const (
	aliceEndpoint = "/parts/_partition/alice"
	aliceTenant   = "/parts/_owner/alice"
)

// leakProbes ask for bob's documents at alice's endpoints, in every way there is.
func leakProbes() (probes []leakProbe) {
	lines := strings.Split(strings.TrimSpace(leakLines), "\n")
	for _, line := range lines {
		probes = append(probes, probeOf(strings.ReplaceAll(line, "~", aliceEndpoint)))
	}
	for _, line := range append(strings.Split(strings.TrimSpace(tenantLines), "\n"), lines...) {
		if strings.Contains(line, "~") {
			probes = append(probes, probeOf(strings.ReplaceAll(strings.ReplaceAll(line, "alice:", ""), "~", aliceTenant)))
		}
	}
	return probes
}

func probeOf(line string) leakProbe {
	parts := append(strings.SplitN(strings.TrimSpace(line), " ", 3), "")
	return leakProbe{method: parts[0], path: parts[1], body: parts[2]}
}

// In leakLines, ~ is an endpoint of alice; at the tenant's, ids have no alice: before them.
// «last» is the last sequence that the caller was told, «plain-N» the sequence N as
// the database has it. How far a view has come that is not brought up to date
// (update=false) is a matter of time, and not asked.
const leakLines = `
GET ~
GET ~/_all_docs
GET ~/_all_docs?include_docs=true&update_seq=true&conflicts=true
GET ~/_all_docs?start_key="a"&end_key="z"
GET ~/_all_docs?key="bob:1"
GET ~/_all_docs?key="ghost:1"
GET ~/_all_docs?skip=3&descending=true
GET ~/_all_docs?partition=bob
POST ~/_all_docs {"keys":["bob:1","alice:1","bob:gone","_design/d"]}
POST ~/_all_docs/queries {"queries":[{"keys":["bob:1"]},{"start_key":"b"},{"partition":"bob"}]}
GET ~/_changes
GET ~/_changes?include_docs=true&style=all_docs&descending=true
GET ~/_changes?since=0&limit=2
GET ~/_changes?since=now
GET ~/_changes?since=now&feed=longpoll&timeout=1
GET ~/_changes?filter=d/f
GET ~/_changes?filter=_view&view=d/v
GET ~/_changes?filter=_design
POST ~/_changes?filter=_doc_ids {"doc_ids":["bob:1","alice:1"]}
POST ~/_changes?filter=_selector {"selector":{"p":"bob"}}
POST ~/_find {"selector":{"n":{"$gte":0}},"execution_stats":true}
POST ~/_find {"selector":{"p":"bob"},"execution_stats":true}
POST ~/_find {"selector":{"p":"alice"},"execution_stats":true}
POST ~/_find {"selector":{"_id":{"$gt":"b"}},"execution_stats":true}
POST ~/_find {"selector":{"_id":"bob:1"}}
POST ~/_find {"selector":{},"partition":"bob"}
POST ~/_find {"selector":{},"use_index":["g","byp"]}
POST ~/_find {"selector":{"n":{"$gt":0}},"sort":["n"],"limit":2}
POST ~/_find {"selector":{},"count":true}
POST ~/_find {"selector":{},"group":{"by":["p"],"compute":{"s":{"$sum":"n"}}}}
POST ~/_explain {"selector":{"n":{"$gte":0}},"execution_stats":true}
POST ~/_explain {"selector":{"p":"bob"},"execution_stats":true}
POST ~/_explain {"selector":{"p":"bob"},"use_index":["g","byp"],"execution_stats":true}
GET ~/_index
GET ~/_design/d/_view/v
GET ~/_design/d/_view/v?include_docs=true&update_seq=true
GET ~/_design/d/_view/v?key=1&skip=1
GET ~/_design/d/_view/v?limit=0
POST ~/_design/d/_view/v/queries {"queries":[{"start_key":0},{"keys":[1,2]}]}
GET ~/_design/d/_view/r
GET ~/_design/d/_view/r?reduce=false&include_docs=true
GET ~/_design/d/_show/s
GET ~/_design/d/_show/s/alice:1
GET ~/_design/d/_show/s/bob:1
GET ~/_design/d/_show/s/ghost:1
GET ~/_design/d/_list/l/v
GET ~/_design/d/_list/l/v?include_docs=true
POST ~/_design/d/_update/u {}
POST ~/_design/d/_update/u {"_id":"bob:1"}
POST ~/_design/d/_update/u/alice:1 {}
POST ~/_design/d/_update/u/bob:1 {}
GET ~/_design/d/_rewrite/all
GET ~/_design/d/_rewrite/v
GET ~/_design/d/_rewrite/up
GET ~/_design/d/_info
GET ~/_design/g/_info
GET ~/bob:1
GET ~/ghost:1
GET ~/bob:1/a.txt
GET ~/_partitions
POST ~/_bulk_get {"docs":[{"id":"alice:1"},{"id":"bob:1"},{"id":"bob:1","rev":"2-b"},{"id":"ghost:1"},{"id":"alice:gone","rev":"1-d"},{"id":"_design/d"}]}
POST ~/_bulk_get?revs=true&attachments=true {"docs":[{"id":"alice:1","rev":"2-b"},{"id":"bob:1","rev":"2-b","atts_since":["1-a"]}]}
POST ~/_revs_diff {"alice:1":["2-b","3-x"],"alice:9":["1-x"]}
POST ~/_revs_diff {"bob:1":["2-b","3-x"]}
POST ~/_revs_diff {"ghost:1":["2-b","3-x"]}
POST ~/_missing_revs {"bob:1":["2-b","3-x"]}
POST ~/_missing_revs {"alice:1":["2-b","3-x"]}
GET ~/_design/d
GET ~/_design/d?local_seq=true&meta=true
GET ~/alice:1?rev=2-b&attachments=true&local_seq=true
GET ~/alice:1?open_revs=all&revs=true
GET ~/alice:1/a.txt
GET ~/alice:1/..%2F..%2Fbob:1
GET ~/bob:1?rev=2-b
GET ~/bob:1?open_revs=all
GET ~/ghost:1?open_revs=all
GET ~/_local/after
GET ~/_local/before
GET ~/_local_docs
GET ~/_design_docs?update_seq=true
GET ~/_security
GET ~/_session
PUT ~
POST ~/_ensure_full_commit
PUT ~/_local/mine {"a":1}
GET ~/_local/mine
COPY ~/_local/mine>_local/other
COPY ~/_local/mine>alice:local
COPY ~/_local/mine>bob:local
DELETE ~/_local/mine
GET /parts/alice:1?rev=2-b&attachments=true&revs_info=true&conflicts=true&local_seq=true
GET /parts/alice:1?open_revs=all&revs=true
GET /parts/alice:1?meta=true
GET /parts/alice:1/a.txt
GET /parts/alice:1/..%2Fbob:1
GET /parts/alice:1/../bob:1
GET /parts/alice:%2F..%2Fbob:1
GET /parts/alice:1%2F..%2F..%2Fbob:1
GET /parts/alice:1%2Fa.txt
GET /parts/alice%3A1
GET /parts/bob:1?rev=2-b
GET /parts/bob:1/a.txt
GET /parts/bob%3A1
GET /parts/alice:1;bob:1
GET /parts/alice:bob:1
GET /parts/_partition/bob
GET /parts/_partition/alice%2Fbob/_all_docs
GET /parts/_partition/alice/../bob/_all_docs
GET /parts/_partition/alice%2F..%2Fbob/_all_docs
GET /parts%2F_partition%2Fbob/_all_docs
GET /parts/_partition/alice%00/_all_docs
GET /parts/_all_docs?partition=alice
GET /parts/_changes
GET /parts/_partitions
GET /parts/_partitions?limit=1&descending=true
GET /parts/_partitions?sort=docs&limit=1
GET /parts/_partitions?bookmark=Ym9i
GET /parts
GET /parts/_local_docs
GET /parts/_design/d/_view/v?partition=alice
GET /parts/_security
GET /parts/_shards/alice:1
POST /parts/_bulk_get {"docs":[{"id":"alice:1"},{"id":"bob:1"}]}
POST /parts/_find {"selector":{},"partition":"alice"}
POST /parts/_bulk_docs {"docs":[{"_id":"alice:new"}]}
POST /parts {"_id":"alice:new"}
POST ~/_bulk_docs {"docs":[{"_id":"bob:1"}]}
POST ~/_bulk_docs {"docs":[{"_id":"ghost:1"}]}
POST ~/_bulk_docs {"docs":[{"_id":"alice:b1"},{"_id":"_design/x"},{"_id":"alice:_design/x"},{"_id":"_local/b"}]}
POST ~/_bulk_docs {"new_edits":false,"docs":[{"_id":"alice:b2","_rev":"1-a"},{"_id":"_design/x","_rev":"1-a"}]}
POST ~/_bulk_docs {"new_edits":false,"docs":[{"_id":"bob:b2","_rev":"1-a"}]}
POST ~/_bulk_docs {"atomic":true,"docs":[{"_id":"alice:b3"},{"_id":"bob:b3"}]}
POST ~ {"_id":"bob:1"}
POST ~ {"_id":"alice:p"}
PUT ~/alice:q {"_attachments":{"a.txt":{"stub":true,"digest":"md5-R7zmfwhi0zd64e7yk5z+jg==","revpos":1}}}
PUT ~/bob:1 {}
PUT ~/ghost:1 {}
PUT ~/alice:q/b.txt {}
PUT ~/bob:1/b.txt?rev=2-b {}
PUT ~/_design/x {}
PUT ~/alice:_design%2Fx {}
PATCH ~/bob:1 {"n":9}
DELETE ~/bob:1?rev=2-b
COPY ~/alice:1>bob:copy
COPY ~/bob:1>alice:stolen
COPY ~/ghost:1>alice:stolen
COPY ~/alice:1>alice:copied
PUT /parts/alice:2 {"_id":"bob:2"}
PUT /parts/bob:2 {}
PUT /parts/ghost:2 {}
PUT /parts/alice:3 {"_attachments":{"a.txt":{"stub":true,"digest":"md5-R7zmfwhi0zd64e7yk5z+jg==","revpos":1}}}
PUT /parts/alice:4 {"n":4}
PATCH /parts/bob:1 {"n":9}
PATCH /parts/alice:4 {"n":9}
DELETE /parts/bob:1?rev=2-b
PUT /parts/alice:5/b.txt {}
PUT /parts/bob:5/b.txt {}
COPY /parts/alice:1>bob:copy
COPY /parts/alice:1>ghost:copy
COPY /parts/alice:1>bob:1
COPY /parts/alice:1>_local/x
COPY /parts/alice:1>_design/x
COPY /parts/alice:1>alice:copy
COPY /parts/bob:1>alice:stolen
COPY /parts/ghost:1>alice:stolen
GET ~/_expiry
PUT ~/_expiry {"field":"e"}
GET ~/_subscriptions
GET ~/_subscriptions/s
GET ~/_subscriptions/s/_dead
POST ~/_subscriptions {"url":"https://example.com","secret":"0123456789abcdef"}
DELETE ~/_subscriptions/s
GET /parts/_expiry
GET /parts/_subscriptions
GET /parts/_snapshot
GET /parts/_purged_infos
GET /parts/_partition/bob/_expiry
GET /parts/_partition/bob/_snapshot
GET /parts/_owner/bob
GET /parts/_owner/bob/_design_docs
GET ~/_snapshot
GET ~/_snapshot?max_bytes=1
GET ~/_snapshot?after=ARgx
GET ~?min_seq=«last»
GET ~?min_seq=«plain-5»
GET ~?min_seq=«plain-60»
GET ~?min_seq=«plain-500»
GET /parts/alice:1?min_seq=«last»
GET /parts/alice:1?min_seq=«plain-500»
GET ~/_changes?since=«last»
GET ~/_changes?since=«plain-5»
GET ~/_changes?since=«plain-60»
GET ~/_changes?since=«plain-500»
GET ~/_changes?since=«plain-60»&descending=true
GET ~/_changes?since=«last»&feed=longpoll&timeout=1
GET ~/_changes?feed=continuous&timeout=1
GET ~/_changes?feed=eventsource&timeout=1
GET ~/_changes?seq_interval=3
POST ~/_bulk_docs?seq=true {"docs":[{"_id":"alice:s1"},{"_id":"alice:s2"}]}
PUT ~/alice:s3?seq=true {}
PUT /parts/alice:s4?seq=true {}
GET ~/_changes
GET ~/_all_docs?update_seq=true
GET ~/_design/d/_view/v?update_seq=true
POST ~/_find {"selector":{"$or":[{"n":1},{"n":{"$gt":3}}]},"limit":1}
POST ~/_find {"selector":{"$or":[{"n":1},{"p":"alice"}]},"limit":1}
POST ~/_index {"index":{"fields":["q"]}}
GET ~/_index
POST ~/_index/_bulk_delete {"docids":["_design/m"]}
DELETE ~/_index/m/json/byn
GET ~
DELETE ~
`

// tenantLines are asked at the tenant's endpoint alone, where bob's ids could be alice's.
const tenantLines = `
GET ~/bob:1
GET ~/alice:1
GET ~/_design_docs?include_docs=true
GET ~/_all_docs?include_docs=true
GET ~/_design/own
GET ~/_design/bobs
GET ~/_design/bobs/_view/v
GET ~/_local/bobs
PUT ~/_local/bobs {}
GET ~/_design/own/_view/v
GET ~/_design/own/_view/v?include_docs=true
PUT ~/bob:1 {"mine":true}
GET ~/bob:1
DELETE ~/bob:1?rev=2-b
PUT ~/_design/bobs {"views":{"v":{"map":"function (doc) { emit(doc._id, 1); }"}}}
GET ~/_design/bobs/_view/v?update_seq=true
GET ~/_design/bobs/_info
POST ~/_index {"index":{"fields":["p"]},"ddoc":"bobs2"}
POST ~/_find {"selector":{"p":"bob"},"execution_stats":true}
POST ~/_explain {"selector":{"p":"alice"}}
POST ~/_compact {}
POST ~/_view_cleanup {}
GET ~/_design/shared
GET ~/_design/shared/_info
GET ~/_design/shared/_view/v
GET ~/_design/shared/_view/v?include_docs=true&update_seq=true
GET ~/_design/shared/_view/v?partition=bob
GET ~/_design/shared/_view/v?startkey=1&startkey_docid=bob:1&skip=1&limit=5&descending=true
GET ~/_design/shared/_view/r?group=true
POST ~/_design/shared/_view/r/queries {"queries":[{},{"group_level":1},{"reduce":false,"keys":[1,7]}]}
GET ~/_design/shared/_list/l/v
POST ~/_find {"selector":{"n":{"$gt":0},"p":{"$gt":""}},"use_index":"sharedm","limit":2,"execution_stats":true}
POST ~/_find {"selector":{"n":{"$gt":0},"p":"bob"},"use_index":"sharedm","count":true}
POST ~/_explain {"selector":{"n":{"$gt":0},"p":{"$gt":""}},"use_index":"sharedm","execution_stats":true}
`

// send sends a probe as somebody. COPY has its destination after a ">".
func (p leakProbe) send(w *testAPI, caller string, header ...string) answer {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(caller, caller)
	path, to, copies := strings.Cut(p.path, ">")
	if copies {
		header = append(header, "Destination", to)
	}
	return w.do(p.method, path, p.body, append([]string{"Authorization", r.Header.Get("Authorization"), "Accept", "application/json"}, header...)...)
}
