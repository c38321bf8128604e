package server

import (
	"context"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/kv/pgkv"
)

// place is an engine to copy from or to.
type place struct {
	kv.Engine
	name  string // without a password
	local string // the file with what was set over HTTP; "" where the engine has it
}

// inPostgres reports whether a place is a PostgreSQL server.
func inPostgres(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// openPlace opens a place: a source where there is data, which is only read, or a target
// where there may be nothing yet.
func openPlace(ctx context.Context, text string, source bool) (*place, error) {
	log := slog.New(slog.DiscardHandler)
	if inPostgres(text) {
		e, err := pgkv.Open(ctx, pgkv.Options{URL: text, Age: checkAge, Unsafe: os.Getenv(unsafeVariable) != "", Logger: log})
		if err != nil {
			return nil, err
		}
		return &place{Engine: e, name: withoutUser(text)}, nil
	}
	if source {
		if err := wantData(text); err != nil {
			return nil, err
		}
	} else if err := wantOwn(text); err != nil {
		return nil, err
	} else if err := keepPrivate(text, log); err != nil {
		return nil, err
	}
	e, err := pebblekv.Open(pebblekv.Options{Dir: text, Logger: log, Age: checkAge, ReadOnly: source})
	if err != nil {
		return nil, err
	}
	return &place{Engine: e, name: text, local: filepath.Join(text, localConfig)}, nil
}

// withoutUser is a URL as anybody may read it.
func withoutUser(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "the PostgreSQL server"
	}
	return (&url.URL{Scheme: "postgres", Host: u.Host, Path: u.Path}).String()
}
