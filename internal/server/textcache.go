package server

import (
	"path/filepath"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/index/text"
)

// textCacheName is the directory within the data directory for files of full-text indexes:
// copies of what the store has, which may be removed at any time.
const textCacheName = "text-cache"

// textOptions are the sizes of full-text indexes, and the directories for their files.
func (a *instance) textOptions(s *config.Snapshot) (o text.Options, err error) {
	if o.Scratch, err = emptyScratch(a.o.Data); err != nil {
		return o, err
	}
	o.Cache = int(max(1<<20, s.Int("sectional", "text_cache", 512<<20)))
	if o.FilesLimit = s.Int("sectional", "text_cache_disk", 8<<30); o.FilesLimit > 0 {
		o.Files = filepath.Join(a.o.Data, textCacheName)
	}
	o.Build, o.Room = int(a.sizes.builds), a.engine.Left
	return o, nil
}
