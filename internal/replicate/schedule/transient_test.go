package schedule

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/replicate/spec"
)

func revs() []document.Rev { return nil }

// asked is a request to _replicate under way.
type asked struct {
	w      *world
	answer chan asking
	leave  context.CancelFunc
}

type asking struct {
	*Answer
	err error
}

func (w *world) ask(who, body string) *asked {
	ctx, leave := context.WithCancel(context.Background())
	a := &asked{w, make(chan asking, 1), leave}
	c := w.users[who]
	if c == nil {
		c = &auth.Caller{Name: who}
	}
	go func() {
		answer, err := w.Replicate(ctx, c, []byte(body))
		a.answer <- asking{answer, err}
	}()
	return a
}

// failed returns the code and reason of the error that the request comes to.
func (a *asked) failed() string {
	a.w.t.Helper()
	got := <-a.answer
	var e *dberr.Error
	if !errors.As(got.err, &e) {
		a.w.t.Fatalf("%v %v", got.Answer, got.err)
	}
	return e.Code + ": " + e.Reason
}

func TestRequestIsAnsweredAtTheEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start()
		a := w.ask("adm", replication("h/a"))
		b := w.ask("adm", replication("h/a"))
		w.finish("h/a", nil)
		for _, r := range []*asked{a, b} {
			if got := <-r.answer; got.err != nil || got.Result.Stats.DocsWritten != 7 {
				t.Errorf("%v %v", got.Answer, got.err)
			}
		}
		if n := w.begun("h/a"); n != 1 {
			t.Errorf("it ran %d times", n)
		}
		a = w.ask("adm", replication("h/a"))
		w.finish("h/a", errPeer)
		if got := <-a.answer; !errors.Is(got.err, errPeer) || len(w.jobs()) != 0 {
			t.Errorf("%v, with %d jobs left", got.err, len(w.jobs()))
		}
	})
}

// TestClientsMayLeave: a replication goes on without whoever asked for it.
func TestClientsMayLeave(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start()
		a := w.ask("adm", replication("h/a"))
		w.running("h/a")
		a.leave()
		if got := <-a.answer; !errors.Is(got.err, context.Canceled) || w.running("h/a") == nil {
			t.Errorf("%v, and it runs: %v", got.err, w.running("h/a") != nil)
		}
		b := w.ask("adm", replication("h/a"))
		w.finish("h/a", nil)
		if got := <-b.answer; got.err != nil || w.begun("h/a") != 1 {
			t.Errorf("who asks again: %v", got.err)
		}
	})
}

func TestContinuousRequests(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start()
		body := replication("h/a", `"continuous":true`)
		first := <-w.ask("ann", body).answer
		if first.err != nil || !first.Running || !strings.HasSuffix(first.ID, "+continuous") {
			t.Fatalf("%v %v", first.Answer, first.err)
		}
		if again := <-w.ask("ann", body).answer; again.err != nil || again.ID != first.ID || w.begun("h/a") != 1 {
			t.Errorf("again: %v %v", again.Answer, again.err)
		}
		if got := w.ask("eve", `{"cancel":true,"replication_id":"`+first.ID+`"}`).failed(); got != "unauthorized: Can't cancel a replication triggered by another user" {
			t.Errorf("somebody else by the id: %s", got)
		}
		if got := w.ask("eve", replication("h/a", `"continuous":true`, `"cancel":true`)).failed(); !strings.HasPrefix(got, "not_found") && !strings.HasPrefix(got, "unauthorized") {
			t.Errorf("somebody else by the body: %s", got)
		}
		if got := <-w.ask("ann", replication("h/a", `"continuous":true`, `"cancel":true`)).answer; got.err != nil || !got.Cancelled || got.ID != first.ID {
			t.Errorf("by the body: %v %v", got.Answer, got.err)
		}
		if got := w.ask("ann", `{"cancel":true,"_local_id":"`+first.ID+`"}`).failed(); got != "not_found: missing" {
			t.Errorf("what runs no longer: %s", got)
		}
		w.ask("ann", body)
		w.running("h/a")
		if got := <-w.ask("adm", `{"cancel":true,"id":"`+first.ID+`"}`).answer; got.err != nil || w.begun("h/a") < 2 {
			t.Errorf("the administrator: %v", got.err)
		}
	})
}

// TestRequestsAndDocuments: what a document does is not for requests to change.
func TestRequestsAndDocuments(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start()
		w.put(rdb, "d", replication("h/a", `"continuous":true`))
		w.running("h/a")
		if got := w.ask("adm", replication("h/a", `"continuous":true`)).failed(); !strings.HasPrefix(got, "conflict: Replication `") {
			t.Errorf("the same by a request: %s", got)
		}
		if got := w.ask("adm", `{"cancel":true,"id":"`+w.jobs()[0].ID+`"}`).failed(); !strings.Contains(got, "delete that to cancel it") {
			t.Errorf("cancelling: %s", got)
		}
	})
}

// TestNewCredentialsTakeOver: the same replication with another password ends the
// first one before it begins.
func TestNewCredentialsTakeOver(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start()
		with := func(password string) string {
			return `{"source":"http://u:` + password + `@h/a","target":"http://h/b"}`
		}
		a := w.ask("ann", with("old"))
		w.running("h/a")
		b := w.ask("ann", with("new"))
		if got := a.failed(); got != "cancelled: The replication was cancelled." {
			t.Errorf("the first one: %s", got)
		}
		if r := w.running("h/a"); r == nil || r.Source.Password != "new" {
			t.Error("the second one does not run")
		}
		if got := w.ask("eve", with("guess")).failed(); !strings.Contains(got, "another user") {
			t.Errorf("somebody else: %s", got)
		}
		w.finish("h/a", nil)
		if got := <-b.answer; got.err != nil {
			t.Error(got.err)
		}
	})
}

func TestBadRequests(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start()
		for body, want := range map[string]string{
			`{}`:                                "bad_request: Missing replicator database",
			`{"source":"http://h/a"}`:           "bad_request: Missing replicator database",
			replication("h/a", `"cancel":"x"`):  "bad_request: parameter `cancel` must be a boolean",
			replication("h/a", `"cancel":true`): "not_found: missing",
		} {
			if got := w.ask("adm", body).failed(); got != want {
				t.Errorf("%s: %s", body, got)
			}
		}
	})
}

// TestStoppingServer: who waits for a replication is told, and jobs end.
func TestStoppingServer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start()
		a := w.ask("adm", replication("h/a"))
		w.running("h/a")
		w.Scheduler.Close()
		if got := <-a.answer; !dberr.Is(got.err, dberr.Unavailable) && !errors.Is(got.err, context.Canceled) {
			t.Errorf("%v", got.err)
		}
		if w.running("h/a") != nil {
			t.Error("it runs on")
		}
		if got := w.ask("adm", replication("h/a")); !dberr.Is((<-got.answer).err, dberr.Unavailable) {
			t.Error("a closed scheduler takes jobs")
		}
	})
}

func TestFailuresAreRemembered(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start()
		a := w.ask("adm", replication("h/a"))
		r := w.running("h/a")
		for i := range maxFailures + 10 {
			r.Failed(replicate.Failure{ID: "doc", Rev: time.Unix(int64(i), 0).String(), Status: 403, Code: "forbidden", Reason: "no", Time: time.Now()})
		}
		r.Failed(replicate.Failure{ID: "last", Rev: "1-x", Reading: true, Status: 500, Code: "e", Reason: "r", Time: time.Now()})
		r.Failed(replicate.Failure{ID: "last", Rev: "1-x", Reading: true, Status: 500, Code: "e", Reason: "again", Time: time.Now()})
		w.finish("h/a", nil)
		got := <-a.answer
		must(t, got.err)
		rows, err := w.Failures(got.ID)
		must(t, err)
		if rows.Total != maxFailures+12 || len(rows.Failures) != maxFailures {
			t.Errorf("%d, of which %d are told", rows.Total, len(rows.Failures))
		}
		if first := rows.Failures[0]; first.ID != "last" || first.Reason != "again" || first.Side != "source" || rows.Failures[1].ID != "doc" {
			t.Errorf("the newest is %v", first)
		}
		if _, err := w.Failures("nosuch"); !dberr.Is(err, dberr.NotFound) {
			t.Error(err)
		}
	})
}

// TestWhoseRights: a document's replication has the rights of its owner, as they
// are now, or as they were told by a token or proxy, and never more.
func TestWhoseRights(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.users["ann"] = &auth.Caller{Name: "ann", Roles: []string{"a", "b"}}
		w.accepts = map[auth.Handler]bool{auth.JWTHandler: true}
		for body, want := range map[string]string{
			`"owner":"ann"`:  "ann [a b]",
			`"owner":"adm"`:  "adm [_admin]",
			`"owner":"gone"`: "gone []", // a token may vouch for such a one
			`"owner":null`:   " []",
			`"x":1`:          " []",
			`"owner":"ann","user_ctx":{"name":"ann","roles":["a","z"]}`:        "ann [a]",
			`"owner":"ann","user_ctx":{"name":"ann"}`:                          "ann [a b]",
			`"owner":"ann","user_ctx":{"name":"adm","roles":["_admin"]}`:       " []",
			`"owner":"gone","user_ctx":{"name":"gone","roles":["_admin","x"]}`: "gone [x]",
			`"owner":"adm","user_ctx":{"name":"jan","roles":["x"]}`:            "jan [x]",
			`"owner":"adm","user_ctx":{"name":"ann"}`:                          "ann [a b]",
			`"owner":"adm","user_ctx":{"roles":["_admin"]}`:                    " [_admin]",
			`"owner":"adm","user_ctx":{}`:                                      " []",

			`"owner":"ann","owner_ctx":{"from":"password","roles":[]}`:                                                "ann [a b]",
			`"owner":"adm","owner_ctx":{"from":"password","roles":["a"]}`:                                             "adm []", // an administrator since then
			`"owner":"adm","owner_ctx":{"from":"password","roles":["_admin"]}`:                                        "adm [_admin]",
			`"owner":"gone","owner_ctx":{"from":"password","roles":["_admin"]}`:                                       " []",
			`"owner":"adm","owner_ctx":{"from":"jwt","roles":["r"]}`:                                                  "adm [r]",
			`"owner":"ann","owner_ctx":{"from":"jwt","roles":["r"]}`:                                                  "ann [r]",
			`"owner":"adm","owner_ctx":{"from":"proxy","roles":["r"]}`:                                                " []", // no proxy is believed here
			`"owner":null,"owner_ctx":{"from":"jwt","roles":["_admin"]}`:                                              " []",
			`"owner":"adm","owner_ctx":{"from":"jwt","roles":["r"]},"user_ctx":{"name":"adm","roles":["r","_admin"]}`: "adm [r]",
			`"owner":"adm","owner_ctx":{"from":"jwt","roles":["r"]},"user_ctx":{"roles":["_admin"]}`:                  " []",
		} {
			rep, err := parseDocument(w, `{"source":"a","target":"b",`+body+`}`)
			must(t, err)
			c := w.callerOf(rep)(context.Background())
			if got := c.Name + " [" + strings.Join(c.Roles, " ") + "]"; got != want {
				t.Errorf("%s runs as %s, want %s", body, got, want)
			}
		}
	})
}

// TestWhoReachesPrivateAddresses dials this machine with each setting.
func TestWhoReachesPrivateAddresses(t *testing.T) {
	for setting, want := range map[string][2]bool{"true": {true, true}, "admins": {true, false}, "false": {false, false}} {
		inBubble(t, func(t *testing.T, w *world) {
			for i, trusted := range []bool{true, false} {
				rep, err := parseDocument(w, replication("127.0.0.1:1/a"))
				must(t, err)
				tr, err := w.transport(&rep.Source, rep, trusted)
				must(t, err)
				if free := tr.DialContext == nil || !forbids(tr.DialContext); free != want[i] {
					t.Errorf("%s, trusted %v: %v", setting, trusted, free)
				}
				tr.CloseIdleConnections()
			}
		}, config.Setting{Section: "replicator", Key: "private_addresses", Value: setting})
	}
}

func parseDocument(w *world, body string) (*spec.Replication, error) {
	return spec.ParseDocument([]byte(body), w.settings.Value().each)
}

// forbids reports whether a dialler refuses this machine's own address.
func forbids(dial func(context.Context, string, string) (net.Conn, error)) bool {
	_, err := dial(context.Background(), "tcp", "127.0.0.1:1")
	return errors.Is(err, errPrivate)
}
