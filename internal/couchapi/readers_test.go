package couchapi_test

import (
	"fmt"
	"testing"
)

// TestReadersCheckpointsAreTheirOwn writes, reads, lists, copies and deletes local
// documents of one name as two readers, a writer and a member: the readers have
// theirs alone, the others share.
func TestReadersCheckpointsAreTheirOwn(t *testing.T) {
	for _, endpoint := range []string{"/parts/_partition/alice", "/parts/_owner/alice"} {
		w := newOpaqueWorld(t)
		w.do("PUT", "/_users/org.couchdb.user:"+stranger, fmt.Sprintf(`{"name":%q,"password":%q,"roles":[],"type":"user"}`, stranger, stranger)).want(201, "")
		w.do("PUT", "/parts/_security", `{"members":{"names":["mia"]},"partitions":[{"who":{"names":["rita","sue"]},"partition":"alice","access":"read"},
			{"who":{"names":["will"]},"partition":"alice","access":"write"}]}`).want(200, "")
		path := endpoint + "/_local/cp"
		body := func(caller string) string { return fmt.Sprintf(`{"of":%q}`, caller) }
		stored := func(caller, of string) {
			t.Helper()
			if of == "" {
				w.as(caller, "GET", path, "").want(404, "")
				w.as(caller, "GET", endpoint+"/_local_docs", "").want(200, `{"total_rows":null,"offset":null,"rows":[]}`)
				return
			}
			want := fmt.Sprintf(`{"_id":"_local/cp","_rev":"0-1","of":%q}`, of)
			w.as(caller, "GET", path, "").want(200, want)
			w.as(caller, "GET", endpoint+"/_local_docs?include_docs=true", "").want(200, `{"total_rows":null,"offset":null,"rows":[{"id":"_local/cp","key":"_local/cp","value":{"rev":"0-1"},"doc":`+want+`}]}`)
			w.as(caller, "POST", endpoint+"/_local_docs?include_docs=true", `{"keys":["_local/cp"]}`).want(200, "")
		}
		w.as(writesTo, "PUT", path, body(writesTo)).want(201, "")
		stored(readsOne, "")
		w.as(readsOne, "DELETE", path, "").want(404, "")
		w.as(readsOne, "PUT", path, body(readsOne)).want(201, "")
		stored(readsOne, readsOne)
		stored(stranger, "")
		stored(writesTo, writesTo)
		stored(isMember, writesTo)
		w.as(stranger, "PUT", path, body(stranger)).want(201, "")
		w.as(readsOne, "COPY", path, "", "Destination", "_local/other").want(201, "")
		w.as(readsOne, "GET", endpoint+"/_local/other", "").want(200, `{"_id":"_local/other","_rev":"0-1","of":"rita"}`)
		for _, caller := range []string{stranger, writesTo} {
			w.as(caller, "GET", endpoint+"/_local/other", "").want(404, "")
			stored(caller, caller)
		}
		w.as(readsOne, "DELETE", endpoint+"/_local/other", "").want(200, "")
		w.as(readsOne, "DELETE", path, "").want(200, "")
		stored(readsOne, "")
		stored(stranger, stranger)
		stored(isMember, writesTo)
		w.as(readsOne, "POST", endpoint+"/_bulk_docs", `{"docs":[{"_id":"_local/cp"}]}`).want(403, "")
		w.as(writesTo, "POST", endpoint+"/_bulk_docs", `{"docs":[{"_id":"_local/b"}]}`).want(201, "")
		w.as(isMember, "GET", endpoint+"/_local/b", "").want(200, "")
		// A reader who may write from now on shares what the others have.
		w.do("PUT", "/parts/_security", `{"partitions":[{"who":{"names":["sue"]},"partition":"alice","access":"read"},{"who":"*","partition":"alice","access":"write"}]}`).want(200, "")
		w.as(stranger, "GET", path, "").want(200, `{"_id":"_local/cp","_rev":"0-1","of":"will"}`)
		w.as(stranger, "GET", endpoint+"/_local/b", "").want(200, "")
	}
}
