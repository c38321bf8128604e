package subscribe

import (
	"fmt"
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// checker holds the rows of a database's subscriptions against each other, the feed and
// the queue of jobs: each has its definition and its state, as many dead letters as it
// counts, and a job if there is something to deliver.
type checker struct {
	r       *store.Reader
	found   []error
	all     map[where]*subscription
	defined map[where]bool
	stated  map[where]bool
}

// Check is store.Follower's.
func (Rows) Check(r *store.Reader) ([]error, error) {
	c := checker{r: r, all: map[where]*subscription{}, defined: map[where]bool{}, stated: map[where]bool{}}
	if err := kv.Each(r.Snapshot(), kv.Prefix(keyspace.Subscription.Key(r.Database().Number())), c.row); err != nil {
		return nil, err
	}
	dead, err := c.deadLetters()
	if err != nil {
		return nil, err
	}
	last, err := r.LastSeq()
	if err != nil {
		return nil, err
	}
	for at, sub := range c.all {
		switch {
		case !c.defined[at]:
			c.bad(at, "has a state and no definition")
		case !c.stated[at]:
			c.bad(at, "has no state")
		case sub.at > last:
			c.bad(at, "has come to %d, the feed ends at %d", sub.at, last)
		default:
			if err := c.jobs(at, sub); err != nil {
				return nil, err
			}
		}
		if sub.dead != dead[at] {
			c.bad(at, "counts %d dead letters and has %d", sub.dead, dead[at])
		}
		delete(dead, at)
	}
	for at := range dead {
		c.bad(at, "has dead letters and is not a subscription")
	}
	return c.found, nil
}

func (c *checker) bad(at where, format string, args ...any) {
	c.found = append(c.found, fmt.Errorf("database %s: subscription %q of %q "+format, append([]any{c.r.Name(), at.id, at.partition}, args...)...))
}

// row notes a row of a subscription; those that go with their partition are left out.
func (c *checker) row(key, value []byte) error {
	at, part, err := whereOfKey(key)
	if err != nil || c.r.Drops(at.partition) {
		return err
	}
	if at.partition != "" && !c.r.Partitioned() {
		c.bad(at, "is of a partition, and there are none")
	}
	sub := c.all[at]
	if sub == nil {
		sub = &subscription{id: at.id}
		c.all[at] = sub
	}
	if part == subDefinition {
		c.defined[at] = true
		return sub.decodeDefinition(slices.Clone(value))
	}
	c.stated[at] = true
	return sub.decodeState(slices.Clone(value))
}

// deadLetters counts them.
func (c *checker) deadLetters() (map[where]uint64, error) {
	dead := map[where]uint64{}
	err := kv.Each(c.r.Snapshot(), kv.Prefix(keyspace.DeadLetter.Key(c.r.Database().Number())), func(key, value []byte) error {
		_, parts, err := keyspace.DeadLetter.Decode(key)
		if err != nil {
			return err
		}
		at := where{document.Partition(parts[0].String()), parts[1].String()}
		if !c.r.Drops(at.partition) {
			dead[at]++
		}
		_, err = decodeDeadLetter(value)
		return err
	})
	return dead, err
}

// jobs looks whether a subscription that has something to deliver has a job, or there is one
// that will find it.
func (c *checker) jobs(at where, sub *subscription) error {
	d, n, err := sub.decode()
	if err != nil {
		return err
	}
	if d.Paused || n.Disabled != "" || n.Blocked {
		return nil
	}
	wanted := len(n.Retry) > 0
	for range c.r.As(at.scope(c.r.Database())).Changes(sub.at, false) {
		wanted = true
		break
	}
	for kind, subject := range map[string]string{jobSend: at.subject(), jobResend: at.subject(), jobFind: ""} {
		if !wanted {
			break
		}
		there, err := c.r.HasJob(kind, subject)
		if err != nil {
			return err
		}
		wanted = !there
	}
	if wanted {
		c.bad(at, "has something to deliver, and no job")
	}
	return nil
}
