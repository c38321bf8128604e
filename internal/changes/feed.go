package changes

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// Mode says when a feed ends.
type Mode uint8

const (
	Once    Mode = iota // at the end of what is there ("normal")
	First               // at the end of what is there, but not without a row ("longpoll")
	Endless             // never by itself ("continuous", "eventsource")
)

// Feed is what a reader asked for. The zero value is every change of the
// scope, oldest first, without a row limit of its own: set Limit.
type Feed struct {
	Mode       Mode
	Since      store.Seq
	Descending bool // newest first; Since is not heeded then
	Limit      int  // rows at most; below 0 there is no limit
	Leaves     bool // show and test all leaves of a document, not the winner alone

	IDs    []document.ID // if not nil, these documents only
	Design bool          // design documents only
	Filter Filter        // nil lets everything pass
	Judge  Judge         // a filter that decides about many changes at once; nil for none
	// Ahead is for feeds whose Filter, Judge or Sink look at the winners: how much of
	// them one page takes. They are read together then. Zero for other feeds.
	Ahead store.Ahead

	// Opened, if not nil, is told the numbers of the scope at the first page of a pass, before its rows.
	Opened func(store.Totals)

	// Heartbeat is the longest silence; 0 for no heartbeats. Without them, a
	// feed that has had no row for Timeout ends.
	Heartbeat time.Duration
	Timeout   time.Duration
	Done      <-chan struct{} // closed when feeds are to end; may be nil
	// Until is when a feed ends that waits, whatever comes; zero for never.
	Until time.Time
	// WatchGrant returns a channel that is closed when the reader may have lost the right to
	// the feed since the call, and its release; nil where that can't be. The feed then
	// sends what there is, so that the Sink asks.
	WatchGrant func() (<-chan struct{}, func())
}

// ErrOver is what a Sink's Send or Heartbeat returns to end the feed: what was taken
// since the last Send has not gone out, and the feed's end is where it was before.
var ErrOver = errors.New("changes: the reader may not go on")

// Filter returns those of the leaves revs of a change that pass; the row is left
// out if none does. It must not keep c or revs.
type Filter func(r Reader, c *store.Change, revs []document.Rev) ([]document.Rev, error)

// Row is a change that a feed shows. It is valid during the call only.
type Row struct {
	Seq     store.Seq
	ID      document.ID
	Deleted bool
	Winner  document.Rev
	Revs    []document.Rev // the leaves shown, in the order of winning
}

// Sink takes what a feed gives.
type Sink interface {
	// Row takes a row, inside a snapshot: it must not wait for a client.
	// full says that the rows taken should be sent before the next one.
	Row(r Reader, row *Row) (full bool, err error)
	// Send is called outside of a snapshot after each page of rows.
	Send() error
	// Wait is called before the feed waits: everything must go out, and
	// memory may be given back.
	Wait() error
	// Heartbeat tells the client that the feed lives, at once.
	Heartbeat() error
}

// Source is what a feed reads: a scope.
type Source interface {
	View(ctx context.Context, fn func(Reader) error) error
	Watch(q store.Seq) (<-chan struct{}, func())
}

// Reader is the part of a store.Reader that feeds, filters and sinks use.
type Reader interface {
	Changes(since store.Seq, descending bool) iter.Seq2[*store.Change, error]
	ChangesBefore(since, before store.Seq) iter.Seq2[*store.Change, error]
	Pending(q store.Seq) (uint64, error)
	Totals() (store.Totals, error)
	BeginChanges(since store.Seq, want int) (end func(), err error)
	Docs(sp store.Span, bodies bool) iter.Seq2[store.Entry, error]
	Doc(id document.ID) (*store.Doc, error)
	Load(d *store.Doc) error
	WithWinners(walk iter.Seq2[*store.Change, error], a store.Ahead) iter.Seq2[*store.Change, error]
	Fetch(asks []store.Ask) error
	Changed(id document.ID, rev document.Rev, deleted bool) (*store.Revision, error)
	Revision(d *store.Doc, rev document.Rev) (*store.Revision, error)
}

// Of makes a scope a source.
func Of(s store.Scope) Source { return scope{s} }

type scope struct{ store.Scope }

func (s scope) View(ctx context.Context, fn func(Reader) error) error {
	return s.Scope.View(ctx, func(r *store.Reader) error { return fn(r) })
}

// End says where and how a feed ended.
type End struct {
	Seq     store.Seq // to go on from
	Pending uint64    // changes after it
	Limited bool      // by the limit
}

// Run returns the feed's rows to sink until it ends. A feed that was under way
// ends without an error when Done is closed, ctx is done while it waits, or the
// database is dropped.
func (f Feed) Run(ctx context.Context, src Source, sink Sink) (End, error) {
	// Not a literal: that would be built on the stack first, and the stack of a
	// feed that waits stays as large as it was at its largest (decision 0019).
	u := new(stream)
	u.Feed, u.src, u.sink, u.at, u.left, u.upper = f, src, sink, f.Since, f.Limit, noUpper
	u.sentTo = f.Since
	u.descending, u.lookup = f.Descending, f.Design || f.IDs != nil && len(f.IDs) <= maxLookups
	u.sent = time.Now()
	u.shown = u.sent
	for {
		if err := u.read(ctx); err != nil {
			switch {
			case errors.Is(err, ErrOver):
				return End{Seq: u.sentTo}, nil
			case u.begun && u.Mode != Once && dberr.Is(err, dberr.NotFound):
				return u.end, nil
			}
			return End{}, err
		}
		if u.over() {
			return u.end, nil
		}
		u.end.Seq = u.at
		more, err := u.wait(ctx)
		if errors.Is(err, ErrOver) {
			err = nil
		}
		if err != nil || !more {
			return u.end, err
		}
	}
}

// over reports whether the feed has given what was asked for.
func (u *stream) over() bool {
	return u.Mode == Once || u.left == 0 || u.Mode == First && u.rows > 0 || u.stopped()
}

// stopped reports whether feeds are to end.
func (u *stream) stopped() bool {
	select {
	case <-u.Done:
		return true
	default:
		return false
	}
}
