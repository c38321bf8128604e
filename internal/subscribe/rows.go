package subscribe

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/store"
)

// Rows describes to the store the rows that subscriptions have beside the documents. They are
// written in the queue of the database's writers, and go with the database or the
// partition.
type Rows struct{}

// subscription is what is stored of one: its definition, and how far it has come.
type subscription struct {
	id         string    // unique in its scope
	definition []byte    // nil: there is no such subscription
	version    uint64    // of the definition: every change of it adds one
	at         store.Seq // everything up to here has been delivered, or lies among the dead letters
	dead       uint64    // dead letters
	serial     uint64    // the number of the last dead letter there was
	note       []byte    // what is remembered of deliveries
}

// deadLetter is what could not be delivered to a subscription.
type deadLetter struct {
	number uint64
	value  []byte
}

// edit says what is to be done beside storing a subscription.
type edit struct {
	remove  bool         // the subscription and its dead letters go
	dead    [][]byte     // new dead letters, numbered from serial+1 on
	discard []uint64     // dead letters that go; unknown ones are overlooked
	rewrite []deadLetter // dead letters with another value; unknown ones are overlooked

	known *knownLetters // of a subscription that goes
}

// knownLetters are the dead letters of a subscription as a snapshot had them, and the number
// of the last one there had been. Those that came since have the numbers after that.
type knownLetters struct {
	numbers []uint64
	serial  uint64
}

// The rows of one subscription, and the version of their values.
const (
	subDefinition = 1
	subState      = 2
	rowVersion    = 1
)

func subscriptionKey(s store.Scope, id string, sub uint64) []byte {
	return keyspace.Subscription.Key(s.Database().Number(), keyspace.T(string(s.Partition())), keyspace.T(id), keyspace.U(sub))
}

func deadLetterKey(s store.Scope, id string, n uint64) []byte {
	return keyspace.DeadLetter.Key(s.Database().Number(), keyspace.T(string(s.Partition())), keyspace.T(id), keyspace.U(n))
}

func deadLetters(s store.Scope, id string) []byte {
	return keyspace.DeadLetter.Key(s.Database().Number(), keyspace.T(string(s.Partition())), keyspace.T(id))
}

func (sub *subscription) encodeDefinition() []byte {
	p := make(packed.Writer, 0, 16+len(sub.definition))
	p.Byte(rowVersion)
	p.Uint(sub.version)
	p.Raw(sub.definition)
	return p
}

func (sub *subscription) decodeDefinition(value []byte) error {
	u := packed.ReadVersion(value, rowVersion)
	sub.version = u.Uint()
	sub.definition = u.Rest()
	return u.Err()
}

func (sub *subscription) encodeState() []byte {
	p := make(packed.Writer, 0, 32+len(sub.note))
	p.Byte(rowVersion)
	p.Uint(uint64(sub.at))
	p.Uint(sub.dead)
	p.Uint(sub.serial)
	p.Raw(sub.note)
	return p
}

func (sub *subscription) decodeState(value []byte) error {
	u := packed.ReadVersion(value, rowVersion)
	sub.at, sub.dead, sub.serial = store.Seq(u.Uint()), u.Uint(), u.Uint()
	sub.note = u.Rest()
	return u.Err()
}

func decodeDeadLetter(value []byte) ([]byte, error) {
	u := packed.ReadVersion(value, rowVersion)
	return u.Rest(), u.Err()
}

// readSubscription reads a subscription of a scope by get; its definition is nil when there
// is none.
func readSubscription(s store.Scope, id string, get func(key []byte) ([]byte, error)) (sub subscription, err error) {
	sub.id = id
	value, err := get(subscriptionKey(s, id, subDefinition))
	if errors.Is(err, kv.ErrNotFound) {
		return sub, nil
	}
	if err != nil {
		return sub, err
	}
	if err := sub.decodeDefinition(value); err != nil {
		return sub, err
	}
	if value, err = get(subscriptionKey(s, id, subState)); err != nil {
		return sub, fmt.Errorf("subscribe: the state of %q: %w", id, err)
	}
	return sub, sub.decodeState(value)
}

// read reads a subscription of the reader's scope; its definition is nil when there is
// none, or its partition is being dropped.
func read(r *store.Reader, id string) (subscription, error) {
	if r.Drops(r.Partition()) {
		return subscription{id: id}, nil
	}
	return readSubscription(r.Scope, id, r.Snapshot().Get)
}

// names walks the subscriptions of the reader's scope in the order of their ids; those of
// its partitions are not the database's.
func names(r *store.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if r.Drops(r.Partition()) {
			return
		}
		for at, err := range subscriptions(r.Snapshot(), r.Database(), keyspace.T(string(r.Partition()))) {
			if !yield(at.id, err) {
				return
			}
		}
	}
}

// letters walks a subscription's dead letters above a number.
func letters(r *store.Reader, id string, after uint64) iter.Seq2[deadLetter, error] {
	return func(yield func(deadLetter, error) bool) {
		if r.Drops(r.Partition()) {
			return
		}
		it, err := r.Snapshot().Iterate(kv.Range{Start: deadLetterKey(r.Scope, id, after+1), End: kv.PrefixEnd(deadLetters(r.Scope, id))}, kv.IterOptions{})
		if err != nil {
			yield(deadLetter{}, err)
			return
		}
		defer it.Close()
		for it.Next() {
			l, err := readDeadLetter(it)
			if !yield(l, err) || err != nil {
				return
			}
		}
		if err := it.Err(); err != nil {
			yield(deadLetter{}, err)
		}
	}
}

func readDeadLetter(it kv.Iterator) (l deadLetter, err error) {
	_, parts, err := keyspace.DeadLetter.Decode(it.Key())
	if err != nil {
		return l, err
	}
	value, err := it.Value()
	if err != nil {
		return l, err
	}
	l.number = parts[2].Num()
	l.value, err = decodeDeadLetter(value)
	return l, err
}

// where is where a subscription lies in a database.
type where struct {
	partition document.Partition // "" for the database
	id        string
}

func (w where) scope(d *store.Database) store.Scope { return d.Within(w.partition) }

// subject is the subject of its jobs.
func (w where) subject() string { return string(w.partition) + "/" + w.id }

func whereOf(subject string) where {
	i := strings.LastIndexByte(subject, '/') // ids have none
	return where{document.Partition(subject[:max(i, 0)]), subject[i+1:]}
}

// whereOfKey decodes a key of a subscription.
func whereOfKey(key []byte) (at where, sub uint64, err error) {
	_, parts, err := keyspace.Subscription.Decode(key)
	if err != nil {
		return at, 0, err
	}
	return where{document.Partition(parts[0].String()), parts[1].String()}, parts[2].Num(), nil
}

// subscriptions walks the subscriptions whose keys begin with parts.
func subscriptions(v kv.Snapshot, d *store.Database, parts ...keyspace.Part) iter.Seq2[where, error] {
	return func(yield func(where, error) bool) {
		it, err := v.Iterate(kv.Prefix(keyspace.Subscription.Key(d.Number(), parts...)), kv.IterOptions{})
		if err != nil {
			yield(where{}, err)
			return
		}
		defer it.Close()
		for it.Next() {
			at, sub, err := whereOfKey(it.Key())
			if err == nil && sub != subDefinition {
				continue
			}
			if !yield(at, err) || err != nil {
				return
			}
		}
		if err := it.Err(); err != nil {
			yield(where{}, err)
		}
	}
}

// subscribed reports whether a database has subscriptions, of its own or of partitions.
func subscribed(v kv.Snapshot, d *store.Database) (bool, error) {
	for _, err := range subscriptions(v, d) {
		return err == nil, err
	}
	return false, nil
}

// put stores what an edit made of a subscription, and brings the counts in it up to date.
func (e *edit) put(m store.LaneTxn, s store.Scope, before subscription, sub *subscription) error {
	tx := m.Tx()
	if e.remove {
		sub.definition = nil
		return e.removeFrom(tx, s, before)
	}
	if sub.definition == nil {
		return nil
	}
	if !bytes.Equal(before.definition, sub.definition) {
		sub.version = before.version + 1
		if err := tx.Put(subscriptionKey(s, sub.id, subDefinition), sub.encodeDefinition()); err != nil {
			return err
		}
	}
	sub.dead, sub.serial = before.dead, before.serial
	if err := e.putLetters(tx, s, sub); err != nil {
		return err
	}
	return tx.Put(subscriptionKey(s, sub.id, subState), sub.encodeState())
}

// putLetters does what an edit says about dead letters.
func (e *edit) putLetters(tx kv.Txn, s store.Scope, sub *subscription) error {
	for _, value := range e.dead {
		sub.dead++
		sub.serial++
		if err := putDeadLetter(tx, s, sub.id, deadLetter{sub.serial, value}); err != nil {
			return err
		}
	}
	there, err := hasDeadLetters(tx, s, sub.id, e.touched())
	if err != nil {
		return err
	}
	for _, n := range e.discard {
		if there[n] {
			delete(there, n)
			sub.dead--
			if err := tx.Delete(deadLetterKey(s, sub.id, n)); err != nil {
				return err
			}
		}
	}
	for _, l := range e.rewrite {
		if there[l.number] {
			if err := putDeadLetter(tx, s, sub.id, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// touched are the numbers of the dead letters that there may be and that the edit names.
func (e *edit) touched() []uint64 {
	numbers := slices.Clone(e.discard)
	for _, l := range e.rewrite {
		numbers = append(numbers, l.number)
	}
	return numbers
}

func putDeadLetter(tx kv.Txn, s store.Scope, id string, l deadLetter) error {
	return tx.Put(deadLetterKey(s, id, l.number), append([]byte{rowVersion}, l.value...))
}

// hasDeadLetters returns which dead letters are there.
func hasDeadLetters(tx kv.Txn, s store.Scope, id string, numbers []uint64) (there map[uint64]bool, err error) {
	keys := make([][]byte, len(numbers))
	for i, n := range numbers {
		keys[i] = deadLetterKey(s, id, n)
	}
	values, err := tx.GetManyForUpdate(keys)
	there = map[uint64]bool{}
	for i := range values {
		if values[i] != nil {
			there[numbers[i]] = true
		}
	}
	return there, err
}

// removeFrom removes a subscription's rows, the dead letters that came since they were
// looked up among them. Commits of a database run one after the other, so nobody adds to
// them meanwhile.
func (e *edit) removeFrom(tx kv.Txn, s store.Scope, sub subscription) error {
	numbers, since := e.known.numbers, e.known.serial
	if sub.serial < since {
		since = 0 // it was removed and made again
	}
	for n := since + 1; n <= sub.serial; n++ {
		numbers = append(numbers, n)
	}
	err := errors.Join(tx.Delete(subscriptionKey(s, sub.id, subDefinition)), tx.Delete(subscriptionKey(s, sub.id, subState)))
	for _, n := range numbers {
		err = errors.Join(err, tx.Delete(deadLetterKey(s, sub.id, n)))
	}
	return err
}
