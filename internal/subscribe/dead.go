package subscribe

import (
	"context"

	"github.com/sectional/sectional/internal/store"
)

// letter reads a dead letter; one that is not there is empty.
func (s *Service) letter(ctx context.Context, scope store.Scope, id string, number uint64) (l letter, err error) {
	err = scope.View(ctx, func(r *store.Reader) error {
		for dead, err := range letters(r, id, number-1) {
			if err != nil || dead.number != number {
				return err
			}
			l, err = decodeLetter(dead.value)
			return err
		}
		return nil
	})
	return l, err
}

// Retry has dead letters sent again, before anything else: those of the numbers,
// or all of them for nil. It also ends a pause after failures. It returns how many
// there are to be sent. NotFound.
func (s *Service) Retry(ctx context.Context, scope store.Scope, id string, numbers []uint64) (n int, err error) {
	there, err := s.numbers(ctx, scope, id)
	if err != nil {
		return 0, err
	}
	err = s.remember(ctx, scope, id, func(sub *subscription, n2 *note) edit {
		n2.renew()
		n2.Retry = pick(there, numbers)
		n = len(n2.Retry)
		return edit{}
	})
	return n, err
}

// DiscardDeadLetters removes dead letters: those of the numbers, or all for nil. It returns
// how many went. NotFound.
func (s *Service) DiscardDeadLetters(ctx context.Context, scope store.Scope, id string, numbers []uint64) (n int, err error) {
	there, err := s.numbers(ctx, scope, id)
	if err != nil {
		return 0, err
	}
	gone := pick(there, numbers)
	err = s.remember(ctx, scope, id, func(_ *subscription, n *note) edit {
		for _, g := range gone {
			n.Retry = without(n.Retry, g)
		}
		return edit{discard: gone}
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

// numbers returns the numbers of a subscription's dead letters; NotFound.
func (s *Service) numbers(ctx context.Context, scope store.Scope, id string) (list []uint64, err error) {
	known, err := s.knownLetters(ctx, scope, id)
	if err != nil || known == nil {
		return nil, orNone(err)
	}
	return known.numbers, nil
}

// knownLetters looks up the dead letters of a subscription; nil if there is none.
func (s *Service) knownLetters(ctx context.Context, scope store.Scope, id string) (known *knownLetters, err error) {
	err = scope.View(ctx, func(r *store.Reader) error {
		known = nil
		sub, err := read(r, id)
		if err != nil || sub.definition == nil {
			return err
		}
		known = &knownLetters{serial: sub.serial}
		for l, err := range letters(r, id, 0) {
			if err != nil {
				return err
			}
			known.numbers = append(known.numbers, l.number)
		}
		return nil
	})
	return known, err
}

func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

// remember changes what is remembered of a subscription.
func (s *Service) remember(ctx context.Context, scope store.Scope, id string, fn func(*subscription, *note) edit) error {
	_, err := s.editRows(ctx, scope, id, func(sub *subscription) (e edit, err error) {
		if sub.definition == nil {
			return e, errNone
		}
		n, err := decodeNote(sub.note)
		if err != nil {
			return e, err
		}
		e = fn(sub, &n)
		sub.note, err = n.encode()
		return e, err
	})
	return err
}
