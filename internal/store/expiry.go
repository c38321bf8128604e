package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// Expiry says when revisions expire: by members of their bodies, or some time
// after they were written. The zero value is no setting: nothing expires in a
// database, and in a partition what the setting of the database says.
type Expiry struct {
	Own      bool   // there is a setting
	Field    string // the member that has the time, "" for none
	TTLField string // the member that has the seconds from the document's last write here on, "" for none
	TTL      uint64 // the seconds for documents that have neither, 0 for never
	// Seconds has numbers of Field read as Unix seconds and all else overlooked, as DynamoDB's
	// time to live does.
	Seconds bool
}

// off reports whether nothing expires by it.
func (e Expiry) off() bool { return e.Field == "" && e.TTLField == "" && e.TTL == 0 }

// ExpiryState is an Expiry with what has become of it.
type ExpiryState struct {
	Expiry        // the scope's own
	Holds  Expiry // what holds in the scope: its own, or that of the database
	// Ready is false as long as the documents that were there before the
	// setting are being looked at.
	Ready bool
	// Unreadable is how many documents do not expire because nobody can read
	// their members, counted up to MaxUnreadable; Examples names some.
	Unreadable int
	Examples   []document.ID
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
	set.expiry, err = parseExpiry(string(value))
	return err
}

// text is the setting as rows have it: an underscore, with which no member's
// name begins, and its parts; of one with Seconds the name alone; empty where
// nothing expires.
func (e Expiry) text() string {
	if e.Seconds || e.off() {
		return e.Field
	}
	p := packed.Writer{'_'}
	p.Text(e.Field)
	p.Text(e.TTLField)
	p.Uint(e.TTL)
	return string(p)
}

func parseExpiry(text string) (Expiry, error) {
	e := Expiry{Own: true}
	if !strings.HasPrefix(text, "_") {
		e.Field, e.Seconds = text, text != ""
		return e, nil
	}
	u := packed.Read([]byte(text[1:]))
	e.Field, e.TTLField, e.TTL = u.Text(), u.Text(), u.Uint()
	return e, u.Done()
}

// check refuses names that no member of a body has, and times that are too long.
func (e Expiry) check(d *Database) error {
	for member, name := range map[string]string{"field": e.Field, "ttl_field": e.TTLField} {
		if strings.HasPrefix(name, "_") || len(name) > maxExpiryField {
			return dberr.New(dberr.Invalid, "bad_request", "`%s` must be the name of a member, which does not begin with an underscore and has 255 bytes at most.", member)
		}
	}
	switch {
	case e.off():
		return nil
	case e.Field == e.TTLField && e.Field != "":
		return dberr.New(dberr.Invalid, "bad_request", "`field` and `ttl_field` must be different members.")
	case e.TTL > MaxTTL:
		return dberr.New(dberr.Invalid, "bad_request", "`ttl` must be a number of seconds from 1 to %d.", uint64(MaxTTL))
	case systemName.MatchString(d.name):
		return dberr.New(dberr.Invalid, "bad_request", "The documents of system databases do not expire.")
	}
	return nil
}

// SetExpiry gives the scope a setting, or takes it away (the zero Expiry; for a
// database a setting by which nothing expires is none). Documents that are there already
// are looked at in the background. Errors: Invalid bad_request for a name that
// can't be; Conflict for a partition that is being dropped.
func (s Scope) SetExpiry(ctx context.Context, e Expiry) error {
	if err := e.check(s.db); err != nil {
		return err
	}
	if s.partition == "" && e.off() || !e.Own {
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
		return g.putJob(jobExpiry, string(s.partition))
	})
	if err == nil {
		err = refused
	}
	return err
}

// setExpiry writes a setting; it reports whether that is the one there was.
func (g *group) setExpiry(p document.Partition, e Expiry) (same bool, err error) {
	if p != "" {
		if err := g.requireLive(p); err != nil {
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
	case string(old) == e.text():
		return true, nil
	case e.off():
		return false, g.tx.Delete(key)
	}
	return false, g.tx.Put(key, []byte(e.text()))
}

// Expiry reads the scope's setting.
func (s Scope) Expiry(ctx context.Context) (state ExpiryState, err error) {
	err = s.View(ctx, func(r *Reader) error {
		set := settings{}
		if err := s.db.loadExpiry(r.v, &set); err != nil {
			return err
		}
		state = ExpiryState{Expiry: set.expiry, Holds: set.expiry, Ready: true}
		subjects := []string{""}
		if s.partition != "" {
			t, err := s.db.decodePartitionRow(r.v.Get(s.db.partitionKey(s.partition)))
			if err != nil {
				return err
			}
			state.Expiry = t.expiry
			if t.expiry.Own {
				state.Holds = t.expiry
			}
			subjects = append(subjects, string(s.partition))
		}
		for _, subject := range subjects {
			j := s.db.job(jobExpiry, subject, time.Time{})
			if _, err := jobs.Get(r.v, j.ID); err == nil {
				state.Ready = false
			} else if !errors.Is(err, jobs.ErrGone) {
				return err
			}
		}
		return r.unreadable(&state)
	})
	return state, dberr.Wrap("store.Expiry", err)
}

// expiryOf returns the setting that holds for documents of a partition (nil: of
// none, as in an ordinary database).
func (s *settings) expiryOf(p *partition) Expiry {
	if p != nil && p.expiry.Own {
		return p.expiry
	}
	return s.expiry
}
