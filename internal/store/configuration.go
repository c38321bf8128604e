package store

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// The configuration that all servers of a store have lies in two rows, so that it takes a
// number to see whether it has changed.
const (
	metaConfiguration        = "configuration"
	metaConfigurationVersion = "configuration-version"
)

// configurationWait is how long a read or a change of the configuration may take.
const configurationWait = 10 * time.Second

// Configuration is what the servers of one store share of their configuration. It needs
// no open Store, which is opened as the configuration says.
type Configuration struct{ engine kv.Engine }

var _ config.Shared = Configuration{}

// ConfigurationIn returns the configuration in an engine.
func ConfigurationIn(e kv.Engine) Configuration { return Configuration{engine: e} }

// Configured is the configuration that a process has in effect, of those that the servers of
// a store have had. *config.Config implements it.
type Configured interface {
	// SharedVersion is its version in the store.
	SharedVersion() uint64
	// Refresh brings the newest into effect.
	Refresh() error
}

// claimConfiguration adds the claim that the configuration in effect is the store's: it says
// who is an administrator, and what everybody may do.
func (s *Store) claimConfiguration(c *Preconditions) {
	if s.o.Configured == nil {
		return
	}
	if s.misconfigured.Swap(false) {
		if err := s.o.Configured.Refresh(); err != nil {
			s.misconfigured.Store(true)
		}
	}
	version := s.o.Configured.SharedVersion()
	c.add(precondition{key: metaKey(metaConfigurationVersion), holds: func(value []byte) bool {
		if value == nil {
			return version == 0
		}
		now, err := packed.ReadNumber(value)
		return err == nil && now == version
	}, forget: func() { s.misconfigured.Store(true) }})
}

// isConfiguration reports whether a key is that of a row of the configuration.
func isConfiguration(key []byte) bool {
	return bytes.Equal(key, metaKey(metaConfiguration)) || bytes.Equal(key, metaKey(metaConfigurationVersion))
}

// Read implements config.Shared.
func (c Configuration) Read() (text string, version uint64, err error) {
	err = c.view(func(v kv.Snapshot) error {
		if version, err = counter(v.Get(metaKey(metaConfigurationVersion))); err != nil || version == 0 {
			return err
		}
		value, err := v.Get(metaKey(metaConfiguration))
		if err != nil {
			return err
		}
		u := packed.ReadVersion(value, rowVersion)
		text = u.Text()
		return u.Done()
	})
	return text, version, dberr.Wrap("store.Configuration", err)
}

// Version implements config.Shared.
func (c Configuration) Version() (version uint64, err error) {
	err = c.view(func(v kv.Snapshot) error {
		version, err = counter(v.Get(metaKey(metaConfigurationVersion)))
		return err
	})
	return version, dberr.Wrap("store.Configuration", err)
}

func (c Configuration) view(fn func(kv.Snapshot) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), configurationWait)
	defer cancel()
	return c.engine.View(ctx, fn)
}

// Write implements config.Shared. When it is unknown what became of it, it is written
// again: whichever of the two comes second finds another version, and what is there then
// tells whose it is.
func (c Configuration) Write(text string, version uint64) error {
	err := c.write(text, version)
	for again := 0; dberr.Is(err, dberr.UnknownOutcome) && again < 100; again++ {
		if err = c.write(text, version); errors.Is(err, config.ErrChanged) {
			return c.settle(text, version)
		}
	}
	return err
}

// settle reports whether a write that found another version had been carried out before.
// Of two that write the same text it does not matter whose it is.
func (c Configuration) settle(text string, version uint64) error {
	now, at, err := c.Read()
	if err == nil && (now != text || at != version+1) {
		return config.ErrChanged
	}
	return err
}

func (c Configuration) write(text string, version uint64) error {
	if len(text) > longestSystemRow {
		return dberr.New(dberr.TooLarge, "too_large", "The configuration would have %d bytes; %d are allowed.", len(text), longestSystemRow)
	}
	ctx, cancel := context.WithTimeout(context.Background(), configurationWait)
	defer cancel()
	err := c.engine.Update(ctx, func(tx kv.Txn) error {
		last, err := counter(tx.GetForUpdate(metaKey(metaConfigurationVersion)))
		if err != nil {
			return err
		}
		if last != version {
			return config.ErrChanged
		}
		p := packed.Writer{}
		p.Byte(rowVersion)
		p.Text(text)
		return errors.Join(tx.Put(metaKey(metaConfiguration), p),
			tx.Put(metaKey(metaConfigurationVersion), packed.Number(version+1)))
	})
	if errors.Is(err, config.ErrChanged) {
		return config.ErrChanged
	}
	return dberr.Wrap("store.Configuration", err)
}
