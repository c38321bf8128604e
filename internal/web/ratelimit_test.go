package web

import (
	"fmt"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"
)

// TestRates takes tokens at moments that the test names.
func TestRates(t *testing.T) {
	var s rates
	start := time.Now()
	jan, ann := rated{user: "jan"}, rated{user: "ann"}
	for i, c := range []struct {
		who  rated
		at   time.Duration
		wait time.Duration
	}{
		{jan, 0, 0}, {jan, 0, 0}, {jan, 0, 0}, {jan, 0, 0}, // two a second, for two seconds
		{jan, 0, 500 * time.Millisecond},
		{ann, 0, 0},
		{jan, 250 * time.Millisecond, 250 * time.Millisecond},
		{jan, 500 * time.Millisecond, 0},
		{jan, 500 * time.Millisecond, 500 * time.Millisecond},
		{jan, 0, 500 * time.Millisecond},                                                                                             // the clock went back
		{jan, time.Hour, 0}, {jan, time.Hour, 0}, {jan, time.Hour, 0}, {jan, time.Hour, 0}, {jan, time.Hour, 500 * time.Millisecond}, // no more than the burst
	} {
		if wait := s.take(c.who, 2, 2, start.Add(c.at)); wait != c.wait {
			t.Errorf("%d: waits %s, want %s", i, wait, c.wait)
		}
	}
	if s.refused != 5 {
		t.Errorf("%d refused", s.refused)
	}
}

// TestRatesAreBounded has more users ask than are counted at once: who asks all the time stays counted.
func TestRatesAreBounded(t *testing.T) {
	var s rates
	now, busy := time.Now(), rated{user: "busy"}
	for i := range maxRated + 5000 {
		now = now.Add(time.Microsecond)
		s.take(rated{address: netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})}, 1, 1, now)
		s.take(busy, 1, 1, now)
	}
	if len(s.buckets) != maxRated || s.buckets[busy] == nil {
		t.Errorf("%d buckets, %v", len(s.buckets), s.buckets[busy])
	}
}

// TestLimits asks as users and from addresses.
func TestLimits(t *testing.T) {
	now := time.Now()
	s := NewShared(nil, func() time.Time { return now }, nil)
	a := newSmall(s, func(r *Request) error { return r.Bytes(200, JSON, []byte("{}")) })
	free := a.actions["Do"]
	free.Unlimited = true
	a.actions["Free"] = free
	ask := func(action, key, peer string, want int) {
		t.Helper()
		w := a.from(peer, action, key)
		if w.Code != want {
			t.Errorf("%s as %q from %s: %d, want %d", action, key, peer, w.Code, want)
		}
		if wait := w.Header().Get("Retry-After"); w.Code == 503 && wait != "1" {
			t.Errorf("Retry-After is %q", wait)
		}
	}
	a.settings.Rates = RateLimits{PerUser: 1, Burst: 2}
	for range 2 {
		ask("Do", "jan", "10.0.0.1:1", 200)
	}
	ask("Do", "jan", "10.0.0.2:1", 503)
	ask("Free", "jan", "10.0.0.2:1", 200)
	ask("Do", "ann", "10.0.0.1:1", 200)
	ask("Do", "", "10.0.0.1:1", 200)
	now = now.Add(time.Second)
	ask("Do", "jan", "10.0.0.1:1", 200)
	a.settings.Rates = RateLimits{PerAddress: 1, Burst: 1}
	for i := range 3 {
		ask("Do", fmt.Sprint("user", i), "127.0.0.1:1", 200)
		ask("Do", fmt.Sprint("user", i), "[::1]:1", 200)
	}
	ask("Do", "wrong", "[2001:db8::1]:1", 401)
	begun := a.begun
	ask("Do", "wrong", "[2001:db8::2]:1", 503) // of one site
	ask("Free", "jan", "[2001:db8::2]:1", 200)
	ask("Do", "jan", "[2001:db8:1::2]:1", 200)
	if a.begun != begun+2 {
		t.Error("it was found out who asks before the address was looked at")
	}
	if s.RateLimited() != 2 {
		t.Errorf("%d refused", s.RateLimited())
	}
}

// from sends a request from an address.
func (a *small) from(peer, action, key string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/", nil)
	r.RemoteAddr = peer
	r.Header.Set("X-Action", action)
	r.Header.Set("X-Key", key)
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}
