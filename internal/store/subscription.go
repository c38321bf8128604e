package store

import (
	"context"
	"errors"
	"iter"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// Subscription is somebody outside who follows the feed of a scope. The store
// keeps what is known of it, beside the documents, so that it goes with the
// database or the partition; what the texts in it mean is the business of those
// who deliver.
type Subscription struct {
	ID         string // unique in its scope
	Definition []byte // nil: there is no such subscription
	Version    uint64 // of the definition: every change of it adds one
	At         Seq    // everything up to here has been delivered, or lies among the dead letters
	Dead       uint64 // dead letters
	Serial     uint64 // the number of the last dead letter there was
	Note       []byte // what whoever delivers remembers
}

// DeadLetter is what could not be delivered to a subscription.
type DeadLetter struct {
	Number uint64
	Value  []byte
}

// SubscriptionEdit says what is to be done beside storing the subscription.
type SubscriptionEdit struct {
	Remove  bool         // the subscription and its dead letters go
	Dead    [][]byte     // new dead letters, numbered from Serial+1 on
	Discard []uint64     // dead letters that go; unknown ones are overlooked
	Rewrite []DeadLetter // dead letters with another value; unknown ones are overlooked
}

// The rows of one subscription.
const (
	subDefinition = 1
	subState      = 2
)

func (s Scope) subscriptionKey(id string, sub uint64) []byte {
	return keyspace.Subscription.Key(s.db.number, keyspace.T(string(s.partition)), keyspace.T(id), keyspace.U(sub))
}

func (s Scope) deadLetterKey(id string, n uint64) []byte {
	return keyspace.DeadLetter.Key(s.db.number, keyspace.T(string(s.partition)), keyspace.T(id), keyspace.U(n))
}

func (sub *Subscription) encodeDefinition() []byte {
	p := make(packed.Writer, 0, 16+len(sub.Definition))
	p.Byte(rowVersion)
	p.Uint(sub.Version)
	p.Raw(sub.Definition)
	return p
}

func (sub *Subscription) decodeDefinition(value []byte) error {
	u := packed.ReadVersion(value, rowVersion)
	sub.Version = u.Uint()
	sub.Definition = u.Rest()
	return u.Err()
}

func (sub *Subscription) encodeState() []byte {
	p := make(packed.Writer, 0, 32+len(sub.Note))
	p.Byte(rowVersion)
	p.Uint(uint64(sub.At))
	p.Uint(sub.Dead)
	p.Uint(sub.Serial)
	p.Raw(sub.Note)
	return p
}

func (sub *Subscription) decodeState(value []byte) error {
	u := packed.ReadVersion(value, rowVersion)
	sub.At, sub.Dead, sub.Serial = Seq(u.Uint()), u.Uint(), u.Uint()
	sub.Note = u.Rest()
	return u.Err()
}

func decodeDeadLetter(value []byte) ([]byte, error) {
	u := packed.ReadVersion(value, rowVersion)
	return u.Rest(), u.Err()
}

// readSubscription reads a subscription by get, whose absence is a Definition
// of nil.
func (s Scope) readSubscription(id string, get func(key []byte) ([]byte, error)) (sub Subscription, err error) {
	sub.ID = id
	value, err := get(s.subscriptionKey(id, subDefinition))
	if errors.Is(err, kv.ErrNotFound) {
		return sub, nil
	}
	if err != nil {
		return sub, err
	}
	if err := sub.decodeDefinition(value); err != nil {
		return sub, err
	}
	if value, err = get(s.subscriptionKey(id, subState)); err != nil {
		return sub, dberr.Wrap("store.readSubscription", err)
	}
	return sub, sub.decodeState(value)
}

// Subscription reads a subscription of the scope; its Definition is nil when
// there is none, or its partition is being dropped.
func (r *Reader) Subscription(id string) (Subscription, error) {
	if r.partition != "" && r.state(r.partition) == partitionDropping {
		return Subscription{ID: id}, nil
	}
	return r.readSubscription(id, r.v.Get)
}

// SubscriptionNames walks the subscriptions of the scope in the order of their
// ids; those of its partitions are not the database's.
func (r *Reader) SubscriptionNames() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if r.partition != "" && r.state(r.partition) == partitionDropping {
			return
		}
		for at, err := range r.db.subscriptions(r.v, keyspace.T(string(r.partition))) {
			if !yield(at.id, err) {
				return
			}
		}
	}
}

// Subscribed walks all subscriptions of the database and its partitions.
func (r *Reader) Subscribed() iter.Seq2[Subscribed, error] {
	return func(yield func(Subscribed, error) bool) {
		for at, err := range r.db.subscriptions(r.v) {
			if r.state(at.Scope.partition) == partitionDropping {
				continue
			}
			if !yield(Subscribed{at.Scope, at.id}, err) {
				return
			}
		}
	}
}

// Subscribed names a subscription.
type Subscribed struct {
	Scope Scope
	ID    string
}

// DeadLetters walks a subscription's dead letters above a number.
func (r *Reader) DeadLetters(id string, after uint64) iter.Seq2[DeadLetter, error] {
	return func(yield func(DeadLetter, error) bool) {
		if r.partition != "" && r.state(r.partition) == partitionDropping {
			return
		}
		all := kv.Prefix(keyspace.DeadLetter.Key(r.db.number, keyspace.T(string(r.partition)), keyspace.T(id)))
		it, err := r.v.Iterate(kv.Range{Start: r.deadLetterKey(id, after+1), End: all.End}, kv.IterOptions{})
		if err != nil {
			yield(DeadLetter{}, err)
			return
		}
		defer it.Close()
		for it.Next() {
			l, err := deadLetterAt(it)
			if !yield(l, err) || err != nil {
				return
			}
		}
		if err := it.Err(); err != nil {
			yield(DeadLetter{}, err)
		}
	}
}

func deadLetterAt(it kv.Iterator) (l DeadLetter, err error) {
	_, parts, err := keyspace.DeadLetter.Decode(it.Key())
	if err != nil {
		return l, err
	}
	value, err := it.Value()
	if err != nil {
		return l, err
	}
	l.Number = parts[2].Num()
	l.Value, err = decodeDeadLetter(value)
	return l, err
}

// named is where a subscription stands.
type named struct {
	Scope
	id string
}

// subscriptions walks the definitions whose keys begin with parts.
func (d *Database) subscriptions(v kv.Snapshot, parts ...keyspace.Part) iter.Seq2[named, error] {
	return func(yield func(named, error) bool) {
		it, err := v.Iterate(kv.Prefix(keyspace.Subscription.Key(d.number, parts...)), kv.IterOptions{})
		if err != nil {
			yield(named{}, err)
			return
		}
		defer it.Close()
		for it.Next() {
			at, sub, err := d.subscriptionAt(it.Key())
			if err == nil && sub != subDefinition {
				continue
			}
			if !yield(at, err) || err != nil {
				return
			}
		}
		if err := it.Err(); err != nil {
			yield(named{}, err)
		}
	}
}

// EditSubscription runs fn with a subscription of the scope as it is, stores
// what it makes of it and does what it says, in the database's next commit. fn
// may run several times. A change of Definition gives it another Version; nothing
// is stored while it is nil.
// Errors: Conflict when the partition is being dropped; fn's own, which leaves
// everything as it was.
func (s Scope) EditSubscription(ctx context.Context, id string, fn func(sub *Subscription) (SubscriptionEdit, error)) error {
	var refused error
	err := s.db.submit(ctx, "store.EditSubscription", 4<<10, func(g *group) error {
		refused = nil
		p, err := g.partition(s.partition)
		if err != nil {
			return err
		}
		if p != nil && p.state == partitionDropping {
			refused = errDropping
			return nil
		}
		sub, err := s.readSubscription(id, g.tx.GetForUpdate)
		if err != nil {
			return err
		}
		before := sub
		e, err := fn(&sub)
		if err != nil {
			refused = err
			return nil
		}
		return g.putSubscription(s, before, sub, e)
	})
	if err == nil {
		err = refused
	}
	return err
}
