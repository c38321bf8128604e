package store

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/kv"
)

// Expiry says which member of a body tells when the revision expires, in Unix
// seconds. The zero value is no setting: nothing expires in a database, and in
// a partition what the setting of the database says.
type Expiry struct {
	Own   bool   // there is a setting
	Field string // the member's name; "" for a partition whose documents do not expire
}

// ExpiryState is an Expiry with what has become of it.
type ExpiryState struct {
	Expiry        // the scope's own
	Field  string // what holds in the scope: its own, or that of the database
	// Ready is false as long as the documents that were there before the
	// setting are being looked at.
	Ready bool
}

const settingExpiry = "expiry"

// maxExpiryField is how long the name of a member may be, in bytes.
const maxExpiryField = 255

func (d *Database) loadExpiry(v kv.Snapshot, set *settings) error {
	value, err := v.Get(settingKey(d.number, settingExpiry))
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	set.expiry = Expiry{Own: true, Field: string(value)}
	return nil
}

// check refuses names that no member of a body has.
func (e Expiry) check(d *Database) error {
	switch {
	case e.Field == "":
		return nil
	case strings.HasPrefix(e.Field, "_") || len(e.Field) > maxExpiryField:
		return dberr.New(dberr.Invalid, "bad_request", "`field` must be the name of a member, which does not begin with an underscore and has 255 bytes at most.")
	case systemName.MatchString(d.name):
		return dberr.New(dberr.Invalid, "bad_request", "The documents of system databases do not expire.")
	}
	return nil
}

// SetExpiry gives the scope a setting, or takes it away (the zero Expiry; for a
// database a setting without a field is none). Documents that are there already
// are looked at in the background. Errors: Invalid bad_request for a name that
// can't be; Conflict for a partition that is being dropped.
func (s Scope) SetExpiry(ctx context.Context, e Expiry) error {
	if err := e.check(s.db); err != nil {
		return err
	}
	if s.partition == "" && e.Field == "" || !e.Own {
		e = Expiry{}
	}
	var refused error
	err := s.db.do(ctx, "store.SetExpiry", func(g *group) error {
		var same bool
		same, refused = g.setExpiry(s.partition, e)
		if refused != nil && !refusal(refused) {
			return refused
		}
		if same || refused != nil {
			return nil
		}
		g.lane.version++
		g.stale = true
		return s.db.store.putJob(g.tx, jobExpiry, s.db.number, string(s.partition), g.now)
	})
	if err == nil {
		err = refused
	}
	if err == nil {
		s.db.store.wake()
	}
	return err
}

// setExpiry writes a setting; it tells whether that is the one there was.
func (g *group) setExpiry(p document.Partition, e Expiry) (same bool, err error) {
	if p != "" {
		if err := g.open(p); err != nil {
			return false, err
		}
		t, err := g.partition(p)
		if err != nil || t.expiry == e {
			return true, err
		}
		t.expiry, t.changed = e, true
		return false, nil
	}
	key := settingKey(g.db.number, settingExpiry)
	old, err := g.tx.Get(key)
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return false, err
	}
	switch {
	case string(old) == e.Field:
		return true, nil
	case e.Field == "":
		return false, g.tx.Delete(key)
	}
	return false, g.tx.Put(key, []byte(e.Field))
}

// Expiry reads the scope's setting.
func (s Scope) Expiry(ctx context.Context) (state ExpiryState, err error) {
	err = s.View(ctx, func(r *Reader) error {
		set := settings{}
		if err := s.db.loadExpiry(r.v, &set); err != nil {
			return err
		}
		state = ExpiryState{Expiry: set.expiry, Field: set.expiry.Field, Ready: true}
		subjects := []string{""}
		if s.partition != "" {
			t, err := s.db.readPartition(r.v.Get(s.db.partitionKey(s.partition)))
			if err != nil {
				return err
			}
			state.Expiry = t.expiry
			if t.expiry.Own {
				state.Field = t.expiry.Field
			}
			subjects = append(subjects, string(s.partition))
		}
		for _, subject := range subjects {
			j := job{kind: jobExpiry, number: s.db.number, subject: subject}
			if _, err := r.v.Get(j.key()); err == nil {
				state.Ready = false
			} else if !errors.Is(err, kv.ErrNotFound) {
				return err
			}
		}
		return nil
	})
	return state, dberr.Wrap("store.Expiry", err)
}

// expiryField gives the member that says when documents of a partition expire
// (nil: of none, as in an ordinary database), "" for none.
func (s *settings) expiryField(p *partition) string {
	if p != nil && p.expiry.Own {
		return p.expiry.Field
	}
	return s.expiry.Field
}

// dueTime reads from a body when it expires, in Unix seconds rounded up. 0 is
// never: there is no such member, or it is no number above 0 (DynamoDB, whose
// rule this is, overlooks numbers in strings too), or a time that nobody means.
func dueTime(body []byte, field string) uint64 {
	value, ok := jsonscan.Member(body, field)
	if !ok || jsonscan.KindOf(value) != jsonscan.Number {
		return 0
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f <= 0 || f > maxDue {
		return 0
	}
	return uint64(math.Ceil(f))
}

// maxDue is the last second that counts: up to it a float64 is exact.
const maxDue = 1 << 53

// dueAge is how long ago a time may be to count, in seconds: what should have
// expired more than five years ago (again DynamoDB's rule) is taken for a
// number that means something else, such as 0 or a year.
const dueAge = 5 * 365 * 24 * 3600

// dueSince is the earliest time that counts at a time.
func dueSince(now int64) uint64 { return uint64(max(1, now-dueAge)) }
