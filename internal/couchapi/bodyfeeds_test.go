package couchapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
)

// keepers are requests that keep what their bodies say while they last, by the pattern of the route: its query and the body, of
// which %s is long. Each waits for changes.
var keepers = map[string][][2]string{
	"/{db}/_changes": suspendedFeeds(),
	"/_replicate":    {{"", `{"source":"http://192.0.2.1/waits","target":"plain","doc_ids":["%s"]}`}},
}

// suspendedFeeds are the feeds that wait, each with what a body may choose by.
func suspendedFeeds() (all [][2]string) {
	for _, feed := range []string{"longpoll", "continuous", "live", "eventsource"} {
		all = append(all, [2]string{"?feed=" + feed + "&since=now&filter=_doc_ids", `{"doc_ids":["%s"]}`},
			[2]string{"?feed=" + feed + "&since=now&filter=_selector", `{"selector":{"a":"%s"}}`})
	}
	return all
}

// isKeeper reports whether requests to a route may last, and keep what their bodies say: others answer at once.
func isKeeper(row *couchhttp.Route) bool {
	return row.Class == couchhttp.ClassFeed && strings.Contains(row.Methods, "POST") || row.Pattern == "/_replicate"
}

// waitsHere is a request that goes on until it is left.
type waitsHere struct {
	leave context.CancelFunc
	done  chan int
}

// waitWith begins a request as a user of the password "pass" and returns when it waits or has ended.
func (a *testAPI) waitWith(user, method, target, body string) waitsHere {
	ctx, leave := context.WithCancel(a.t.Context())
	w := waitsHere{leave, make(chan int, 1)}
	r := httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	r.SetBasicAuth(user, "pass")
	r.Header.Set("Content-Type", "application/json")
	go func() {
		rec := httptest.NewRecorder()
		a.API.ServeHTTP(rec, r)
		w.done <- rec.Code
	}()
	synctest.Wait()
	return w
}

// end leaves the request and waits for its end.
func (w waitsHere) end() {
	w.leave()
	<-w.done
}

// newKeepingAPI makes an API with little memory for bodies, databases of both kinds and two users who may use them.
func newKeepingAPI(t *testing.T) *testAPI {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "max_bodies_memory", Value: strconv.Itoa(1 << 20)})
	for path, body := range map[string]string{"/plain": "", "/parted?partitioned=true": "", "/_users/org.couchdb.user:ann": `{"name":"ann","password":"pass","roles":[],"type":"user"}`,
		"/_users/org.couchdb.user:bob": `{"name":"bob","password":"pass","roles":[],"type":"user"}`} {
		a.do("PUT", path, body).want(201, "")
	}
	for _, db := range []string{"plain", "parted"} {
		a.do("PUT", "/"+db+"/_security", `{"members":{"names":["ann","bob"]}}`).want(200, "")
	}
	return a
}

// TestKeptBodiesStayCharged has each route that keeps what its body says be charged for it as long as it does.
func TestKeptBodiesStayCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newKeepingAPI(t)
		const length = 60 << 10
		seen := map[string]bool{}
		for _, row := range couchhttp.ExpandRoutes(couchapi.AllRoutes()) {
			if !isKeeper(&row) {
				continue
			}
			pattern := row.Pattern
			for _, root := range []string{"/{db}/_partition/{partition}", "/{db}/_owner/{partition}"} {
				pattern = strings.Replace(pattern, root, "/{db}", 1)
			}
			if keepers[pattern] == nil {
				t.Errorf("%s %s: no request of it is tried", row.Methods, row.Pattern)
			}
			seen[pattern] = true
			for _, k := range keepers[pattern] {
				target := concrete(row.Pattern) + k[0]
				w := a.waitWith("ann", "POST", target, fmt.Sprintf(k[1], strings.Repeat("x", length)))
				select {
				case s := <-w.done:
					t.Errorf("POST %s ended with %d", target, s)
				default:
					if held := a.API.ChargedBytes(); held < length {
						t.Errorf("POST %s: %d bytes are charged while it lasts", target, held)
					}
					w.end()
				}
				if held := a.API.ChargedBytes(); held != 0 {
					t.Errorf("POST %s: %d bytes are charged afterwards", target, held)
				}
			}
		}
		if len(seen) != len(keepers) {
			t.Errorf("tried are %v", seen)
		}
		a.API.Replicas.Close()
	})
}

// TestFeedsLeaveMemoryToOthers has a user keep all the memory for bodies that feeds get: others write.
func TestFeedsLeaveMemoryToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newKeepingAPI(t)
		var feeds []waitsHere
		for range 15 {
			feeds = append(feeds, a.waitWith("ann", "POST", "/plain/_changes?feed=continuous&since=now&filter=_doc_ids", `{"doc_ids":["`+strings.Repeat("x", 60<<10)+`"]}`))
		}
		bob := a.waitWith("bob", "PUT", "/plain/bobs", `{"text":"`+strings.Repeat("x", 60<<10)+`"}`)
		if s := <-bob.done; s != http.StatusCreated {
			t.Errorf("another user's document: %d", s)
		}
		for _, f := range feeds {
			f.end()
		}
	})
}
