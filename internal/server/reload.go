package server

import (
	"context"
	"os"
)

// followReloads reads the configuration's files and the certificate again at each signal, until ctx ends.
// Files that can't be read leave everything as it is.
func (a *instance) followReloads(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		if err := a.reload(ctx); err != nil {
			a.log.Error("the configuration could not be read again; it stays as it was", "err", err)
			continue
		}
		a.log.Info("the configuration was read again")
	}
}

// reload does what `_reload` does over HTTP, and looks at the certificate.
func (a *instance) reload(ctx context.Context) error {
	if err := a.config.Reload(); err != nil {
		return err
	}
	if a.secured != nil {
		a.secured.refresh()
	}
	return a.API.MakeAuthDesign(ctx)
}
