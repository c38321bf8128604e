package web

import (
	"net/netip"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
)

// RateLimits say how many requests a second there may be of one user, and of one address, and how many
// at once after a pause. 0: no limit.
type RateLimits struct {
	PerUser, PerAddress float64
	Burst               float64 // seconds' worth of requests
}

// TooManyRequests is the word of the error for who asks too often.
const TooManyRequests = "too_many_requests"

// rates counts requests in token buckets: one of each user and each address, of which a bucket that is
// full again is forgotten. What is remembered is this process's: each server counts for itself.
type rates struct {
	mu      sync.Mutex
	buckets map[rated]*bucket
	refused uint64
}

// rated is who is counted: a user, or an address.
type rated struct {
	user    string
	address netip.Addr
}

// bucket holds tokens, of which each request takes one.
type bucket struct {
	tokens float64
	at     time.Time
}

// maxRated is how many buckets there are. Beyond it the fullest of some are forgotten, who lose the least by it.
const maxRated = 20_000

// take takes a token, and returns how long to wait for one if there is none.
func (s *rates) take(who rated, perSecond, burst float64, now time.Time) (wait time.Duration) {
	most := max(1, perSecond*burst)
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[who]
	if b == nil {
		if s.buckets == nil {
			s.buckets = map[rated]*bucket{}
		}
		s.makeRoom(now)
		b = &bucket{tokens: most, at: now}
		s.buckets[who] = b
	}
	b.tokens = min(most, b.tokens+max(0, now.Sub(b.at).Seconds())*perSecond)
	b.at = now
	if b.tokens >= 1 {
		b.tokens--
		return 0
	}
	s.refused++
	return max(time.Duration((1-b.tokens)/perSecond*float64(time.Second)), time.Millisecond)
}

// makeRoom forgets one bucket when there are too many: of a few, the one that was used the longest ago. The
// caller holds the lock.
func (s *rates) makeRoom(now time.Time) {
	if len(s.buckets) < maxRated {
		return
	}
	oldest, age, seen := rated{}, time.Duration(-1), 0
	for who, b := range s.buckets { // in no order
		if a := now.Sub(b.at); a > age {
			oldest, age = who, a
		}
		if seen++; seen == 32 {
			break
		}
	}
	delete(s.buckets, oldest)
}

// limitAddress refuses a request whose address asks too often, before anybody finds out who it is. What comes from
// this machine is not counted, nor what another server or the process itself asks.
func (r *Request) limitAddress() error {
	l := &r.frame.options.Settings().Rates
	if l.PerAddress <= 0 || r.Action.Unlimited || auth.CallerOf(r.context) != nil {
		return nil
	}
	address, err := netip.ParseAddr(r.Peer())
	if address = address.Unmap().WithZone(""); err != nil || address.IsLoopback() {
		return nil
	}
	if site, err := address.Prefix(64); err == nil && address.Is6() {
		address = site.Addr() // nobody has but one address there
	}
	return r.limit(rated{address: address}, l.PerAddress, l.Burst)
}

// Known is called when it is known who asks: by the frame after Authenticate, by a Call that finds it out only later,
// then. What the caller may ask for is granted (a trace), what the request holds is the caller's, and a user who asks too often is refused.
func (r *Request) Known() error {
	r.rehold()
	r.grantTrace()
	return r.limitUser()
}

// limitUser refuses a request whose user asks too often. Server administrators are not counted, for they change the
// limits, nor is what another server or the process itself asks in somebody's name. It counts once.
func (r *Request) limitUser() error {
	l := &r.frame.options.Settings().Rates
	if l.PerUser <= 0 || r.counted || r.Action.Unlimited || r.Caller == nil || r.Caller.Name == "" || r.Caller.IsAdmin() ||
		auth.CallerOf(r.HTTP.Context()) != nil {
		return nil
	}
	r.counted = true
	return r.limit(rated{user: r.Caller.Name}, l.PerUser, l.Burst)
}

func (r *Request) limit(who rated, perSecond, burst float64) error {
	wait := r.frame.rates.take(who, perSecond, burst, r.frame.Now())
	if wait == 0 {
		return nil
	}
	return dberr.New(dberr.Unavailable, TooManyRequests, "You have asked too often; wait as long as Retry-After says.").After(wait)
}

// RateLimited returns how many requests were refused because they came too often.
func (s *Shared) RateLimited() uint64 {
	s.rates.mu.Lock()
	defer s.rates.mu.Unlock()
	return s.rates.refused
}
