package server

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/kv"
)

// textCacheName is the directory within the data directory for files of full-text indexes:
// copies of what the store has, which may be removed at any time.
const textCacheName = "text-cache"

// sweepTextsEvery is how often files are looked for whose indexes were dropped.
const sweepTextsEvery = 10 * time.Minute

// cacheTexts sets what full-text indexes keep in memory and in files.
func (a *assembly) cacheTexts(o text.Options, s *config.Snapshot) text.Options {
	o.Cache = int(max(1<<20, s.Int("sectional", "text_cache", 512<<20)))
	if o.FilesLimit = s.Int("sectional", "text_cache_disk", 8<<30); o.FilesLimit > 0 {
		o.Files = filepath.Join(a.o.Data, textCacheName)
	}
	o.Build = int(a.sizes.builds)
	o.Room, o.Log = a.engine.Left, a.log
	return o
}

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
