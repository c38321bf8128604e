package certificates

import (
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/acmetest"
)

// TestClockIsSetBack writes rows while the clock is a year, or most of a certificate's life, ahead. When it is right again they keep nobody
// from a name.
func TestClockIsSetBack(t *testing.T) {
	const year = 365 * 24 * time.Hour
	t.Run("a server was at the name", func(t *testing.T) {
		w := newWorld(t, name)
		w.ahead.Add(int64(year))
		if mine, err := w.claim(*w.set.Load(), name, false); !mine || err != nil {
			t.Fatal(mine, err)
		}
		two := join(t, w.ca, w.rows, w.ahead, *w.set.Load())
		w.ca.Lead(name, two.at)
		if two.turn(); two.Certificate(name) != nil {
			t.Error("two servers are at it")
		}
		w.ahead.Add(-int64(year))
		two.turn()
		two.serves(name)
	})
	t.Run("an attempt failed", func(t *testing.T) {
		w := newWorld(t, name)
		w.ahead.Add(int64(year))
		w.ca.Set(acmetest.Faults{Refused: map[string]bool{name: true}})
		w.turn()
		w.ca.Set(acmetest.Faults{})
		w.ahead.Add(-int64(year))
		w.turn()
		w.serves(name)
	})
	t.Run("a certificate was got", func(t *testing.T) {
		w := newWorld(t, name)
		w.ahead.Add(int64(85 * 24 * time.Hour)) // of 90; it would be renewed after nine days then
		w.turn()
		first := w.serves(name)
		w.ahead.Add(-int64(85 * 24 * time.Hour))
		w.pass(62*24*time.Hour, acmetest.Faults{})
		if w.turn(); w.serves(name) == first {
			t.Error("not renewed after 62 of 90 days")
		}
	})
}

// TestRowsThatCannotBeRead has rows of another name that nobody can read: they keep no certificate from the names beside.
func TestRowsThatCannotBeRead(t *testing.T) {
	const other = "other.example.test"
	w := newWorld(t, name)
	for _, kind := range []string{kindCertificate, kindChallenge} {
		w.rows.rows[kind+" "+other] = []byte("\xffnobody knows what this is")
	}
	w.with(func(s *Settings) { s.Names = append(s.Names, other) })
	w.turn()
	w.serves(name)
	if n := w.Numbers(); n.Missing != 1 || w.log.count("level=ERROR") != 1 || w.log.count(other) == 0 {
		t.Errorf("%+v\n%s", n, w.log.text.String())
	}
	if got := string(w.rows.rows[kindCertificate+" "+other]); !strings.HasPrefix(got, "\xffnobody") {
		t.Errorf("the row was overwritten: %q", got)
	}
}

// TestNothingCanBeWritten has a store that can be read and not be written: it is looked at now and then, and not again and again.
func TestNothingCanBeWritten(t *testing.T) {
	w := newWorld(t, name)
	w.rows.full.Store(true)
	w.look()
	if w.all.Wait(); len(w.poke) != 0 || w.failures.Load() != 1 || w.busy.Load() {
		t.Errorf("woken: %d, %d failures", len(w.poke), w.failures.Load())
	}
	w.rows.full.Store(false)
	w.look()
	if w.all.Wait(); len(w.poke) != 1 {
		t.Error("what was got is not looked at")
	}
	w.look()
	w.serves(name)
}
