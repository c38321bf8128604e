package store

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestConfiguration sets values by several servers of one engine, on which commits fail,
// get lost, or are carried out without an answer: none is lost, none is undone.
func TestConfiguration(t *testing.T) {
	e := kvtest.NewFaults(kvtest.NewModel(kvtest.ModelOptions{}))
	const servers, each = 3, 30
	at := make([]*config.Config, servers)
	for n := range at {
		c, err := config.Open(config.Options{})
		if err == nil {
			err = c.Share(ConfigurationIn(e))
		}
		if err != nil {
			t.Fatal(err)
		}
		at[n] = c
	}
	e.Randomly(7, kvtest.Rates{kvtest.LostCommit: 20, kvtest.LostAnswer: 20, kvtest.Rerun: 20})
	var all sync.WaitGroup
	for n, c := range at {
		all.Go(func() {
			for i := range each {
				name := fmt.Sprintf("n%d-%d", n, i)
				if _, err := c.Set(config.Setting{Section: "admins", Key: name, Value: "x"}, true); err != nil {
					t.Error(err)
				}
				if i%2 == 0 {
					continue
				}
				if _, err := c.Delete("admins", name, true); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	e.Randomly(0, nil)
	for _, c := range at {
		if err := c.Refresh(); err != nil {
			t.Fatal(err)
		}
		if got := len(c.Snapshot().Section("admins")); got != servers*each/2 {
			t.Errorf("%d administrators, want %d", got, servers*each/2)
		}
	}
}

// TestLongConfiguration: a configuration that is too long for a row is refused, and what was
// there stays.
func TestLongConfiguration(t *testing.T) {
	c := ConfigurationIn(kvtest.NewModel(kvtest.ModelOptions{Limits: kv.Limits{Key: 100, Value: 8 << 20, Txn: 8 << 20, Age: time.Minute}}))
	if err := c.Write(strings.Repeat("x", longestSystemRow), 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(strings.Repeat("y", longestSystemRow+1), 1); !dberr.Is(err, dberr.TooLarge) {
		t.Errorf("a longer one: %v", err)
	}
	if text, version, err := c.Read(); err != nil || version != 1 || len(text) != longestSystemRow {
		t.Errorf("version %d of %d bytes, %v", version, len(text), err)
	}
}
