package web

import (
	"math"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/worktime"
)

// bodyMemory is the memory that the bodies of all requests take at the moment, who holds it, and who waits for it.
//
// A fixed part for each caller would leave most of it unused, and one queue for all would let a caller whose requests never
// end, such as feeds, keep everybody else out. So a caller may hold as much as is left then: half of all when alone, and
// each further one who keeps all that he gets leaves half of the rest to the next.
//
// Who finds too little waits. Requests of one caller get room in the order in which they came; those of another, who may have
// it, pass those that wait for their own caller's others to end.
type bodyMemory struct {
	mu        sync.Mutex
	charged   amount
	anonymous int64 // memory that those hold who are not logged in
	parties   map[party]amount
	waiting   []*bodyWaiter // the oldest first
	waiters   map[party]int
}

// amount is what bodies take: memory, and of that what waits to be written.
type amount struct{ memory, writes int64 }

func (a amount) plus(b amount) amount  { return amount{a.memory + b.memory, a.writes + b.writes} }
func (a amount) minus(b amount) amount { return amount{a.memory - b.memory, a.writes - b.writes} }

// party is who has a share: a user, or the network of somebody who is not logged in.
type party struct {
	user    string
	admin   bool // without a name
	network netip.Prefix
}

// anonymous reports whether that is somebody who is not logged in.
func (p party) anonymous() bool { return p.user == "" && !p.admin }

// The networks that count as one: those that one site commonly has.
const (
	network4 = 24
	network6 = 64
)

// partyOf returns whose share a request takes from.
func (r *Request) partyOf() party {
	if r.Caller != nil && r.Caller.Name != "" {
		return party{user: r.Caller.Name}
	}
	p := party{admin: r.Caller != nil && r.Caller.IsAdmin()}
	address, err := netip.ParseAddr(r.Peer())
	if err != nil {
		return p
	}
	bits := network6
	if address = address.Unmap().WithZone(""); address.Is4() {
		bits = network4
	}
	p.network = netip.PrefixFrom(address, bits).Masked()
	return p
}

// holder is partyOf, but for a request that holds something: whose that is.
func (r *Request) holder() party {
	if r.room == (amount{}) {
		r.party = r.partyOf()
	}
	return r.party
}

// rehold makes what the request holds the caller's, who is known by now.
func (r *Request) rehold() {
	if r.room == (amount{}) {
		return
	}
	if now := r.partyOf(); now != r.party {
		r.frame.budget.move(r.party, now, r.room)
		r.party = now
	}
}

// shareLimits are the bounds of what a request's caller may hold.
type shareLimits struct {
	memory, writes int64
	setting        string // of memory
}

// shares returns the limits at this moment.
func (r *Request) shares() shareLimits {
	s := r.frame.options.Settings()
	l := shareLimits{memory: s.MaxMemory.Bytes, writes: s.MaxWrites, setting: s.MaxMemory.Setting}
	if l.writes <= 0 {
		l.writes = math.MaxInt64
	}
	return l
}

// max returns how much memory a caller may hold who is alone: half of all. Those who are not logged in share that.
func (l shareLimits) max(p party) int64 {
	if p.anonymous() {
		return l.memory / 4
	}
	return l.memory / 2
}

// fits reports whether a caller may hold so much more. The lock is held.
func (b *bodyMemory) fits(p party, n amount, l shareLimits) bool {
	all, own := b.charged.plus(n), b.parties[p].plus(n)
	return own.memory <= l.memory-all.memory && (n.writes == 0 || own.writes <= l.writes-all.writes) &&
		(!p.anonymous() || own.memory <= l.memory/2-b.anonymous-n.memory)
}

// add counts what a caller takes, or gives back. The lock is held.
func (b *bodyMemory) add(p party, n amount) {
	b.charged = b.charged.plus(n)
	if p.anonymous() {
		b.anonymous += n.memory
	}
	if own := b.parties[p].plus(n); own != (amount{}) {
		if b.parties == nil {
			b.parties = map[party]amount{}
		}
		b.parties[p] = own
	} else {
		delete(b.parties, p)
	}
}

// take takes so much for a caller if it is there.
func (b *bodyMemory) take(p party, n amount, l shareLimits) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	ok := b.fits(p, n, l)
	if ok {
		b.add(p, n)
	}
	return ok
}

// give gives so much back, to those who wait.
func (b *bodyMemory) give(p party, n amount) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(p, amount{}.minus(n))
	b.serve()
}

// move makes so much another caller's.
func (b *bodyMemory) move(from, to party, n amount) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(from, amount{}.minus(n))
	b.add(to, n)
	b.serve()
}

// taken returns how much memory is held.
func (b *bodyMemory) taken() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.charged.memory
}

const (
	// bodyWait is how long a request waits for room for its body.
	bodyWait = time.Minute
	// maxWaiting is how many wait at once. A caller has as many places as are left then.
	maxWaiting = 2048
)

// bodyWaiter is a request that waits for room.
type bodyWaiter struct {
	party  party
	amount amount
	limits shareLimits
	given  chan struct{} // closed when it has it
}

// await takes so much for a request that holds nothing, waiting for it. Errors: errBodiesBusy, the context's.
func (b *bodyMemory) await(r *Request, n amount, l shareLimits) error {
	w := &bodyWaiter{party: r.holder(), amount: n, limits: l, given: make(chan struct{})}
	if waits := b.enter(w); !waits {
		return b.outcome(w, errBodiesBusy)
	}
	defer worktime.Pause(r.context)()
	timer := time.NewTimer(bodyWait)
	defer timer.Stop()
	select {
	case <-w.given:
		return nil
	case <-timer.C:
		return b.outcome(w, errBodiesBusy)
	case <-r.frame.Done:
		return b.outcome(w, errBodiesBusy)
	case <-r.context.Done():
		return b.outcome(w, r.context.Err())
	}
}

// enter serves a new waiter, or gives it a place among those that wait, if there is one.
func (b *bodyMemory) enter(w *bodyWaiter) (waits bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiters[w.party] == 0 && b.fits(w.party, w.amount, w.limits) {
		b.grant(w)
		return false
	}
	if b.waiters[w.party] >= maxWaiting-len(b.waiting)-1 {
		return false
	}
	if b.waiters == nil {
		b.waiters = map[party]int{}
	}
	b.waiters[w.party]++
	b.waiting = append(b.waiting, w)
	return true
}

// outcome ends the waiting of w: with err, unless it has what it waited for.
func (b *bodyMemory) outcome(w *bodyWaiter, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-w.given:
		return nil
	default:
	}
	if i := slices.Index(b.waiting, w); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
		b.leave(w.party)
		b.serve() // the next one of the caller may want less
	}
	return err
}

// leave counts one fewer who waits. The lock is held.
func (b *bodyMemory) leave(p party) {
	if b.waiters[p]--; b.waiters[p] == 0 {
		delete(b.waiters, p)
	}
}

// grant gives a waiter what it wants. The lock is held.
func (b *bodyMemory) grant(w *bodyWaiter) {
	b.add(w.party, w.amount)
	close(w.given)
}

// serve gives what is left to those who wait. The lock is held.
func (b *bodyMemory) serve() {
	if len(b.waiting) == 0 {
		return
	}
	behind := map[party]bool{} // of whom an earlier one waits on
	b.waiting = slices.DeleteFunc(b.waiting, func(w *bodyWaiter) bool {
		if behind[w.party] || !b.fits(w.party, w.amount, w.limits) {
			behind[w.party] = true
			return false
		}
		b.leave(w.party)
		b.grant(w)
		return true
	})
}
