package subscribe

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// vfsCrash keeps what was synced alone.
var vfsCrash = vfs.CrashCloneCfg{}

func partition(i int) document.Partition      { return document.Partition("p" + strconv.Itoa(i)) }
func partitionOf(s string) document.Partition { return document.Partition(s) }
func withSecret(rest string) string           { return `{"secret":"` + secret + `",` + rest }
func allowed(yes bool) (o Options)            { o.AllowPrivate = func() bool { return yes }; return o }
func named(addrs ...string) func(int64) netip.Addr {
	return func(n int64) netip.Addr { return netip.MustParseAddr(addrs[min(int(n), len(addrs)-1)]) }
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, allowed(false))
	d := w.database("db", true)
	other := w.database("other", true)
	foreign := other.Whole().FormatSeq(1)
	const ok = `"url":"https://example.com/hook"`
	for _, row := range [][2]string{
		{`{`, "invalid UTF-8 JSON"},
		{`[]`, "must be a JSON object"},
		{`{` + ok + `}`, "needs a `secret`"},
		{withSecret(`"paused":false}`), "needs a `url`"},
		{withSecret(ok + `,"uri":"x"}`), "no member `uri`"},
		{withSecret(ok + `,"url":"https://a"}`), ""},
		{withSecret(`"url":5}`), "`url` must be a string"},
		{withSecret(`"url":"ftp://example.com"}`), "begins with http"},
		{withSecret(`"url":"https:///path"}`), "begins with http"},
		{withSecret(`"url":"/path"}`), "begins with http"},
		{withSecret(`"url":"https://u:p@example.com"}`), "can't hold credentials"},
		{withSecret(`"url":"https://example.com/#a"}`), "fragment"},
		{withSecret(`"url":"http://127.0.0.1:5984/x"}`), "private address"},
		{withSecret(`"url":"http://[::1]/"}`), "private address"},
		{withSecret(`"url":"http://LOCALHOST./"}`), "private address"},
		{withSecret(`"url":"http://[::ffff:10.0.0.1]/"}`), "private address"},
		{`{"secret":"short",` + ok + `}`, "at least 16 bytes"},
		{`{"secret":"whsec_not base64",` + ok + `}`, "at least 16 bytes"},
		{`{"secret":"whsec_MTIz",` + ok + `}`, "at least 16 bytes"},
		{`{"secret":[],` + ok + `}`, "up to 2"},
		{withSecret(ok + `,"headers":[]}`), "object of strings"},
		{withSecret(ok + `,"headers":{"Host":"x"}}`), "can't be sent"},
		{withSecret(ok + `,"headers":{"webhook-ID":"x"}}`), "can't be sent"},
		{withSecret(ok + `,"headers":{"X A":"x"}}`), "can't be sent"},
		{withSecret(ok + `,"headers":{"X-A":"x\r\ny: z"}}`), "can't be sent"},
		{withSecret(ok + `,"headers":{"X-A":1}}`), "can't be sent"},
		{withSecret(ok + `,"headers":{"X-A":"*****"}}`), "has no value yet"},
		{withSecret(ok + `,"selector":{"$x":1}}`), "Invalid operator"},
		{withSecret(ok + `,"selector":1}`), "must be a JSON object"},
		{withSecret(ok + `,"since":"x"}`), "not a sequence of this database"},
		{withSecret(ok + `,"since":"` + foreign + `"}`), "not a sequence of this database"},
		{withSecret(ok + `,"since":1}`), "`since` must be"},
		{withSecret(ok + `,"batch":{"rows":0}}`), "`rows` must be"},
		{withSecret(ok + `,"batch":{"lines":1}}`), "`batch` must be"},
		{withSecret(ok + `,"attempts":101}`), "`attempts` must be"},
		{withSecret(ok + `,"timeout":1.5}`), "`timeout` must be"},
		{withSecret(ok + `,"include_docs":"true"}`), "`include_docs` must be"},
		{withSecret(ok + `,"paused":null}`), "`paused` must be"},
		{withSecret(ok + `,"headers":{"X":"` + strings.Repeat("x", maxDefinition) + `"}}`), "more than"},
	} {
		_, err := w.Put(ctx, d.Whole(), "s", []byte(row[0]))
		if err == nil || !strings.Contains(err.Error(), row[1]) || dberr.KindOf(err) == dberr.Internal {
			t.Errorf("%.80s: %v, want %q", row[0], err, row[1])
		}
	}
	for _, id := range []string{"", "_x", "a/b", "a b", strings.Repeat("x", 129), ".a"} {
		if _, err := w.Put(ctx, d.Whole(), id, []byte(withSecret(ok+`}`))); !dberr.Is(err, dberr.Invalid) {
			t.Errorf("the id %q: %v", id, err)
		}
	}
	if list, err := w.List(ctx, d.Whole()); err != nil || string(list) != "{\"subscriptions\":[\n]}" {
		t.Errorf("something was stored: %s, %v", list, err)
	}
}

func TestTooMany(t *testing.T) {
	o := allowed(true)
	o.Bounds = func() Bounds { return Bounds{Workers: 1, Scope: 2, Dead: 1} }
	w := newWorld(t, o)
	d := w.database("db", true)
	for _, row := range []struct {
		id string
		ok bool
	}{{"a", true}, {"b", true}, {"c", false}, {"a", true}} {
		if _, err := w.Put(ctx, d.Whole(), row.id, []byte(withSecret(`"url":"http://127.0.0.1:9"}`))); (err == nil) != row.ok {
			t.Errorf("%s: %v", row.id, err)
		}
	}
	_, err := w.Put(ctx, d.Within("p"), "c", []byte(withSecret(`"url":"http://127.0.0.1:9"}`)))
	must(t, err)
	must(t, w.Delete(ctx, d.Whole(), "a"))
	if err := w.Delete(ctx, d.Whole(), "a"); !dberr.Is(err, dberr.NotFound) {
		t.Errorf("twice: %v", err)
	}
	id, err := w.Create(ctx, d.Whole(), []byte(withSecret(`"url":"http://127.0.0.1:9"}`)))
	must(t, err)
	must(t, w.Delete(ctx, d.Whole(), id))
	for range 200 { // none may begin with what an id can't begin with
		id, err := w.Create(ctx, d.Whole(), []byte(withSecret(`"url":"http://127.0.0.1:9","paused":true}`)))
		must(t, err)
		must(t, w.Delete(ctx, d.Whole(), id))
	}
}

// TestNoRoomForDeadLetters has a bound that leaves no room, however it is
// written: the first message that would die stops the subscription.
func TestNoRoomForDeadLetters(t *testing.T) {
	for _, most := range []int{0, -1} {
		o := allowed(true)
		o.Bounds = func() Bounds { return Bounds{Workers: 1, Scope: 1, Dead: most} }
		w := newWorld(t, o)
		d := w.database("db", false)
		r := newReceiver(t)
		r.says(500)
		w.subscribe(d.Whole(), "s", r, `,"attempts":1`)
		w.put(d, "a", `{}`)
		w.quiet()
		w.clock.advance(time.Hour)
		w.quiet()
		if v := w.state(d.Whole(), "s").State; v.Status != "blocked" || v.Dead != 0 || v.Pending != 1 {
			t.Errorf("max_dead %d: %+v", most, v)
		}
	}
}

// TestPrivateAddresses has a name resolve to one address when the subscription
// is made and the first message goes out, and to a private one later. Here
// 127.0.0.1 stands for a public address.
func TestPrivateAddresses(t *testing.T) {
	var asked atomic.Int64
	addresses := named("127.0.0.1", "127.0.0.2")
	o := allowed(false)
	o.Lookup = func(context.Context, string) (netip.Addr, error) { return addresses(asked.Add(1) - 1), nil }
	o.Public = func(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.1") }
	w := newWorld(t, o)
	d := w.database("db", false)
	r := newReceiver(t)
	r.answers(func(_ *message, w http.ResponseWriter) { w.Header().Set("Connection", "close") })
	_, port, _ := strings.Cut(strings.TrimPrefix(r.URL, "http://"), ":")
	_, err := w.Put(ctx, d.Whole(), "s", []byte(withSecret(`"url":"http://hooks.example.com:`+port+`/"}`)))
	must(t, err)
	w.put(d, "a", `{}`)
	w.tells(r, "a")
	w.put(d, "b", `{}`)
	w.tells(r, "a")
	v := w.state(d.Whole(), "s").State
	if v.LastError == nil || !strings.Contains(*v.LastError, "private") || asked.Load() != 2 {
		t.Errorf("%+v after %d lookups", v, asked.Load())
	}
	// The address counts, however it is reached.
	_, err = w.Put(ctx, d.Whole(), "s", []byte(`{"url":"http://127.0.0.2.nip.example:`+port+`/"}`))
	must(t, err)
	w.tells(r, "a")
}

// TestRedirects answers with redirections: they are failures, and nobody goes
// where they lead.
func TestRedirects(t *testing.T) {
	w := newWorld(t, allowed(true))
	d := w.database("db", false)
	r, inner := newReceiver(t), newReceiver(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		r.answers(func(_ *message, w http.ResponseWriter) {
			w.Header().Set("Location", inner.URL)
			w.WriteHeader(status)
		})
		w.subscribe(d.Whole(), fmt.Sprint("s", status), r, "")
	}
	w.put(d, "a", `{}`)
	w.quiet()
	if len(r.got()) != 5 || len(inner.got()) != 0 {
		t.Errorf("%d messages, %d followed", len(r.got()), len(inner.got()))
	}
}

// TestSecretsAreNotShown looks for what must not be seen in everything that can
// be, while deliveries work and fail.
func TestSecretsAreNotShown(t *testing.T) {
	w := newWorld(t, allowed(true))
	d := w.database("db", false)
	r := newReceiver(t)
	r.answers(func(_ *message, w http.ResponseWriter) {
		w.WriteHeader(500)
		fmt.Fprint(w, "what the receiver says is hidden too")
	})
	w.subscribe(d.Whole(), "s", r, `,"headers":{"Authorization":"Bearer hidden","X-B":"hidden"},"attempts":1`)
	w.put(d, "a", `{}`)
	w.quiet()
	look := func() {
		t.Helper()
		one, err := w.Get(ctx, d.Whole(), "s")
		must(t, err)
		list, err := w.List(ctx, d.Whole())
		must(t, err)
		dead, err := w.Dead(ctx, d.Whole(), "s", 0, 10)
		must(t, err)
		all := string(one) + string(list) + string(dead) + w.log.String()
		for _, word := range []string{"whsec", secret[6:], "hidden", "0123456789"} {
			if strings.Contains(all, word) {
				t.Errorf("%q is shown: %s", word, all)
			}
		}
		if !strings.Contains(string(one), `"headers":{"Authorization":"*****","X-B":"*****"}`) {
			t.Errorf("got %s", one)
		}
	}
	look()
	// What is masked can be sent back.
	_, err := w.Put(ctx, d.Whole(), "s", []byte(`{"url":"`+r.URL+`","headers":{"Authorization":"*****"}}`))
	must(t, err)
	r.says(200)
	w.put(d, "b", `{}`)
	w.quiet()
	w.clock.advance(time.Hour)
	w.quiet()
	got := r.got()
	if m := got[len(got)-1]; m.header.Get("Authorization") != "Bearer hidden" || m.header.Get("X-B") != "" || m.header.Get("webhook-signature") == "" {
		t.Errorf("headers %v", m.header)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		status int
		after  string
		want   verdict
		d      time.Duration
	}{
		{200, "", taken, 0}, {204, "5", taken, 0}, {301, "", failed, 0}, {400, "5", failed, 0}, {410, "", over, 0},
		{429, "", putOff, 0}, {429, "7", putOff, 7 * time.Second}, {503, "", failed, 0}, {503, "7", putOff, 7 * time.Second},
		{503, "Sat, 21 Nov 2026 12:01:00 GMT", putOff, time.Minute}, {503, "Sat, 21 Nov 2026 11:00:00 GMT", putOff, 0},
		{429, "99999999", putOff, longestPause}, {429, "-1", putOff, 0}, {503, "soon", failed, 0},
	} {
		if got := judge(row.status, row.after, now); got.verdict != row.want || got.after != row.d {
			t.Errorf("%d %q: %+v", row.status, row.after, got)
		}
	}
}
