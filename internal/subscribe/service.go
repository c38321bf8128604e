package subscribe

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"io"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/outgoing"
	"github.com/sectional/sectional/internal/store"
)

// Options join the service to the rest of the server; Store must be given.
type Options struct {
	Store *store.Store
	// AllowPrivate reports whether private addresses are allowed, asked at each
	// request; nil: never.
	AllowPrivate func() bool
	// Bounds returns the bounds of subscriptions, asked when they are needed;
	// nil: those of DefaultBounds.
	Bounds  func() Bounds
	Logger  *slog.Logger // nil: no log
	Version string       // of the server, for User-Agent

	// Tests pass their own.
	Now    func() time.Time // nil: time.Now
	Rand   io.Reader        // nil: crypto/rand
	Lookup func(ctx context.Context, host string) (netip.Addr, error)
	Public func(netip.Addr) bool // nil: whether an address is anybody's

	// Idle starts nothing by itself: what is stored is left alone.
	Idle bool
}

// Bounds bound what subscriptions take.
type Bounds struct {
	Workers int // requests under way at once
	Scope   int // subscriptions of a database, and of each partition
	Dead    int // dead letters of a subscription
}

// DefaultBounds are the bounds where nothing is configured.
func DefaultBounds() Bounds { return Bounds{Workers: 64, Scope: 100, Dead: 1000} }

func (o Options) withDefaults() Options {
	if o.AllowPrivate == nil {
		o.AllowPrivate = func() bool { return false }
	}
	if o.Bounds == nil {
		o.Bounds = DefaultBounds
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Public == nil {
		o.Public = outgoing.Public
	}
	return o
}

// Service keeps subscriptions and delivers to them.
type Service struct {
	o       Options
	guarded *sender // for public addresses only
	open    *sender // for all
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
	queues  []*jobs.Queue
	counts  counts
}

// New makes a service and, unless it is to be idle, goes on with what is to be
// delivered, in the background. The store must have Rows among its followers.
func New(o Options) *Service {
	o = o.withDefaults()
	s := &Service{o: o, guarded: newSender(o.Public, o.Lookup), open: newSender(func(netip.Addr) bool { return true }, o.Lookup)}
	s.ctx, s.stop = context.WithCancel(context.Background())
	if !o.Idle {
		s.makeQueues()
		s.running.Go(s.work)
	}
	return s
}

// Close stops deliveries and waits for them. What was under way is sent again
// when a service is made over the store next.
func (s *Service) Close() {
	s.stop()
	s.running.Wait()
	s.guarded.client.CloseIdleConnections()
	s.open.client.CloseIdleConnections()
}

var (
	errNone = dberr.New(dberr.NotFound, "not_found", "missing")
	errID   = dberr.New(dberr.Invalid, "bad_request", "The id of a subscription is made of up to 128 letters, digits, '-', '_' and '.', and begins with a letter or a digit.")
)

// checkID checks the id of a subscription.
func checkID(id string) error {
	if id == "" || len(id) > 128 {
		return errID
	}
	for i, c := range []byte(id) {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !plain && (i == 0 || c != '-' && c != '_' && c != '.') {
			return errID
		}
	}
	return nil
}

// Create makes a subscription of a scope with an id of its own. See Put.
func (s *Service) Create(ctx context.Context, scope store.Scope, raw []byte) (id string, err error) {
	id = s.random(12)
	_, err = s.Put(ctx, scope, id, raw)
	return id, err
}

// Put makes a subscription of a scope, or changes it: raw is the whole of it,
// but secrets that it leaves out stay. It begins anew where raw says since, and
// goes on where it stood otherwise. Errors: Invalid for what can't be one,
// Forbidden when there are too many, Conflict while the partition is dropped.
func (s *Service) Put(ctx context.Context, scope store.Scope, id string, raw []byte) (created bool, err error) {
	if err := checkID(id); err != nil {
		return false, err
	}
	w, err := parse(raw)
	if err != nil {
		return false, err
	}
	if !s.o.AllowPrivate() {
		if err := refusePrivate(w.URL); err != nil {
			return false, err
		}
	}
	begin, err := s.begin(ctx, scope, w)
	if err != nil {
		return false, err
	}
	series := s.random(9)
	_, err = s.editRows(ctx, scope, id, func(sub *subscription) (e edit, err error) {
		if created = sub.definition == nil; created || w.since != "" {
			sub.at = begin
		}
		var old *definition
		if !created {
			if old, err = decodeDefinition(sub.definition); err != nil {
				return e, err
			}
		}
		if sub.definition, err = w.over(old, series); err != nil {
			return e, err
		}
		return e, renewed(sub)
	})
	return created, err
}

// renewed forgets the failures of a subscription.
func renewed(sub *subscription) error {
	n, err := decodeNote(sub.note)
	if err != nil {
		return err
	}
	n.renew()
	sub.note, err = n.encode()
	return err
}

// begin returns the place where a new subscription begins.
func (s *Service) begin(ctx context.Context, scope store.Scope, w *wanted) (q store.Seq, err error) {
	if w.since != "" && w.since != "now" {
		var ok bool
		if q, ok = scope.OwnSeq(w.since); !ok {
			return 0, bad("`since` is not a sequence of this database.")
		}
	}
	err = scope.View(ctx, func(r *store.Reader) error {
		last, err := r.LastSeq()
		if err != nil {
			return err
		}
		if w.since == "" || w.since == "now" || q > last {
			q = last
		}
		return nil
	})
	return q, err
}

// Delete removes a subscription of a scope and its dead letters; NotFound.
func (s *Service) Delete(ctx context.Context, scope store.Scope, id string) error {
	_, err := s.editRows(ctx, scope, id, func(sub *subscription) (edit, error) {
		if sub.definition == nil {
			return edit{}, errNone
		}
		return edit{remove: true}, nil
	})
	return err
}

// random returns n random bytes in hexadecimal digits.
func (s *Service) random(n int) string {
	b := make([]byte, n)
	s.read(b)
	return hex.EncodeToString(b)
}

// delay is how long to wait after the failures in a row that n counts.
func (s *Service) delay(n *note) time.Duration {
	var b [8]byte
	s.read(b[:])
	random := float64(binary.LittleEndian.Uint64(b[:])>>11) / (1 << 53)
	return outgoing.Backoff(n.Failures, firstDelay, longestDelay, random)
}

func (s *Service) read(b []byte) {
	if _, err := io.ReadFull(s.o.Rand, b); err != nil {
		panic(err) // crypto/rand never fails
	}
}
