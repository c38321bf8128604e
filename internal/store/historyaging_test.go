package store

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/kv"
)

// historyStart is when histories begin; bodies say when they expire in minutes
// after that.
var historyStart = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// expiring makes a body that may say when it expires, by two members.
func expiring(body string, e, f int) string {
	end := len(body) - 1
	if e%3 == 0 {
		return body
	}
	at := func(n int) int64 { return historyStart.Add(time.Duration(n*7) * time.Minute).Unix() }
	return fmt.Sprintf(`%s,"e":%d,"f":%d.5}`, body[:end], at(e), at(f))
}

// swept does all background work and has the model do it. A leap of the clock
// is waited for.
func (x *runner) swept() error {
	for _, p := range x.m.dropped() {
		for x.m.drops[p] != nil {
			x.m.step(p)
		}
	}
	if err := errors.Join(x.sweepInOrder(), x.followLog()); err != nil {
		return err
	}
	if !x.clock.aheadSince.IsZero() {
		x.now = x.now.Add(clockHold)
		if err := errors.Join(x.sweepInOrder(), x.followLog()); err != nil {
			return err
		}
	}
	x.m.expire(x.now.Unix())
	return nil
}

// sweepInOrder is Sweep, in the model's order of what is due at the same time: drops
// by their names, then expiry.
func (x *runner) sweepInOrder() error {
	err := x.tick(ctx, true)
	for _, kind := range []string{jobTombstones, jobPartition, jobExpiry, jobDue} {
		var all []jobs.Job
		err = errors.Join(err, x.Store.engine.View(ctx, func(v kv.Snapshot) error {
			all = nil
			return jobs.Each(v, kind, func(j jobs.Job) error {
				if !j.Due.After(x.now) {
					all = append(all, j)
				}
				return nil
			})
		}))
		for _, j := range all {
			if jobErr := x.runJob(ctx, j); !errors.As(jobErr, new(interface{ Later() time.Duration })) {
				err = errors.Join(err, jobErr)
			}
		}
	}
	return errors.Join(err, x.Sweep(ctx))
}

// expiry returns the database or a partition a setting.
func (x *runner) expiry(o op) error {
	s := x.d.Whole()
	if p := document.ID(o.id).Partition(); x.m.partitioned && o.a%2 == 0 {
		s.partition = p
	}
	e := Expiry{Own: o.b%4 > 0, Field: []string{"", "e", "f", "e"}[o.c%4]}
	err := s.SetExpiry(ctx, e)
	if x.m.drops[s.partition] != nil {
		if !dberr.Is(err, dberr.Conflict) {
			return fmt.Errorf("setting of a partition being dropped: %v", err)
		}
		return nil
	}
	if !e.Own || s.partition == "" && e.Field == "" {
		e = Expiry{}
	}
	x.m.expiry[s.partition] = e
	if got, stateErr := s.Expiry(ctx); err == nil {
		if err = stateErr; err == nil && got.Expiry != e {
			err = fmt.Errorf("the setting is %+v, want %+v", got, e)
		}
	}
	return err
}

// collect drops all tombstones that there are.
func (x *runner) collect() error {
	if x.log.keep > 0 {
		if err := x.setLog(Period{Text: "1_min", Length: time.Minute}); err != nil {
			return err
		}
	}
	if err := x.d.SetDeletedTTL(ctx, Period{Text: "1_min"}); err != nil {
		return err
	}
	x.now = x.now.Add(10 * time.Second) // for a sample of its own
	if err := x.swept(); err != nil {
		return err
	}
	old := x.m.tombstones()
	x.now = x.now.Add(2 * time.Minute)
	if err := x.swept(); err != nil {
		return err
	}
	if x.log.keep > 0 { // it held them until now
		if err := x.swept(); err != nil {
			return err
		}
	}
	x.m.collect(old)
	return x.d.SetDeletedTTL(ctx, Period{})
}

// compareMissing asks for revisions as a replica does.
func (x *runner) compareMissing(r *Reader) error {
	if len(x.m.drops) > 0 || r.partition != "" {
		return nil
	}
	for _, id := range historyIDs {
		var revs []document.Rev
		for n := range 30 {
			revs = append(revs, replicatedEdit(op{id: id, a: n}).path...)
		}
		revs = append(revs, x.m.markers[id]...)
		if d := x.m.docs[id]; d != nil {
			for rev := range d.revs {
				revs = append(revs, rev)
			}
		}
		slices.SortFunc(revs, document.Rev.Compare)
		revs = slices.Compact(revs)
		got, _, err := r.Missing(document.ID(id), revs)
		if err != nil {
			return err
		}
		if err := differ("missing of "+id, got, x.m.missing(id, revs)); err != nil {
			return err
		}
	}
	return nil
}
