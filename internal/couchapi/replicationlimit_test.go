package couchapi_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sectional/sectional/internal/config"
)

// newReplicating makes an API, with so many servers, at which ann and bob may have three replications, and ask for them with 4,000 bytes.
func newReplicating(t *testing.T, servers int) *testAPI {
	a := newSeveral(t, "pebble", servers, config.Setting{Section: "replicator", Key: "max_jobs_per_user", Value: "3"},
		config.Setting{Section: "replicator", Key: "max_bytes_per_user", Value: "4000"})
	for _, user := range []string{"ann", "bob"} {
		a.do("PUT", "/_users/org.couchdb.user:"+user, fmt.Sprintf(`{"name":%q,"password":"pass","roles":[],"type":"user"}`, user)).want(201, "")
	}
	for _, db := range []string{"src", "dst", "x%2F_replicator", "y%2F_replicator"} {
		a.do("PUT", "/"+db, "").want(201, "")
		a.do("PUT", "/"+db+"/_security", `{"members":{"names":["ann","bob"]}}`).want(200, "")
	}
	return a
}

// asksEndlessly is a replication that does not end, of one id of the source.
func asksEndlessly(id string, pad int) string {
	return fmt.Sprintf(`{"source":"src","target":"dst","continuous":true,"doc_ids":["%s"%s]}`, id, strings.Repeat(`,"x"`, pad))
}

const (
	tooManyReplications = `{"error":"forbidden","reason":"You can have 3 replications at a time: ` + "`[replicator] max_jobs_per_user`" + `."}`
	tooLongReplications = `{"error":"too_large","reason":"All that asks for your replications can have 4000 bytes: ` + "`[replicator] max_bytes_per_user`" + `."}`
)

// TestReplicationsOfAUser has a user ask for more replications than one may have, by documents of two databases and by requests.
func TestReplicationsOfAUser(t *testing.T) {
	a := newReplicating(t, 1)
	as := func(user string) func(method, target, body string) answer {
		return func(method, target, body string) answer {
			return a.do(method, target, body, "Authorization", basic(user, "pass"))
		}
	}
	ann, bob, adm := as("ann"), as("bob"), as("adm")
	first := ann("PUT", "/x%2F_replicator/one", asksEndlessly("1", 0)).want(201, "").json()["rev"].(string)
	ann("PUT", "/y%2F_replicator/two", asksEndlessly("2", 0)).want(201, "")
	ann("POST", "/_replicate", asksEndlessly("3", 0)).want(202, "")

	ann("PUT", "/x%2F_replicator/four", asksEndlessly("4", 0)).want(403, tooManyReplications)
	adm("GET", "/x%2F_replicator/four", "").want(404, "")
	ann("POST", "/_replicate", asksEndlessly("4", 0)).want(403, tooManyReplications)
	ann("POST", "/_replicate", asksEndlessly("3", 0)).want(202, "") // it runs already
	first = ann("PUT", "/x%2F_replicator/one?rev="+first, asksEndlessly("1", 3)).want(201, "").json()["rev"].(string)
	ann("PUT", "/x%2F_replicator/one?rev="+first, asksEndlessly("1", 1500)).want(413, tooLongReplications)
	for i := range 5 {
		adm("PUT", fmt.Sprintf("/x%%2F_replicator/adm%d", i), asksEndlessly(fmt.Sprint("adm", i), 1500)).want(201, "")
	}
	bob("POST", "/_replicate", asksEndlessly("bob", 1500)).want(413, tooLongReplications)
	bob("POST", "/_replicate", asksEndlessly("bob", 0)).want(202, "")

	ann("POST", "/_replicate", strings.Replace(asksEndlessly("3", 0), `{`, `{"cancel":true,`, 1)).want(200, "")
	ann("DELETE", "/x%2F_replicator/one?rev="+first, "").want(200, "")
	var docs []string
	for i := range 4 {
		docs = append(docs, strings.Replace(asksEndlessly(fmt.Sprint("bulk", i), 0), `{`, fmt.Sprintf(`{"_id":"bulk%d",`, i), 1))
	}
	stored := 0
	for i, row := range ann("POST", "/x%2F_replicator/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).want(201, "").list() {
		if row["ok"] == true {
			stored++
		} else if row["error"] != "forbidden" || i < 2 {
			t.Errorf("row %d: %v", i, row)
		}
	}
	if stored != 2 {
		t.Errorf("%d of 4 documents are stored, two were left", stored)
	}
	ann("PUT", "/x%2F_replicator/over", strings.Replace(asksEndlessly("over", 0), `{`, `{"_replication_state":"failed",`, 1)).want(403, "") // the server's to say
}

// TestReplicationsAtOnce has a user ask for many replications at the same time, and at several servers.
func TestReplicationsAtOnce(t *testing.T) {
	for servers := 1; servers <= 2; servers++ {
		t.Run(fmt.Sprint(servers, " servers"), func(t *testing.T) {
			a := newReplicating(t, servers)
			ask := func(i int) int {
				return a.do("PUT", fmt.Sprintf("/x%%2F_replicator/doc%d", i), asksEndlessly(fmt.Sprint(i), 0), "Authorization", basic("ann", "pass")).Status
			}
			var mu sync.Mutex
			var all sync.WaitGroup
			by := map[int]int{}
			for i := range 8 {
				one := func() {
					status := ask(i)
					mu.Lock()
					defer mu.Unlock()
					by[status]++
				}
				if servers > 1 {
					one() // one after the other, at either
				} else {
					all.Go(one)
				}
			}
			all.Wait()
			if by[201] != 3 || by[403] != 5 {
				t.Errorf("answers by status: %v", by)
			}
		})
	}
}
