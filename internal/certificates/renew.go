package certificates

import (
	"context"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"time"

	"golang.org/x/crypto/acme"

	"github.com/sectional/sectional/internal/outgoing"
)

// longestRest is how long the ACME server may have a name rest after a failure.
const longestRest = 24 * time.Hour

// due reports whether a certificate is to be got, and nobody is at it.
//
// Times in the row that are further ahead than anybody sets them were written by a clock that has been set back since. They
// count for nothing: else a name would wait until the clock is there again.
func (s *Service) due(set Settings, is state, hurry bool) bool {
	now := s.o.Now()
	ahead := func(t time.Time, most time.Duration) bool { return now.Before(t) && !now.Add(most).Before(t) }
	switch {
	case is.unreadable:
		return false
	case ahead(is.until, s.o.Pace.Budget+leaseBeyond): // somebody is at it
		return false
	case is.failures > 0 && is.lastDirectory == set.Directory && ahead(is.notBefore, longestRest) && !hurry:
		return false
	}
	return len(is.chain) == 0 || is.directory != set.Directory || !now.Before(is.renewed())
}

// renewed is when another certificate is to be got. A row that says so for a time after the certificate's end was written by a clock
// that was far ahead.
func (s state) renewed() time.Time {
	if leaf, err := x509.ParseCertificate(s.chain[0]); err == nil && s.renew.After(leaf.NotAfter) {
		return leaf.NotAfter.Add(-leaf.NotAfter.Sub(leaf.NotBefore) / 3)
	}
	return s.renew
}

// renewAt is when a certificate is renewed that was got now: when a third of its life is left, or a
// little earlier, so that those that were made together are not renewed together. Where the clocks
// of the servers are ahead of the ACME server's it is later, lest each new one be renewed at once.
func renewAt(leaf *x509.Certificate, now time.Time) time.Time {
	life := leaf.NotAfter.Sub(leaf.NotBefore)
	at := leaf.NotAfter.Add(-life/3 - time.Duration(rand.Float64()*float64(life/30)))
	if soonest := now.Add(life / 10); at.Before(soonest) {
		return soonest
	}
	return at
}

// renew gets a certificate for a name, unless another server does. tried: it was at it, whatever came of that.
func (s *Service) renew(set Settings, name string, hurry bool) (tried bool) {
	mine, err := s.claim(set, name, hurry)
	if err != nil || !mine {
		s.fails(name, err)
		return false
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.o.Pace.Budget)
	got, err := s.obtain(ctx, set, name)
	cancel()
	s.fails(name, errors.Join(err, s.finish(set, name, got, err)))
	return true
}

// fails tells of an attempt that failed, once until one succeeds.
func (s *Service) fails(name string, err error) {
	if err == nil || s.ctx.Err() != nil {
		return
	}
	s.failures.Add(1)
	if s.attempts.first(name) {
		s.o.Log.Error("no certificate could be got by ACME; it is tried again, with pauses", "name", name, "err", brief(err.Error()))
	} else {
		s.o.Log.Debug("no certificate could be got by ACME", "name", name, "err", brief(err.Error()))
	}
}

// claim puts into the name's row that this server is at it.
func (s *Service) claim(set Settings, name string, hurry bool) (mine bool, err error) {
	err = s.change(s.ctx, name, func(is *state) bool {
		if mine = s.due(set, *is, hurry); mine {
			is.holder, is.until = s.holder, s.o.Now().Add(s.o.Pace.Budget+leaseBeyond)
		}
		return mine
	})
	return mine && err == nil, err
}

// finish writes what became of an attempt, if this server is still at the name. When the service
// ends, the name is given back as it was.
func (s *Service) finish(set Settings, name string, got pair, failed error) error {
	ended := s.ctx.Err() != nil
	err := s.change(context.WithoutCancel(s.ctx), name, func(is *state) bool {
		if is.holder != s.holder {
			return false
		}
		is.holder, is.until = "", time.Time{}
		switch {
		case failed == nil:
			leaf, err := x509.ParseCertificate(got.chain[0])
			if err != nil {
				return false // it was parsed before
			}
			is.pair, is.directory, is.renew = got, set.Directory, renewAt(leaf, s.o.Now())
			is.failures, is.lastDirectory, is.notBefore = 0, "", time.Time{}
		case !ended:
			is.failures++
			is.lastDirectory, is.notBefore = set.Directory, s.o.Now().Add(s.pause(is.failures, failed))
		}
		return true
	})
	if failed == nil && err == nil && s.attempts.over(name) {
		s.o.Log.Info("certificates can be got by ACME again", "name", name)
	}
	return err
}

// pause is how long to wait after so many failures; the ACME server may ask for more.
func (s *Service) pause(failures uint64, err error) time.Duration {
	d := outgoing.Backoff(int(min(failures, 100)), s.o.Pace.Pause, longestPause, rand.Float64())
	var e *acme.Error
	if errors.As(err, &e) {
		if asked, limited := acme.RateLimit(e); limited {
			d = max(d, min(asked, longestRest))
		}
	}
	return d
}

// change changes what is known of a name, if fn reports that it did.
func (s *Service) change(ctx context.Context, name string, fn func(*state) bool) error {
	ctx, cancel := context.WithTimeout(ctx, rowsTime)
	defer cancel()
	return s.o.Rows.ChangeACMERow(ctx, kindCertificate, name, func(row []byte) ([]byte, error) {
		is, err := readState(row)
		if err != nil || !fn(&is) {
			return row, err
		}
		return is.row(), nil
	})
}

// left are the names of rows that nobody wants any more: no settings here have them, and had a
// server others it would have renewed the certificate.
func (s *Service) left(set Settings, states map[string]state) (names []string) {
	for name, is := range states {
		if !set.has(name) && s.isLeft(is) {
			names = append(names, name)
		}
	}
	return names
}

func (s *Service) isLeft(is state) bool {
	if len(is.chain) == 0 || s.o.Now().Before(is.until) {
		return false
	}
	leaf, err := x509.ParseCertificate(is.chain[0])
	return err == nil && s.o.Now().After(leaf.NotAfter.Add(keptAfterEnd))
}

// forget removes the row of a name that is left.
func (s *Service) forget(name string) {
	ctx, cancel := context.WithTimeout(s.ctx, rowsTime)
	defer cancel()
	err := s.o.Rows.ChangeACMERow(ctx, kindCertificate, name, func(row []byte) ([]byte, error) {
		if is, err := readState(row); err != nil || !s.isLeft(is) {
			return row, err
		}
		return nil, nil
	})
	if err != nil {
		s.o.Log.Debug("a certificate that nobody wants could not be removed", "name", name, "err", err)
	}
}
