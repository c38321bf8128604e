package certificates

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/acme"

	"github.com/sectional/sectional/internal/testkit/acmetest"
)

// TestServersThatFail have the ACME server away, refuse, and answer nonsense: it costs a bounded time, is told once, and
// is tried again later and no sooner.
func TestServersThatFail(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request) {
		for text := `{"newOrder":"`; r.Context().Err() == nil; text = strings.Repeat("a", 10000) {
			if _, err := w.Write([]byte(text)); err != nil {
				return
			}
		}
	}
	for what, f := range map[string]acmetest.Faults{
		"away":          {Instead: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"no such host":  {},
		"refuses":       {Refused: map[string]bool{name: true}},
		"new terms":     {NewTerms: true},
		"garbage":       {Instead: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }},
		"nothing":       {Instead: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }},
		"endless":       {Instead: endless},
		"endless error": {Instead: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden); endless(w, r) }},
		"leads away": {Instead: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}},
		"another key":  {Garble: true},
		"it has ended": {Life: time.Nanosecond},
		"no challenge": {Kinds: []string{"dns-01"}},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, name)
			right := w.set.Load().Directory
			if what == "no such host" {
				w.with(func(s *Settings) { s.Directory = "https://127.0.0.1:1/directory" })
			}
			w.ca.Set(f)
			for range 3 {
				w.turn()
			}
			if n := w.Numbers(); w.Certificate(name) != nil || n.Missing != 1 || n.Failures != 1 || w.log.count("level=ERROR") != 1 || w.rows.kinds()[kindChallenge] != 0 {
				t.Fatalf("%+v, %v\n%s", n, w.rows.kinds(), w.log.text.String())
			}
			if said := map[string]string{"new terms": "/agree", "endless": "too long", "leads away": "not https"}[what]; w.log.count(said) == 0 {
				t.Errorf("it does not say %q: %s", said, w.log.text.String())
			}
			w.ca.Set(acmetest.Faults{})
			w.with(func(s *Settings) { s.Directory = right })
			if w.turn(); w.Certificate(name) != nil && what != "no such host" {
				t.Error("it was asked again at once")
			}
			w.ahead.Add(int64(time.Minute))
			w.turn()
			w.serves(name)
			if w.log.count("can be got by ACME again") != 1 {
				t.Error(w.log.text.String())
			}
		})
	}
}

// TestSlowServer has an ACME server that never answers: an attempt ends, and who is served does not wait.
func TestSlowServer(t *testing.T) {
	w := newWorld(t, name)
	w.o.Pace.Budget = 50 * time.Millisecond
	w.ca.Set(acmetest.Faults{Instead: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }})
	w.look() // returns while the attempt is under way
	if w.all.Wait(); w.failures.Load() != 1 {
		t.Errorf("%d failures", w.failures.Load())
	}
	w.o.Pace.Budget = time.Minute
	w.ca.Set(acmetest.Faults{})
	w.Refresh() // an operator has mended it
	w.turn()
	w.serves(name)
}

// TestCloseGivesBack ends a server that is at a name: nothing has failed, and another may begin at once.
func TestCloseGivesBack(t *testing.T) {
	one := newWorld(t, name)
	asked := make(chan struct{}, 10)
	one.ca.Set(acmetest.Faults{Instead: func(_ http.ResponseWriter, r *http.Request) { asked <- struct{}{}; <-r.Context().Done() }})
	one.look()
	<-asked
	one.Close()
	one.ca.Set(acmetest.Faults{})
	two := join(t, one.ca, one.rows, one.ahead, *one.set.Load())
	one.ca.Lead(name, two.at)
	two.turn()
	two.serves(name)
	if one.failures.Load() != 0 || one.log.count("level=ERROR") != 0 {
		t.Error(one.log.text.String())
	}
}

// TestStoreIsAway has what is known served while the store does not answer.
func TestStoreIsAway(t *testing.T) {
	w := newWorld(t, name)
	w.turn()
	w.rows.away.Store(true)
	w.turn()
	w.turn()
	if w.serves(name); w.log.count("could not be read") != 1 {
		t.Error(w.log.text.String())
	}
	w.rows.away.Store(false)
	if w.turn(); w.ca.Issued(name) != 1 {
		t.Error("another certificate was got")
	}
}

// TestStrangers ask for what is not theirs: other tokens, other paths, other hosts, and names without end. Nothing is
// answered, nobody is asked for a certificate, and no names are remembered.
func TestStrangers(t *testing.T) {
	w := newWorld(t, name)
	w.turn()
	_, orders, _, _ := w.ca.Seen()
	is := challenge{until: w.now().Add(time.Hour), token: "the-token-of-this-challenge", response: "the answer"}
	err := w.rows.ChangeACMERow(t.Context(), kindChallenge, name, func([]byte) ([]byte, error) { return is.row(), nil })
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := w.Response(t.Context(), name, Path+is.token); !ok || text != is.response {
		t.Errorf("the ACME server is answered %q", text)
	}
	reads := w.rows.reads.Load()
	for _, q := range [][2]string{
		{"other.example.test", Path + is.token}, {"", Path + is.token}, {"127.0.0.1", Path + is.token}, {name + ".evil.test", Path + is.token},
		{name, Path}, {name, Path + "short"}, {name, Path + is.token + "/"}, {name, Path + "../" + is.token}, {name, Path + strings.Repeat("a", 300)}, {name, Path + is.token + "\x00"},
		{name, "/.well-known/" + is.token}, {name, "/" + is.token}, {name, "/_all_dbs"},
	} {
		if text, ok := w.Response(t.Context(), q[0], q[1]); ok {
			t.Errorf("%s%s is answered %q", q[0], q[1], text)
		}
	}
	for n := range 2000 {
		other := fmt.Sprintf("n%d.example.test", n)
		if _, err := w.Handshake(&tls.ClientHelloInfo{ServerName: other, SupportedProtos: []string{acme.ALPNProto}}); err == nil {
			t.Error("a handshake for another name is answered")
		}
		if w.Certificate(other) != nil {
			t.Error("another name has a certificate")
		}
	}
	if n := w.rows.reads.Load() - reads; n != 0 {
		t.Errorf("rows were read %d times", n)
	}
	if text, ok := w.Response(t.Context(), name, Path+"another-token-of-nobody"); ok {
		t.Errorf("another token is answered %q", text)
	}
	w.ahead.Add(int64(2 * time.Hour))
	if text, ok := w.Response(t.Context(), name, Path+is.token); ok {
		t.Errorf("after its time the token is answered %q", text)
	}
	if _, now, _, _ := w.ca.Seen(); now != orders || len(*w.served.Load()) != 1 {
		t.Errorf("%d orders, %d names", now, len(*w.served.Load()))
	}
}

// TestAsksShareReads: whoever came before rows are read shares the read.
func TestAsksShareReads(t *testing.T) {
	rows := &memory{rows: map[string][]byte{}}
	c := challenges{rows: rows, now: time.Now}
	came := c.begun.Load()
	for range 100 {
		if _, there, err := c.after(t.Context(), came, name); there || err != nil {
			t.Error(there, err)
		}
	}
	if n := rows.reads.Load(); n != 1 {
		t.Errorf("%d reads for those who came before", n)
	}
	is := challenge{until: time.Now().Add(time.Hour), token: "t"}
	rows.rows[kindChallenge+" "+name] = is.row()
	if _, there, err := c.of(t.Context(), name); !there || err != nil {
		t.Error("who comes later gets what was read before:", err)
	}
}

// TestNothingSecretIsLogged looks for keys in what is logged.
func TestNothingSecretIsLogged(t *testing.T) {
	w := newWorld(t, name)
	w.turn()
	for key, row := range w.rows.rows {
		if kind, _, _ := strings.Cut(key, " "); kind == kindCertificate {
			s, err := readState(row)
			if err != nil {
				t.Fatal(err)
			}
			for _, form := range []string{"%x", "%X", "%s", "%v", "%q"} {
				if text := fmt.Sprintf(form, s.key); w.log.count(text) > 0 {
					t.Errorf("the key is in the log as %s", form)
				}
			}
		}
	}
	if w.log.count(name) == 0 {
		t.Error("nothing is logged")
	}
}
