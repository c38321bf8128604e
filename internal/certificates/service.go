package certificates

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/config"
)

// Options are what a service works with.
type Options struct {
	Settings func() Settings // as Check returns them; may change from call to call
	Rows     Rows
	Now      func() time.Time // the same for all servers of a store
	Log      *slog.Logger
	Pace     Pace
}

// Pace says how long things take. The zero value is for servers.
type Pace struct {
	Look   time.Duration // between two looks at the rows
	Eager  time.Duration // the same while a name has no certificate that is valid
	Budget time.Duration // for getting a certificate, all in all
	Pause  time.Duration // after an attempt that failed; it doubles with each further one
}

const (
	longestPause = time.Hour
	// leaseBeyond is how much longer a server stays at a name than its attempt may take.
	leaseBeyond = 30 * time.Second
	// rowsTime bounds what is asked of the rows.
	rowsTime = 10 * time.Second
	// keptAfterEnd is how long the row of a name stays that no settings here have, after its
	// certificate has ended.
	keptAfterEnd = 30 * 24 * time.Hour
)

func (p Pace) filled() Pace {
	or := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	or(&p.Look, 30*time.Second)
	or(&p.Eager, 2*time.Second)
	or(&p.Budget, 3*time.Minute)
	or(&p.Pause, time.Minute)
	return p
}

// Service gets certificates by ACME and has them ready.
//
// What is true is in the rows. A look at them, every half a minute, shows what other servers got,
// and which names are due: for these one goroutine gets certificates, one name after the other,
// after it has put into the name's row that it is at it. So a server that is killed keeps the
// others from a name for some minutes at most, and it takes no more than a row to agree.
type Service struct {
	o          Options
	holder     string // what this service calls itself in rows
	ctx        context.Context
	cancel     context.CancelFunc
	all        sync.WaitGroup
	poke       chan struct{}
	served     atomic.Pointer[map[string]*tls.Certificate]
	challenges challenges
	busy       atomic.Bool // somebody gets certificates
	hurry      atomic.Bool // pauses after failures don't count at the next look
	failures   atomic.Uint64
	attempts   logOnce // names whose attempts fail
	ends       logOnce // names whose certificate has ended
	reads      logOnce // "" as long as the rows can't be read
	broken     logOnce // names whose row can't be read
}

// logOnce are the names of which something was logged that is still so.
type logOnce struct{ sync.Map }

// first reports whether it was not told of a name.
func (t *logOnce) first(name string) bool {
	_, before := t.LoadOrStore(name, true)
	return !before
}

// over reports whether it was told, which it is no more.
func (t *logOnce) over(name string) bool {
	_, before := t.LoadAndDelete(name)
	return before
}

// New makes a service, which does nothing yet.
func New(o Options) *Service {
	var id [8]byte
	rand.Read(id[:]) // never fails
	o.Pace = o.Pace.filled()
	s := &Service{o: o, holder: hex.EncodeToString(id[:]), poke: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.served.Store(&map[string]*tls.Certificate{})
	s.challenges = challenges{rows: o.Rows, now: o.Now}
	return s
}

// Start begins looking after certificates, those that the rows have first: they are served when
// it returns, if the rows can be read.
func (s *Service) Start() {
	wait := s.look()
	s.all.Go(func() {
		for {
			timer := time.NewTimer(wait)
			select {
			case <-s.ctx.Done():
				timer.Stop()
				return
			case <-s.poke:
				timer.Stop()
			case <-timer.C:
			}
			wait = s.look()
		}
	})
}

// Close ends what is under way, and waits for it.
func (s *Service) Close() {
	s.cancel()
	s.all.Wait()
}

// Refresh looks at settings and rows now, and tries again at once what has failed.
func (s *Service) Refresh() {
	s.hurry.Store(true)
	s.Wake()
}

// Wake looks at settings and rows now.
func (s *Service) Wake() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// look takes over what the rows have, begins what is due, and returns how long to wait for the
// next look.
func (s *Service) look() time.Duration {
	set := s.o.Settings()
	if len(set.Names) == 0 {
		s.served.Store(&map[string]*tls.Certificate{})
		return s.o.Pace.Look
	}
	states, err := s.states()
	if err != nil {
		if s.ctx.Err() == nil && s.reads.first("") {
			s.o.Log.Error("the certificates could not be read; those that are known are served", "err", err)
		}
		return s.o.Pace.Eager
	}
	s.reads.over("")
	s.take(set, states)
	s.begin(set, states)
	for _, name := range set.Names {
		if c := s.Certificate(name); c == nil || s.o.Now().After(c.Leaf.NotAfter) {
			return s.o.Pace.Eager
		}
	}
	return s.o.Pace.Look
}

// states reads what is known of all names. A row that nobody can read keeps its own name from a certificate, and no other.
func (s *Service) states() (map[string]state, error) {
	ctx, cancel := context.WithTimeout(s.ctx, rowsTime)
	defer cancel()
	rows, err := s.o.Rows.ACMERows(ctx, kindCertificate)
	if err != nil {
		return nil, err
	}
	states := map[string]state{}
	for name, row := range rows {
		is, err := readState(row)
		if is.unreadable = err != nil; !is.unreadable {
			s.broken.over(name)
		} else if s.broken.first(name) {
			s.o.Log.Error("the row of a certificate can't be read; its name gets no other", "name", name, "err", err)
		}
		states[name] = is
	}
	return states, nil
}

// take serves the certificates of the settings' names.
func (s *Service) take(set Settings, states map[string]state) {
	before, now := *s.served.Load(), map[string]*tls.Certificate{}
	for _, name := range set.Names {
		if is := before[name]; is != nil {
			now[name] = is
		}
		is, chain := now[name], states[name].chain
		if len(chain) == 0 || is != nil && slices.Equal(is.Certificate[0], chain[0]) {
			continue
		}
		next, err := states[name].load()
		if err != nil {
			s.o.Log.Error("a certificate in the store can't be used", "name", name, "err", err)
			continue
		}
		now[name] = next
		s.o.Log.Info("a certificate by ACME is served", "name", name, "expires", next.Leaf.NotAfter)
	}
	for name, c := range now {
		if !s.o.Now().After(c.Leaf.NotAfter) {
			s.ends.over(name)
		} else if s.ends.first(name) {
			s.o.Log.Error("the certificate has ended and is served until there is another", "name", name, "expired", c.Leaf.NotAfter)
		}
	}
	s.served.Store(&now)
}

// begin has certificates got for the names that are due, unless somebody is at that.
func (s *Service) begin(set Settings, states map[string]state) {
	var due []string
	hurry := s.hurry.Load()
	for _, name := range set.Names {
		if s.due(set, states[name], hurry) {
			due = append(due, name)
		}
	}
	left := s.left(set, states)
	if !s.busy.CompareAndSwap(false, true) {
		return
	}
	if s.hurry.Store(false); len(due)+len(left) == 0 {
		s.busy.Store(false)
		return
	}
	s.all.Go(func() {
		tried := false
		for _, name := range due {
			tried = s.renew(set, name, hurry) || tried
		}
		for _, name := range left {
			s.forget(name)
		}
		if s.busy.Store(false); tried {
			s.Wake() // there is something new; where nothing could be begun, that is for the next look
		}
	})
}

// Certificate returns that of a name, nil if there is none.
func (s *Service) Certificate(name string) *tls.Certificate {
	return (*s.served.Load())[config.Host(name)]
}

// First returns the certificate of the first of the settings' names that has one, for clients that
// name none; nil if there is none.
func (s *Service) First() *tls.Certificate {
	for _, name := range s.o.Settings().Names {
		if c := s.Certificate(name); c != nil {
			return c
		}
	}
	return nil
}

// Numbers are what operators watch.
type Numbers struct {
	Ends     time.Time // of the certificate that ends first; zero: there is none
	Missing  int       // names without a certificate that is valid
	Failures uint64    // attempts of this server that failed, since its start
}

// Numbers returns them.
func (s *Service) Numbers() Numbers {
	n := Numbers{Failures: s.failures.Load()}
	for _, name := range s.o.Settings().Names {
		c := s.Certificate(name)
		if c == nil || s.o.Now().After(c.Leaf.NotAfter) {
			n.Missing++
		}
		if c != nil && (n.Ends.IsZero() || c.Leaf.NotAfter.Before(n.Ends)) {
			n.Ends = c.Leaf.NotAfter
		}
	}
	return n
}
