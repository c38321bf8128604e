package subscribe

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/tracing"
)

func decodeDefinition(raw []byte) (*definition, error) {
	d := new(definition)
	return d, json.Unmarshal(raw, d)
}

// decode decodes what is stored of a subscription.
func (sub *subscription) decode() (d *definition, n note, err error) {
	if d, err = decodeDefinition(sub.definition); err == nil {
		n, err = decodeNote(sub.note)
	}
	return d, n, err
}

// step takes a subscription as it is stored, delivers at most one batch, and says what it
// has to do next; errNone when there is no subscription.
func (s *Service) step(ctx context.Context, scope store.Scope, id string) (n next, err error) {
	var sub subscription
	err = scope.View(ctx, func(r *store.Reader) (err error) {
		sub, err = read(r, id)
		return err
	})
	if err != nil {
		return n, err
	}
	if sub.definition == nil {
		return n, errNone
	}
	d, was, err := sub.decode()
	if err != nil {
		return n, err
	}
	if d.Paused || was.Disabled != "" || s.full(&was, sub.dead) || was.RetryAt > s.o.Now().UnixMilli() {
		return s.editRows(ctx, scope, id, func(*subscription) (edit, error) { return edit{}, nil }) // has its job arranged
	}
	b, err := s.collect(ctx, scope, id, d, &was, sub.at)
	if err != nil {
		return n, err
	}
	b.from, b.attempt = sub.at, was.LastAttempt
	out := outcome{verdict: taken}
	if len(b.rows) > 0 {
		from := s.guarded
		if s.o.AllowPrivate() {
			from = s.open
		}
		if err := jobs.Fence(ctx); err != nil {
			return n, err // another server is at it, and tells the receiver itself
		}
		out = s.send(ctx, from, scope, d, b, id, was.Attempts)
	}
	if err := ctx.Err(); err != nil {
		return n, err // it ended with the server: nobody knows what came of it
	}
	return s.apply(ctx, scope, id, b, out)
}

// send sends a batch, in a span that says how often it was tried before, and what came of it: in words of ours,
// for what the receiver says is nobody's business.
func (s *Service) send(ctx context.Context, from *sender, scope store.Scope, d *definition, b *batch, id string, before int) outcome {
	ctx, span := tracing.Work(ctx, "subscription.deliver")
	span.Text("db.namespace", scope.Database().Name())
	span.Text("sectional.partition", string(scope.Partition()))
	span.Number("sectional.changes", int64(len(b.rows)))
	span.Number("sectional.retries", int64(before))
	out := from.send(ctx, d, b.id(), b.body(scope, id), s.o.Now(), "Sectional/"+s.o.Version)
	span.Text("sectional.outcome", out.verdict.String())
	if out.verdict == failed {
		span.End(errUndelivered)
	} else {
		span.End(nil)
	}
	return out
}

var errUndelivered = errors.New("subscribe: not delivered")

// full reports whether a subscription stands still because its dead letters
// have no room.
func (s *Service) full(n *note, dead uint64) bool {
	return n.Blocked && len(n.Retry) == 0 && s.noRoom(dead)
}

// noRoom reports whether dead letters are as many as there may be.
func (s *Service) noRoom(dead uint64) bool { return dead >= uint64(max(0, s.o.Bounds().Dead)) }

// collect makes the batch that is due: a dead letter that somebody wants sent
// again, or what comes next in the feed.
func (s *Service) collect(ctx context.Context, scope store.Scope, id string, d *definition, n *note, since store.Seq) (*batch, error) {
	b := new(batch)
	if len(n.Retry) == 0 {
		return b, b.read(ctx, scope, d, since)
	}
	number := n.Retry[0]
	l, err := s.letter(ctx, scope, id, number)
	if err == nil {
		err = b.reread(ctx, scope, d, number, l)
	}
	return b, err
}

// apply stores what became of a batch, durably: only then the subscription has moved on. What
// became of one that somebody else has settled meanwhile, or that is of no interest any more
// because a client had the subscription begin anew, is left aside.
func (s *Service) apply(ctx context.Context, scope store.Scope, id string, b *batch, out outcome) (next, error) {
	settled, dead := false, 0 // by the last run of the function
	n, err := s.editRows(ctx, scope, id, func(sub *subscription) (e edit, err error) {
		if settled, dead = false, 0; sub.definition == nil {
			return e, errNone
		}
		d, n, err := sub.decode()
		if err != nil || d.Series != b.series || sub.at != b.from || n.LastAttempt != b.attempt {
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
		if err == nil {
			sub.note, err = n.encode()
		}
		settled, dead = err == nil, len(e.dead)
		return e, err
	})
	if err == nil && settled && len(b.rows) > 0 {
		s.counts.add(out.verdict, len(b.rows), dead)
	}
	return n, err
}

// taken moves a subscription past what was delivered.
func (n *note) taken(sub *subscription, b *batch) (e edit) {
	if b.letter > 0 {
		e.discard = []uint64{b.letter}
		n.Retry = without(n.Retry, b.letter)
	} else {
		sub.at = max(sub.at, b.to)
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
func (s *Service) failed(n *note, sub *subscription, d *definition, b *batch, out outcome) (e edit, err error) {
	n.Failures++
	n.LastError = out.reason
	n.RetryAt = n.LastAttempt + s.delay(n).Milliseconds()
	if b.letter > 0 {
		n.Retry = without(n.Retry, b.letter)
		e.rewrite, err = b.retry(out, n.LastAttempt)
		return e, err
	}
	if n.Attempts++; n.Attempts < d.Attempts {
		return e, nil
	}
	if s.noRoom(sub.dead) {
		n.Blocked, n.Attempts = true, d.Attempts
		return e, nil
	}
	value, err := json.Marshal(letter{Rows: b.rows, Reason: out.reason, Attempts: n.Attempts, First: n.LastAttempt, Last: n.LastAttempt})
	if err != nil {
		return e, err
	}
	e.dead = [][]byte{value}
	sub.at = max(sub.at, b.to)
	n.Attempts, n.RetryAt, n.Blocked = 0, 0, false
	return e, nil
}

// retry returns a dead letter that failed again its new value.
func (b *batch) retry(out outcome, now int64) ([]deadLetter, error) {
	l := b.old
	l.Attempts++
	l.Reason, l.Last = out.reason, now
	value, err := json.Marshal(l)
	return []deadLetter{{b.letter, value}}, err
}
