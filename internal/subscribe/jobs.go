package subscribe

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// The jobs of subscriptions; the words are in stored rows. A subscription has one exactly
// as long as it has something to deliver: whoever edits it arranges that in the same commit.
// Those whose last attempt failed are another kind, in a pool of their own: receivers
// that hang for as long as they may must not hold up the others. A commit that changes
// documents knows nothing of all that: it makes sure of one job for its database, which finds
// the subscriptions that are concerned.
const (
	poolFind   = "subscriptions"
	poolSend   = "deliver"
	poolResend = "redeliver"
	jobFind    = poolFind + "/find"
	jobSend    = poolSend + "/subscription"
	jobResend  = poolResend + "/subscription"

	findWorkers = 8
	turnSteps   = 20                         // deliveries of a subscription, before others have their turn
	maxLooked   = 10_000                     // changes in which it is looked who is concerned; for more it is all
	findPage    = 100                        // subscriptions that one commit arranges
	resting     = 100 * 365 * 24 * time.Hour // until there is a change
)

// Follows is store.Follower's.
func (Rows) Follows(v kv.Snapshot, d *store.Database) (store.Following, error) {
	any, err := subscribed(v, d)
	if !any || err != nil {
		return store.Following{}, err
	}
	return store.Following{Kind: jobFind}, nil
}

// Kinds is store.Follower's.
func (Rows) Kinds() []string { return []string{jobFind, jobSend, jobResend} }

// makeQueues makes the queues of the pools.
func (s *Service) makeQueues() {
	workers := func(part func(all int) int) func() int {
		return func() int { return part(max(2, s.o.Bounds().Workers)) }
	}
	s.queues = []*jobs.Queue{
		s.o.Store.Queue(poolFind, func() int { return findWorkers }, s.find),
		s.o.Store.Queue(poolSend, workers(func(all int) int { return all - all/2 }), s.deliver),
		s.o.Store.Queue(poolResend, workers(func(all int) int { return all / 2 }), s.deliver),
	}
}

// work does what is due until the service is closed.
func (s *Service) work() {
	for _, q := range s.queues {
		s.running.Go(func() { q.Work(s.ctx) })
	}
}

// next is what a subscription has to do next: a job that is due at a time; no kind for
// nothing, until documents change or somebody edits it.
type next struct {
	kind string
	due  time.Time
}

// editRows runs fn with a subscription as it is, stores what it makes of it, does what it
// says, and arranges what comes next. fn may run several times; its error leaves
// everything as it was. Conflict when the partition is being dropped.
func (s *Service) editRows(ctx context.Context, scope store.Scope, id string, fn func(sub *subscription) (edit, error)) (n next, err error) {
	n, err = s.editKnowing(ctx, scope, id, nil, fn)
	if errors.Is(err, errLetters) {
		var known *knownLetters
		if known, err = s.knownLetters(ctx, scope, id); err == nil {
			n, err = s.editKnowing(ctx, scope, id, cmp.Or(known, &knownLetters{}), fn)
		}
	}
	return n, err
}

// errLetters says that the dead letters have to be looked up, beforehand.
var errLetters = errors.New("subscribe: the dead letters are not known")

// editKnowing is editRows where the dead letters are known, or nil.
func (s *Service) editKnowing(ctx context.Context, scope store.Scope, id string, known *knownLetters, fn func(sub *subscription) (edit, error)) (n next, err error) {
	err = scope.UpdateLane(ctx, 4<<10, func(m store.LaneTxn) (refused, err error) {
		sub, err := readSubscription(scope, id, m.Tx().GetForUpdate)
		if err != nil {
			return nil, err
		}
		before := sub
		e, refused := fn(&sub)
		if refused != nil {
			return refused, nil
		}
		if e.known = known; e.remove && known == nil {
			return errLetters, nil
		}
		if before.definition == nil && sub.definition != nil {
			if refused, err := s.tooMany(m.Tx(), scope); refused != nil || err != nil {
				return refused, err
			}
		}
		changes := (before.definition == nil) != (sub.definition == nil || e.remove)
		any := true
		if changes {
			if any, err = subscribed(m.Tx(), scope.Database()); err != nil {
				return nil, err
			}
		}
		if err = e.put(m, scope, before, &sub); err == nil {
			n, err = s.arrange(m, scope, &sub)
		}
		if err == nil && changes {
			err = followed(m, scope.Database(), any)
		}
		return nil, err
	})
	return n, err
}

// tooMany refuses one subscription more than a scope may have. It counts in the transaction that
// makes it, which another one, of this server or of another, does not pass by.
func (s *Service) tooMany(tx kv.Txn, scope store.Scope) (refused, err error) {
	n, most := 0, s.o.Bounds().Scope
	for _, err := range subscriptions(tx, scope.Database(), keyspace.T(string(scope.Partition()))) {
		if err != nil {
			return nil, err
		}
		n++
	}
	if n >= most {
		refused = dberr.New(dberr.Forbidden, "forbidden", "There can't be more than %d subscriptions here.", most)
	}
	return refused, nil
}

// followed tells the writers when a database has its first subscription, or none any more.
func followed(m store.LaneTxn, d *store.Database, before bool) error {
	now, err := subscribed(m.Tx(), d)
	if err != nil || now == before {
		return err
	}
	return m.Redefine(d.Whole())
}

// arrange sees to it that a subscription has the job that it needs, and no other.
func (s *Service) arrange(m store.LaneTxn, scope store.Scope, sub *subscription) (n next, err error) {
	if n, err = s.next(m, scope, sub); err != nil {
		return n, err
	}
	subject := where{scope.Partition(), sub.id}.subject()
	for _, kind := range [...]string{jobSend, jobResend} {
		if kind == n.kind {
			err = errors.Join(err, m.SetJob(scope.Database().Job(kind, subject, n.due)))
		} else {
			err = errors.Join(err, m.RemoveJob(kind, subject))
		}
	}
	return n, err
}

// next returns what a subscription has to do.
func (s *Service) next(m store.LaneTxn, scope store.Scope, sub *subscription) (n next, err error) {
	if sub.definition == nil {
		return n, nil
	}
	if drops, err := m.Drops(scope); drops || err != nil {
		return n, err
	}
	d, note, err := sub.decode()
	if err != nil || d.Paused || note.Disabled != "" || s.full(&note, sub.dead) {
		return n, err
	}
	if len(note.Retry) == 0 {
		if more, err := m.Moved(scope, sub.at); !more || err != nil {
			return n, err
		}
	}
	n = next{jobSend, m.Now()}
	if note.Failures > 0 {
		n.kind = jobResend
	}
	if at := time.UnixMilli(note.RetryAt); at.After(n.due) {
		n.due = at
	}
	return n, nil
}

// find arranges the deliveries that changes of a database make necessary. The checkpoint
// is the sequence up to which it has looked; without one it looks at all subscriptions.
func (s *Service) find(ctx context.Context, j jobs.Job) error {
	d, err := s.o.Store.OfJob(ctx, j)
	if dberr.Is(err, dberr.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	found, to, err := concerned(ctx, d, j.Checkpoint)
	for err == nil && len(found) > findPage {
		err = d.UpdateLane(ctx, findPage<<8, func(m store.LaneTxn) error { return s.arrangeAll(m, d, found[:findPage]) })
		found = found[findPage:]
	}
	if err == nil {
		err = d.UpdateLane(ctx, 1<<10+len(found)<<8, func(m store.LaneTxn) error {
			if err := s.arrangeAll(m, d, found); err != nil {
				return err
			}
			return s.found(m, d, j, to)
		})
	}
	if dberr.Is(err, dberr.NotFound) {
		return nil // the database went
	}
	return err
}

// found lets the job rest that looked up to a sequence until there are changes, or ends
// it when nobody is left.
func (s *Service) found(m store.LaneTxn, d *store.Database, j jobs.Job, to store.Seq) error {
	if !m.Follows(jobFind) {
		return errors.Join(m.Redefine(d.Whole()), m.EndJob(j))
	}
	after := time.Duration(resting)
	if moved, err := m.Moved(d.Whole(), to); err != nil {
		return err
	} else if moved {
		after = 0
	}
	return m.PutOffJob(j, after, strconv.FormatUint(uint64(to), 10))
}

// arrangeAll arranges what subscriptions have to do next.
func (s *Service) arrangeAll(m store.LaneTxn, d *store.Database, all []where) error {
	var keys [][]byte
	for _, at := range all {
		for _, sub := range []uint64{subDefinition, subState} {
			keys = append(keys, subscriptionKey(at.scope(d), at.id, sub))
		}
		for _, kind := range []string{jobSend, jobResend} {
			keys = append(keys, d.Job(kind, at.subject(), time.Time{}).Key())
		}
	}
	if err := m.Ahead(keys); err != nil {
		return err
	}
	for _, at := range all {
		sub, err := readSubscription(at.scope(d), at.id, m.Tx().GetForUpdate)
		if err == nil {
			_, err = s.arrange(m, at.scope(d), &sub)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// concerned returns the subscriptions that changes since a checkpoint concern: those of the
// database and of the partitions in which documents changed.
func concerned(ctx context.Context, d *store.Database, checkpoint string) (found []where, to store.Seq, err error) {
	err = d.Whole().View(ctx, func(r *store.Reader) error {
		found = found[:0]
		if to, err = r.LastSeq(); err != nil {
			return err
		}
		changed, all, err := changedSince(r, checkpoint)
		if err != nil {
			return err
		}
		if all {
			return collect(&found, r)
		}
		if len(changed) > 0 {
			changed[""] = true
		}
		for p := range changed {
			if err := collect(&found, r, keyspace.T(string(p))); err != nil {
				return err
			}
		}
		return nil
	})
	return found, to, err
}

// changedSince returns the partitions in which documents changed; all is true when it is
// better to look at everything.
func changedSince(r *store.Reader, checkpoint string) (changed map[document.Partition]bool, all bool, err error) {
	if checkpoint == "" {
		return nil, true, nil
	}
	since, err := strconv.ParseUint(checkpoint, 10, 64)
	if err != nil {
		return nil, false, err
	}
	changed = map[document.Partition]bool{}
	n := 0
	for c, err := range r.Changes(store.Seq(since), false) {
		if err != nil {
			return nil, false, err
		}
		if n++; n > maxLooked {
			return nil, true, nil
		}
		p := document.Partition("")
		if r.Partitioned() {
			p = c.ID.Partition()
		}
		changed[p] = true
	}
	return changed, false, nil
}

// collect appends the subscriptions whose keys begin with parts.
func collect(found *[]where, r *store.Reader, parts ...keyspace.Part) error {
	for at, err := range subscriptions(r.Snapshot(), r.Database(), parts...) {
		if err != nil {
			return err
		}
		*found = append(*found, at)
	}
	return nil
}

// deliver works on the job of a subscription for a while.
func (s *Service) deliver(ctx context.Context, j jobs.Job) error {
	d, err := s.o.Store.OfJob(ctx, j)
	at := whereOf(j.Subject)
	for n := 0; err == nil && n < turnSteps; n++ {
		var to next
		to, err = s.step(ctx, at.scope(d), at.id)
		if err == nil && (to.kind != j.Kind || to.due.After(s.o.Now())) {
			return nil
		}
	}
	switch {
	case d != nil && (errors.Is(err, errNone) || dberr.Is(err, dberr.Conflict)): // it is gone, or goes with its partition
		return d.UpdateLane(ctx, 1<<10, func(m store.LaneTxn) error { return s.arrangeAll(m, d, []where{at}) })
	case dberr.Is(err, dberr.NotFound):
		return nil
	}
	return err
}
