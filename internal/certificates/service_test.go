package certificates

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/acmetest"
)

const name = "db.example.test"

// TestObtained gets a certificate by each challenge, and by the second where the first can't be passed.
func TestObtained(t *testing.T) {
	for _, c := range []struct {
		want   []string
		lead   func(acmetest.Addresses) acmetest.Addresses
		passed string
		orders int
	}{
		{[]string{TLSALPN}, nil, TLSALPN, 1},
		{[]string{HTTP}, nil, HTTP, 1},
		{nil, nil, TLSALPN, 1},
		{nil, func(a acmetest.Addresses) acmetest.Addresses { a.TLS = a.HTTP; return a }, HTTP, 2},
		{[]string{HTTP, TLSALPN}, func(a acmetest.Addresses) acmetest.Addresses { a.HTTP = a.TLS; return a }, TLSALPN, 2},
	} {
		w := newWorld(t, name)
		w.with(func(s *Settings) { s.Challenges = c.want })
		if c.lead != nil {
			w.ca.Lead(name, c.lead(w.at))
		}
		w.turn()
		w.serves(name)
		accounts, orders, contact, passed := w.ca.Seen()
		if accounts != 1 || orders != c.orders || !slices.Equal(passed, []string{c.passed}) || !slices.Equal(contact, []string{"mailto:ops@example.com"}) {
			t.Errorf("%v: %d accounts of %v, %d orders, passed %v", c.want, accounts, contact, orders, passed)
		}
		w.turn()
		if n := w.ca.Issued(name); n != 1 || w.failures.Load() != 0 {
			t.Errorf("%d certificates, %d failures", n, w.failures.Load())
		}
		if kinds := w.rows.kinds(); kinds[kindChallenge] != 0 || kinds[kindAccount] != 1 || kinds[kindCertificate] != 1 {
			t.Errorf("rows: %v", kinds)
		}
	}
}

// TestLazyServer gets a certificate that takes the ACME server a while.
func TestLazyServer(t *testing.T) {
	w := newWorld(t, name)
	w.ca.Set(acmetest.Faults{Lazy: true})
	w.turn()
	w.serves(name)
	if _, orders, _, _ := w.ca.Seen(); orders != 1 {
		t.Errorf("%d orders", orders)
	}
}

// TestBoundAccount asks an ACME server that wants to know of which of its accounts besides one is.
func TestBoundAccount(t *testing.T) {
	w := newWorld(t, name)
	w.ca.Set(acmetest.Faults{Bound: []byte("a key that it gave")})
	if w.turn(); w.Certificate(name) != nil || w.log.count("nobody here knows") != 1 {
		t.Errorf("without an account besides: %s", w.log.text.String())
	}
	for n, mac := range []string{"YSBrZXkgb2Ygb3RoZXJz", "YSBrZXkgdGhhdCBpdCBnYXZl"} {
		w.with(func(s *Settings) { s.KeyID, s.MAC = "bound", mac })
		w.Refresh()
		if w.turn(); w.ca.Issued(name) != n {
			t.Errorf("%s: %d certificates\n%s", mac, w.ca.Issued(name), w.log.text.String())
		}
	}
	w.serves(name)
	if w.log.count("YSBrZXkg") != 0 {
		t.Error("the key is in the log")
	}
}

// TestRenewed has a certificate near its end: there is a new one before, and the old one while there is none, though it has ended.
func TestRenewed(t *testing.T) {
	w := newWorld(t, name)
	w.turn()
	first := w.serves(name)
	w.pass(56*24*time.Hour, acmetest.Faults{})
	if w.turn(); w.serves(name) != first {
		t.Error("renewed after 56 of 90 days")
	}
	w.pass(5*24*time.Hour, acmetest.Faults{})
	w.turn()
	second := w.serves(name)
	if n := w.ca.Issued(name); second == first || n != 2 {
		t.Errorf("not renewed after 61 of 90 days: %d certificates", n)
	}
	w.pass(100*24*time.Hour, acmetest.Faults{Refused: map[string]bool{name: true}})
	w.turn()
	w.turn()
	if c := w.Certificate(name); c == nil || c.Leaf.SerialNumber.String() != second {
		t.Error("a certificate that has ended is not served")
	}
	if n := w.Numbers(); n.Missing != 1 || n.Failures != 1 || n.Ends.After(w.now()) || w.log.count("has ended") != 1 {
		t.Errorf("%+v\n%s", n, w.log.text.String())
	}
	w.pass(2*time.Minute, acmetest.Faults{})
	if w.turn(); w.serves(name) == second || w.Numbers().Missing != 0 {
		t.Error("not renewed after its end")
	}
	// A clock that is far ahead does not renew for ever.
	w.ahead.Add(int64(80 * 24 * time.Hour))
	w.turn()
	if w.turn(); w.ca.Issued(name) != 4 {
		t.Errorf("%d certificates", w.ca.Issued(name))
	}
}

// TestSeveralServers has one server get what all serve, and another answer its challenges.
func TestSeveralServers(t *testing.T) {
	one := newWorld(t, name)
	two := join(t, one.ca, one.rows, one.ahead, *one.set.Load())
	for _, kind := range []string{TLSALPN, HTTP} {
		at := kind[:4] + ".example.test"
		one.ca.Lead(at, two.at)
		one.with(func(s *Settings) { s.Names, s.Challenges = append(slices.Clone(s.Names), at), []string{kind} })
		two.set.Store(one.set.Load())
		one.turn()
		one.serves(at)
		two.look()
		if two.serves(at) != one.serves(at) {
			t.Error("they serve different certificates")
		}
		if _, _, _, passed := one.ca.Seen(); passed[len(passed)-1] != kind {
			t.Errorf("passed %v", passed)
		}
	}
	// All of them at once.
	var names []string
	for _, part := range strings.Split("abcdef", "") {
		names = append(names, part+".example.test")
		one.ca.Lead(part+".example.test", two.at)
	}
	one.with(func(s *Settings) { s.Names = names })
	two.set.Store(one.set.Load())
	three := join(t, one.ca, one.rows, one.ahead, *one.set.Load())
	var all sync.WaitGroup
	for _, w := range []*world{one, two, three} {
		all.Go(w.turn)
	}
	all.Wait()
	for _, name := range names {
		for _, w := range []*world{one, two, three} {
			w.look()
			w.serves(name)
		}
		if n := one.ca.Issued(name); n != 1 {
			t.Errorf("%d certificates for %s", n, name)
		}
	}
	if accounts, _, _, _ := one.ca.Seen(); accounts != 1 {
		t.Errorf("%d accounts", accounts)
	}
}

// TestServerIsGone takes a server away that is at a name: another takes over when its time is up.
func TestServerIsGone(t *testing.T) {
	one := newWorld(t, name)
	if mine, err := one.claim(*one.set.Load(), name, false); err != nil || !mine {
		t.Fatal(mine, err)
	}
	two := join(t, one.ca, one.rows, one.ahead, *one.set.Load())
	one.ca.Lead(name, two.at)
	if two.turn(); one.ca.Issued(name) != 0 {
		t.Error("two servers are at a name")
	}
	one.pass(4*time.Minute, acmetest.Faults{})
	two.turn()
	two.serves(name)
	// The first one comes back with what it got, too late.
	before, err := one.rows.ACMERow(t.Context(), kindCertificate, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, failed := range []error{nil, http.ErrServerClosed} {
		if err := one.finish(*one.set.Load(), name, pair{chain: two.Certificate(name).Certificate}, failed); err != nil {
			t.Error(err)
		}
	}
	if after, err := one.rows.ACMERow(t.Context(), kindCertificate, name); err != nil || !bytes.Equal(before, after) || one.ca.Issued(name) != 1 {
		t.Error("who came too late has changed something", err)
	}
}

// TestSettingsChange adds and takes away names, changes the ACME server and the address of mail.
func TestSettingsChange(t *testing.T) {
	w := newWorld(t, name)
	w.turn()
	w.ca.Lead("two.example.test", w.at)
	w.with(func(s *Settings) { s.Names, s.Email = []string{"two.example.test", name}, "new@example.com" })
	w.turn()
	w.serves("two.example.test")
	w.serves(name)
	if w.First() != w.Certificate("TWO.example.test.") {
		t.Error("the first name's certificate is another")
	}
	if accounts, _, contact, _ := w.ca.Seen(); accounts != 1 || !slices.Equal(contact, []string{"mailto:new@example.com"}) {
		t.Errorf("%d accounts of %v", accounts, contact)
	}
	other := acmetest.New(t)
	other.Lead(name, w.at)
	w.with(func(s *Settings) { s.Names, s.Directory, s.Roots = []string{name}, other.Directory(), other.RootFile() })
	w.turn()
	if w.Certificate("two.example.test") != nil || other.Issued(name) != 1 {
		t.Errorf("%d certificates of the other ACME server", other.Issued(name))
	}
	if kinds := w.rows.kinds(); kinds[kindCertificate] != 2 {
		t.Errorf("rows: %v", kinds)
	}
	w.ahead.Store(int64(121 * 24 * time.Hour))
	other.Set(acmetest.Faults{Ahead: 121 * 24 * time.Hour})
	if w.turn(); w.rows.kinds()[kindCertificate] != 1 || other.Issued(name) != 2 {
		t.Errorf("what nobody wants is kept: %v", w.rows.kinds())
	}
	w.with(func(s *Settings) { s.Names = nil })
	if w.turn(); w.Certificate(name) != nil || w.First() != nil {
		t.Error("a name that is not configured has a certificate")
	}
}

func TestCheck(t *testing.T) {
	good := Settings{Names: []string{name}, Directory: "https://ca.example/directory", Accepted: true}
	if s, err := good.Check(); err != nil || !slices.Equal(s.Challenges, []string{TLSALPN, HTTP}) {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := (Settings{Directory: "x"}).Check(); err != nil || len(s.Names) != 0 {
		t.Errorf("without names: %v", err)
	}
	for want, change := range map[string]func(*Settings){
		"acme_accept_terms": func(s *Settings) { s.Accepted = false },
		"acme_directory":    func(s *Settings) { s.Directory = "http://ca.example/directory" },
		"acme_email":        func(s *Settings) { s.Email = "ops@example.com, other@example.com" },
		"acme_eab_key_id":   func(s *Settings) { s.KeyID = "bound" },
		"in base64":         func(s *Settings) { s.KeyID, s.MAC = "bound", "a key" },
		"acme_challenges":   func(s *Settings) { s.Challenges = []string{"dns-01"} },
	} {
		bad := good
		change(&bad)
		if _, err := bad.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
