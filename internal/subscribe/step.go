package subscribe

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
)

// farBehind is how many sequences without a delivery are worth a commit: they
// are looked at again after a restart.
const farBehind = 10 * pageRows

func decodeDefinition(raw []byte) (*definition, error) {
	d := new(definition)
	return d, json.Unmarshal(raw, d)
}

// loadOne reads a subscription; d is nil when there is none.
func (s *Service) loadOne(ctx context.Context, scope store.Scope, id string) (sub store.Subscription, d *definition, n note, err error) {
	err = scope.View(ctx, func(r *store.Reader) error {
		sub, err = r.Subscription(id)
		return err
	})
	if dberr.Is(err, dberr.NotFound) || err == nil && sub.Definition == nil {
		return sub, nil, n, nil
	}
	if err == nil {
		d, err = decodeDefinition(sub.Definition)
	}
	if err == nil {
		n, err = decodeNote(sub.Note)
	}
	return sub, d, n, err
}

// step takes a subscription as it is stored, delivers at most one batch, and
// says what to do next.
func (s *Service) step(ctx context.Context, r *runner) (next, error) {
	sub, d, n, err := s.loadOne(ctx, r.scope, r.id)
	switch {
	case err != nil:
		return next{}, err
	case d == nil:
		return next{kind: gone}, nil
	case d.Paused || n.Disabled != "" || s.full(&n, sub.Dead):
		return next{kind: rest}, nil
	}
	s.limp(r, n.Failures > 0)
	if wait := n.RetryAt - s.o.Now().UnixMilli(); wait > 0 {
		return next{kind: until, pause: time.Duration(wait) * time.Millisecond}, nil
	}
	if r.series != d.Series {
		r.series, r.seen = d.Series, 0
	}
	b, err := s.gather(ctx, r, d, &n, max(sub.At, r.seen))
	if err != nil {
		return next{}, err
	}
	if len(b.rows) == 0 {
		return s.nothing(ctx, r, sub, b)
	}
	from := s.guarded
	if s.o.AllowPrivate() {
		from = s.open
	}
	out := from.send(ctx, d, b.id(), b.body(r.scope, r.id), s.o.Now(), "Sectional/"+s.o.Version)
	if ctx.Err() != nil {
		return next{kind: rest}, nil // it ended with the server: nobody knows what came of it
	}
	if out.verdict == taken && b.letter == 0 {
		r.seen = b.to
	}
	return s.settled(r, s.settle(ctx, r, b, out))
}

// full reports whether a subscription stands still because its dead letters
// have no room.
func (s *Service) full(n *note, dead uint64) bool {
	return n.Blocked && len(n.Retry) == 0 && s.noRoom(dead)
}

// noRoom reports whether dead letters are as many as there may be.
func (s *Service) noRoom(dead uint64) bool { return dead >= uint64(max(0, s.o.Bounds().Dead)) }

// gather makes the batch that is due: a dead letter that somebody wants sent
// again, or what comes next in the feed.
func (s *Service) gather(ctx context.Context, r *runner, d *definition, n *note, since store.Seq) (*batch, error) {
	b := new(batch)
	if len(n.Retry) == 0 {
		return b, b.read(ctx, r.scope, d, since)
	}
	number := n.Retry[0]
	l, err := s.letter(ctx, r.scope, r.id, number)
	if err == nil {
		err = b.reread(ctx, r.scope, d, number, l)
	}
	return b, err
}

// nothing goes on when there is nothing to deliver: all that a step has looked
// at was kept back by the selector, or nothing is left of a dead letter.
func (s *Service) nothing(ctx context.Context, r *runner, sub store.Subscription, b *batch) (next, error) {
	if b.letter > 0 {
		return s.settled(r, s.settle(ctx, r, b, outcome{verdict: taken}))
	}
	r.seen = b.to
	if b.to > sub.At+farBehind {
		if err := s.settle(ctx, r, b, outcome{verdict: taken}); err != nil {
			return s.settled(r, err)
		}
	}
	if b.more {
		return next{kind: goOn}, nil
	}
	return next{kind: change, seq: b.to}, nil
}

// errMoved says that somebody had the subscription begin anew meanwhile.
var errMoved = errors.New("subscribe: the subscription was changed meanwhile")

// settled says how to go on after settle.
func (s *Service) settled(r *runner, err error) (next, error) {
	switch {
	case err == nil:
		return next{kind: goOn}, nil
	case errors.Is(err, errMoved):
		r.seen = 0
		return next{kind: goOn}, nil
	case dberr.Is(err, dberr.NotFound), dberr.Is(err, dberr.Conflict):
		return next{kind: gone}, nil
	}
	return next{}, err
}

// settle stores what became of a batch, durably: only then the subscription has
// moved on.
func (s *Service) settle(ctx context.Context, r *runner, b *batch, out outcome) error {
	failures := 0
	err := r.scope.EditSubscription(ctx, r.id, func(sub *store.Subscription) (e store.SubscriptionEdit, err error) {
		if sub.Definition == nil {
			return e, errNone
		}
		d, err := decodeDefinition(sub.Definition)
		if err != nil {
			return e, err
		}
		if d.Series != b.series {
			return e, errMoved
		}
		n, err := decodeNote(sub.Note)
		if err != nil {
			return e, err
		}
		if len(b.rows) > 0 {
			n.LastAttempt = s.o.Now().UnixMilli()
		}
		switch out.verdict {
		case taken:
			e = n.taken(sub, b)
		case over:
			n.Disabled, n.LastError = out.reason, out.reason
		case putOff:
			n.Failures++
			n.LastError = out.reason
			if out.after = max(out.after, firstDelay); !out.said {
				out.after = s.delay(&n)
			}
			n.RetryAt = n.LastAttempt + out.after.Milliseconds()
		default:
			e, err = s.failed(&n, sub, d, b, out)
		}
		failures = n.Failures
		if err == nil {
			sub.Note, err = n.encode()
		}
		return e, err
	})
	s.limp(r, failures > 0)
	return err
}

// taken moves a subscription on behind what was delivered.
func (n *note) taken(sub *store.Subscription, b *batch) (e store.SubscriptionEdit) {
	if b.letter > 0 {
		e.Discard = []uint64{b.letter}
		n.Retry = without(n.Retry, b.letter)
	} else {
		sub.At = max(sub.At, b.to)
	}
	if len(b.rows) > 0 {
		n.Attempts, n.Failures, n.RetryAt, n.LastError, n.Blocked = 0, 0, 0, "", false
		n.Delivered += uint64(len(b.rows))
		n.LastSuccess = n.LastAttempt
	}
	return e
}

// failed counts a failed attempt; after the last one the batch goes to the dead
// letters, and the subscription on. What comes next is tried at once, but the
// failures in a row still count: when that fails too, the pause is as long as
// it was.
func (s *Service) failed(n *note, sub *store.Subscription, d *definition, b *batch, out outcome) (e store.SubscriptionEdit, err error) {
	n.Failures++
	n.LastError = out.reason
	n.RetryAt = n.LastAttempt + s.delay(n).Milliseconds()
	if b.letter > 0 {
		n.Retry = without(n.Retry, b.letter)
		e.Rewrite, err = b.again(out, n.LastAttempt)
		return e, err
	}
	if n.Attempts++; n.Attempts < d.Attempts {
		return e, nil
	}
	if s.noRoom(sub.Dead) {
		n.Blocked, n.Attempts = true, d.Attempts
		return e, nil
	}
	value, err := json.Marshal(letter{Rows: b.rows, Reason: out.reason, Attempts: n.Attempts, First: n.LastAttempt, Last: n.LastAttempt})
	if err != nil {
		return e, err
	}
	e.Dead = [][]byte{value}
	sub.At = max(sub.At, b.to)
	n.Attempts, n.RetryAt, n.Blocked = 0, 0, false
	return e, nil
}

// again returns a dead letter that failed again its new value.
func (b *batch) again(out outcome, now int64) ([]store.DeadLetter, error) {
	l := b.old
	l.Attempts++
	l.Reason, l.Last = out.reason, now
	value, err := json.Marshal(l)
	return []store.DeadLetter{{Number: b.letter, Value: value}}, err
}
