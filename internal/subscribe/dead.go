package subscribe

import (
	"context"

	"github.com/sectional/sectional/internal/store"
)

// letter reads a dead letter; one that is not there is empty.
func (s *Service) letter(ctx context.Context, scope store.Scope, id string, number uint64) (l letter, err error) {
	err = scope.View(ctx, func(r *store.Reader) error {
		for dead, err := range r.DeadLetters(id, number-1) {
			if err != nil || dead.Number != number {
				return err
			}
			l, err = decodeLetter(dead.Value)
			return err
		}
		return nil
	})
	return l, err
}

// Retry has dead letters sent again, before anything else: those of the numbers,
// or all of them for nil. It also ends a pause after failures. It gives how many
// there are to be sent. NotFound.
func (s *Service) Retry(ctx context.Context, scope store.Scope, id string, numbers []uint64) (n int, err error) {
	there, err := s.numbers(ctx, scope, id)
	if err != nil {
		return 0, err
	}
	err = s.edit(ctx, scope, id, func(sub *store.Subscription, n2 *note) store.SubscriptionEdit {
		n2.renew()
		n2.Retry = pick(there, numbers)
		n = len(n2.Retry)
		return store.SubscriptionEdit{}
	})
	return n, err
}

// Forget removes dead letters: those of the numbers, or all for nil. It gives
// how many went. NotFound.
func (s *Service) Forget(ctx context.Context, scope store.Scope, id string, numbers []uint64) (n int, err error) {
	there, err := s.numbers(ctx, scope, id)
	if err != nil {
		return 0, err
	}
	gone := pick(there, numbers)
	err = s.edit(ctx, scope, id, func(_ *store.Subscription, n *note) store.SubscriptionEdit {
		for _, g := range gone {
			n.Retry = without(n.Retry, g)
		}
		return store.SubscriptionEdit{Discard: gone}
	})
	return len(gone), err
}

// pick returns those of numbers that are there, all of them for nil.
func pick(there, numbers []uint64) (picked []uint64) {
	if numbers == nil {
		return there
	}
	wanted := map[uint64]bool{}
	for _, n := range numbers {
		wanted[n] = true
	}
	for _, n := range there {
		if wanted[n] {
			picked = append(picked, n)
		}
	}
	return picked
}

// numbers lists a subscription's dead letters; NotFound when it is not there.
func (s *Service) numbers(ctx context.Context, scope store.Scope, id string) (list []uint64, err error) {
	err = scope.View(ctx, func(r *store.Reader) error {
		sub, err := r.Subscription(id)
		if err != nil || sub.Definition == nil {
			return orNone(err)
		}
		for l, err := range r.DeadLetters(id, 0) {
			if err != nil {
				return err
			}
			list = append(list, l.Number)
		}
		return nil
	})
	return list, err
}

func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

// edit changes what is remembered of a subscription and wakes it.
func (s *Service) edit(ctx context.Context, scope store.Scope, id string, fn func(*store.Subscription, *note) store.SubscriptionEdit) error {
	err := scope.EditSubscription(ctx, id, func(sub *store.Subscription) (e store.SubscriptionEdit, err error) {
		if sub.Definition == nil {
			return e, errNone
		}
		n, err := decodeNote(sub.Note)
		if err != nil {
			return e, err
		}
		e = fn(sub, &n)
		sub.Note, err = n.encode()
		return e, err
	})
	if err == nil {
		s.wake(scope, id)
	}
	return err
}
