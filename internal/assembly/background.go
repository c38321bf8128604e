package assembly

import (
	"context"
	"log/slog"
	"time"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/subscribe"
)

// sweepTextsEvery is how often files are looked for whose indexes were dropped.
const sweepTextsEvery = 10 * time.Minute

// sweepTexts has files removed whose segments are gone, now and then until stop is called.
func sweepTexts(texts *text.Kind, e kv.Engine, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for wait := time.Duration(0); ; wait = sweepTextsEvery {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			if err := e.View(ctx, texts.Sweep); err != nil && ctx.Err() == nil {
				log.Error("files of full-text indexes that were dropped could not be looked for", "error", err)
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// maxDead is the most that [subscriptions] max_dead can be: the numbers of all
// dead letters of a subscription must fit one row.
const maxDead = 10_000

// startSubscriptions begins deliveries, as [subscriptions] says.
func (s *Server) startSubscriptions(o Options) *subscribe.Service {
	private := config.Derive(s.Config, func(s *config.Snapshot) bool { return s.Bool("subscriptions", "allow_private", false) })
	bounds := config.Derive(s.Config, func(s *config.Snapshot) subscribe.Bounds {
		or := subscribe.DefaultBounds()
		return subscribe.Bounds{
			Workers: int(s.Int("subscriptions", "workers", int64(or.Workers))),
			Scope:   int(s.Int("subscriptions", "max_per_scope", int64(or.Scope))),
			Dead:    int(min(maxDead, s.Int("subscriptions", "max_dead", int64(or.Dead)))),
		}
	})
	return subscribe.New(subscribe.Options{Store: s.Store, Now: s.Store.Now, AllowPrivate: private.Value, Bounds: bounds.Value, Logger: s.Log, Version: o.Version, Idle: o.Idle})
}
