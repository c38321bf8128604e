package auth

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sectional/sectional/internal/config"
)

// The vectors of RFC 6070 for SHA-1 and the usual ones for SHA-256.
func TestVerifierVectors(t *testing.T) {
	for _, c := range []struct {
		v        Verifier
		password string
	}{
		{Verifier{schemePBKDF2, "sha", 1, "salt", "0c60c80f961f0e71f3a9b524af6012062fe037a6"}, "password"},
		{Verifier{schemePBKDF2, "sha", 4096, "salt", "4b007901b765489abead49d926f721d065a429c1"}, "password"},
		{Verifier{schemePBKDF2, "sha256", 1, "salt", "120fb6cffcf8b32c43e7225256c4f837a86548c92ccc35480805987cb70be17b"}, "password"},
		{Verifier{schemePBKDF2, "sha256", 4096, "salt", "c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a"}, "password"},
		{Verifier{Scheme: schemeSimple, Salt: "salt", Key: "c88e9c67041a74e0357befdff93f87dde0904214"}, "password"},
	} {
		for password, want := range map[string]bool{c.password: true, c.password + "x": false, "": false} {
			if got, err := c.v.matches(password); got != want || err != nil {
				t.Errorf("%v accepts %q: %v, %v", c.v, password, got, err)
			}
		}
	}
	if got, _ := (Verifier{}).matches(""); got {
		t.Error("no verifier accepts the empty password")
	}
}

func TestAdminLines(t *testing.T) {
	for _, c := range []struct {
		line string
		want Verifier
		ok   bool
	}{
		{"-pbkdf2-aa,bb,10", Verifier{schemePBKDF2, "sha", 10, "bb", "aa"}, true},
		{"-pbkdf2:sha256-aa,bb,600000", Verifier{schemePBKDF2, "sha256", 600000, "bb", "aa"}, true},
		{"-hashed-aa,bb", Verifier{Scheme: schemeSimple, Salt: "bb", Key: "aa"}, true},
		{"-pbkdf2:md5-aa,bb,1", Verifier{}, false},
		{"-pbkdf2-aa,bb", Verifier{}, false},
		{"-pbkdf2-aa,bb,0", Verifier{}, false},
		{"-pbkdf2-aa,bb,x", Verifier{}, false},
		{"-hashed-aa", Verifier{}, false},
		{"secret", Verifier{}, false},
	} {
		v, ok := parseAdminLine(c.line)
		if ok != c.ok || ok && v != c.want {
			t.Errorf("%s: %+v, %v", c.line, v, ok)
		}
	}
	v := Verifier{schemePBKDF2, "sha256", 7, "bb", "aa"}
	if back, ok := parseAdminLine(v.adminLine()); !ok || back != v {
		t.Errorf("%s is read as %v", v.adminLine(), back)
	}
}

func TestHashAdminsAndSetAdmin(t *testing.T) {
	w := newWorld(t, config.Setting{Section: "admins", Key: "anna", Value: "clear"})
	if _, err := w.Authenticate(t.Context(), basic("anna", "clear")); err == nil {
		t.Error("a clear line lets somebody in before it is hashed")
	}
	if err := HashAdmins(w.config); err != nil {
		t.Fatal(err)
	}
	line, _ := w.config.Get("admins", "anna")
	if !strings.HasPrefix(line, "-pbkdf2:sha256-") || !strings.HasSuffix(line, ",2") {
		t.Errorf("the line is %s", line)
	}
	if id, err := w.Authenticate(t.Context(), basic("anna", "clear")); err != nil || !id.Caller.IsAdmin() {
		t.Errorf("got %v, %v", id, err)
	}

	if changed, err := SetAdmin(w.config, "anna", "clear"); changed || err != nil {
		t.Errorf("the same password changed the line: %v, %v", changed, err)
	}
	if changed, err := SetAdmin(w.config, "anna", "other"); !changed || err != nil {
		t.Errorf("another password did not: %v, %v", changed, err)
	}
	if _, err := w.Authenticate(t.Context(), basic("anna", "clear")); refusal(err) != "401: Name or password is incorrect." {
		t.Errorf("the old password gives %v", err)
	}
}

// A password that was accepted and remembered must be refused as soon as the
// document is another, and must work again when it is put back.
func TestRememberedPasswordDoesNotSurviveItsChange(t *testing.T) {
	w := newWorld(t)
	w.addUser(t, "jan", `{"name":"jan","type":"user","roles":[],"password":"old"}`)
	before := w.users["jan"]
	check := func(password, want string) {
		t.Helper()
		_, err := w.Authenticate(t.Context(), basic("jan", password))
		if refusal(err) != want {
			t.Errorf("%s: %v", password, err)
		}
	}
	check("old", "")
	check("old", "")
	w.addUser(t, "jan", `{"name":"jan","type":"user","roles":[],"password":"new"}`)
	check("old", "401: Name or password is incorrect.")
	check("new", "")
	w.users["jan"] = before
	check("new", "401: Name or password is incorrect.")
	check("old", "")
	delete(w.users, "jan")
	check("old", "401: Name or password is incorrect.")
}

func TestRememberedPasswordsAreBounded(t *testing.T) {
	p := newPasswords(10)
	first := p.credential(Verifier{}, "first", "")
	p.remember(first, "here")
	for i := range 100 {
		p.remember(p.credential(Verifier{Iterations: i}, "", ""), "here")
		if known, familiar := p.remembered(first, "here"); !known || !familiar {
			t.Fatalf("what is in use was dropped after %d others", i)
		}
		for _, m := range []*memory{&p.known, &p.familiar} {
			if n := len(m.state.young) + len(m.state.old); n > 11 {
				t.Fatalf("%d are kept", n)
			}
		}
	}
}

// Parts of a credential must not run into each other.
func TestCredentialsDiffer(t *testing.T) {
	p := newPasswords(10)
	v := Verifier{schemePBKDF2, "sha", 1, "s", "k"}
	seen := map[credential]string{}
	for what, c := range map[string]credential{
		"base":     p.credential(v, "ab", "c"),
		"shifted":  p.credential(v, "a", "bc"),
		"salt":     p.credential(Verifier{schemePBKDF2, "sha", 1, "t", "k"}, "ab", "c"),
		"key":      p.credential(Verifier{schemePBKDF2, "sha", 1, "s", "l"}, "ab", "c"),
		"rounds":   p.credential(Verifier{schemePBKDF2, "sha", 2, "s", "k"}, "ab", "c"),
		"function": p.credential(Verifier{schemePBKDF2, "sha256", 1, "s", "k"}, "ab", "c"),
		"process":  newPasswords(10).credential(v, "ab", "c"),
	} {
		if other, has := seen[c]; has {
			t.Errorf("%s equals %s", what, other)
		}
		seen[c] = what
	}
}

// One computation serves all who ask for the same at once, and one that is
// given up by the first does not fail the others.
func TestSharedComputation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.addUser(t, "jan", janDoc)
		p := w.passwords
		p.turns = newTurns(0) // nobody computes yet
		gone, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := w.Authenticate(gone, basic("jan", "pw-jan")); err == nil {
				t.Error("the one that went away got an answer")
			}
		})
		synctest.Wait()
		for range 5 {
			group.Go(func() {
				if _, err := w.Authenticate(t.Context(), basic("jan", "pw-jan")); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := p.state.waiting; n != 1 {
			t.Errorf("%d computations wait for a turn", n)
		}
		cancel()
		synctest.Wait()
		p.pass()
		group.Wait()
	})
}

func TestIterationBounds(t *testing.T) {
	w := newWorld(t, config.Setting{Section: section, Key: "min_iterations", Value: "10"},
		config.Setting{Section: section, Key: "max_iterations", Value: "20"})
	for iterations, want := range map[string]string{
		"9":  "403: Iteration count is too low for this server",
		"10": "401: Name or password is incorrect.",
		"21": "403: Iteration count is too high for this server",
	} {
		w.users["jan"] = `{"name":"jan","password_scheme":"pbkdf2","salt":"s","derived_key":"k","iterations":` + iterations + `}`
		if _, err := w.Authenticate(t.Context(), basic("jan", "pw")); refusal(err) != want {
			t.Errorf("%s iterations: %v", iterations, err)
		}
	}
	w.users["jan"] = `{"name":"jan","password_scheme":"pbkdf2","pbkdf2_prf":"md5","salt":"s","derived_key":"k","iterations":10}`
	if _, err := w.Authenticate(t.Context(), basic("jan", "pw")); refusal(err) != "403: PRF is invalid" {
		t.Errorf("md5: %v", err)
	}
}

// RFC 6238, appendix B.
func TestTOTPVectors(t *testing.T) {
	const sha = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
	const sha256 = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZA===="
	for _, c := range []struct {
		key, algorithm string
		at             int64
		want           string
	}{
		{sha, "", 59, "94287082"}, {sha, "sha", 1111111109, "07081804"}, {sha256, "sha256", 59, "46119246"},
	} {
		factor := parseTOTP(fmt.Appendf(nil, `{"key":%q,"algorithm":%q,"length":8}`, c.key, c.algorithm))
		for shift, want := range map[int64]bool{-30: true, 0: true, 30: true, 90: false} {
			if got := factor.matches(c.want, time.Unix(c.at+shift, 0)); got != want {
				t.Errorf("%s, %d seconds later: %v", c.want, shift, got)
			}
		}
	}
}
