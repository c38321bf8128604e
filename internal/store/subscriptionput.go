package store

import (
	"bytes"
	"errors"
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// putSubscription stores what an edit made of a subscription.
func (g *group) putSubscription(s Scope, before, sub Subscription, e SubscriptionEdit) error {
	if e.Remove {
		return g.dropSubscription(s, sub.ID)
	}
	if sub.Definition == nil {
		return nil
	}
	if !bytes.Equal(before.Definition, sub.Definition) {
		sub.Version = before.Version + 1
		if err := g.tx.Put(s.subscriptionKey(sub.ID, subDefinition), sub.encodeDefinition()); err != nil {
			return err
		}
	}
	sub.Dead, sub.Serial = before.Dead, before.Serial
	for _, value := range e.Dead {
		sub.Dead++
		sub.Serial++
		if err := g.putDeadLetter(s, sub.ID, DeadLetter{sub.Serial, value}); err != nil {
			return err
		}
	}
	for _, n := range e.Discard {
		there, err := g.hasDeadLetter(s, sub.ID, n)
		if err == nil && there {
			sub.Dead--
			err = g.tx.Delete(s.deadLetterKey(sub.ID, n))
		}
		if err != nil {
			return err
		}
	}
	for _, l := range e.Rewrite {
		there, err := g.hasDeadLetter(s, sub.ID, l.Number)
		if err == nil && there {
			err = g.putDeadLetter(s, sub.ID, l)
		}
		if err != nil {
			return err
		}
	}
	return g.tx.Put(s.subscriptionKey(sub.ID, subState), sub.encodeState())
}

func (g *group) putDeadLetter(s Scope, id string, l DeadLetter) error {
	return g.tx.Put(s.deadLetterKey(id, l.Number), append([]byte{rowVersion}, l.Value...))
}

func (g *group) hasDeadLetter(s Scope, id string, n uint64) (bool, error) {
	_, err := g.tx.GetForUpdate(s.deadLetterKey(id, n))
	if errors.Is(err, kv.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// dropSubscription removes a subscription's rows. Commits of a database run one
// after the other, so nobody adds to the range meanwhile.
func (g *group) dropSubscription(s Scope, id string) error {
	keys := [][]byte{s.subscriptionKey(id, subDefinition), s.subscriptionKey(id, subState)}
	dead, err := g.keysBelow(keyspace.DeadLetter.Key(g.db.number, keyspace.T(string(s.partition)), keyspace.T(id)), -1)
	if err != nil {
		return err
	}
	for _, key := range slices.Concat(keys, dead) {
		if err := g.tx.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// keysBelow returns the first keys that begin with prefix, most at most; below 0
// all of them.
func (g *group) keysBelow(prefix []byte, most int) (keys [][]byte, err error) {
	it, err := g.tx.Iterate(kv.Prefix(prefix), kv.IterOptions{})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for len(keys) != most && it.Next() {
		keys = append(keys, bytes.Clone(it.Key()))
	}
	return keys, it.Err()
}

// subscriptionAt reads a key of a subscription.
func (d *Database) subscriptionAt(key []byte) (at named, sub uint64, err error) {
	_, parts, err := keyspace.Subscription.Decode(key)
	if err != nil {
		return at, 0, err
	}
	at = named{d.Within(document.Partition(parts[0].String())), parts[1].String()}
	return at, parts[2].Num(), nil
}

// subscriptions holds the rows of subscriptions against each other: each has
// its definition and its state, and as many dead letters as it counts.
func (c *checker) subscriptions() error {
	states := map[named]Subscription{}
	defined := map[named]bool{}
	err := kv.Each(c.v, kv.Prefix(keyspace.Subscription.Key(c.d.number)), func(key, value []byte) error {
		at, part, err := c.d.subscriptionAt(key)
		if err != nil || c.dropping[at.partition] {
			return err
		}
		if at.partition != "" && !c.d.partitioned {
			c.bad("the subscription %q is of the partition %q, and there are none", at.id, at.partition)
		}
		var sub Subscription
		if part == subDefinition {
			defined[at] = true
			return sub.decodeDefinition(value)
		}
		err = sub.decodeState(value)
		states[at] = sub
		return err
	})
	if err != nil {
		return err
	}
	dead, err := c.deadLetters()
	for at, sub := range states {
		if !defined[at] {
			c.bad("subscription %q of %q has a state and no definition", at.id, at.partition)
		}
		delete(defined, at)
		if sub.At > c.lane.seq {
			c.bad("subscription %q of %q stands at %d, the feed ends at %d", at.id, at.partition, sub.At, c.lane.seq)
		}
		if sub.Dead != dead[at] {
			c.bad("subscription %q of %q counts %d dead letters and has %d", at.id, at.partition, sub.Dead, dead[at])
		}
		delete(dead, at)
	}
	for at := range defined {
		c.bad("subscription %q of %q has no state", at.id, at.partition)
	}
	for at := range dead {
		c.bad("there are dead letters of %q of %q, which is no subscription", at.id, at.partition)
	}
	return err
}

// deadLetters counts them.
func (c *checker) deadLetters() (map[named]uint64, error) {
	dead := map[named]uint64{}
	err := kv.Each(c.v, kv.Prefix(keyspace.DeadLetter.Key(c.d.number)), func(key, value []byte) error {
		_, parts, err := keyspace.DeadLetter.Decode(key)
		if err != nil {
			return err
		}
		at := named{c.d.Within(document.Partition(parts[0].String())), parts[1].String()}
		if !c.dropping[at.partition] {
			dead[at]++
		}
		_, err = decodeDeadLetter(value)
		return err
	})
	return dead, err
}
