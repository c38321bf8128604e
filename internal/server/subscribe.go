package server

import (
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/subscribe"
)

// mostDead is the most that [subscriptions] max_dead can be: the numbers of all
// dead letters of a subscription must fit one row.
const mostDead = 10_000

// subscriptions begins deliveries, as [subscriptions] says.
func (a *assembly) startSubscriptions(s *store.Store) *subscribe.Service {
	private := config.Derive(a.config, func(s *config.Snapshot) bool { return s.Bool("subscriptions", "allow_private", false) })
	bounds := config.Derive(a.config, func(s *config.Snapshot) subscribe.Bounds {
		or := subscribe.DefaultBounds()
		return subscribe.Bounds{
			Workers: int(s.Int("subscriptions", "workers", int64(or.Workers))),
			Scope:   int(s.Int("subscriptions", "max_per_scope", int64(or.Scope))),
			Dead:    int(min(mostDead, s.Int("subscriptions", "max_dead", int64(or.Dead)))),
		}
	})
	return subscribe.New(subscribe.Options{Store: s, Now: s.Now, AllowPrivate: private.Value, Bounds: bounds.Value, Logger: a.log, Version: a.o.Version})
}
