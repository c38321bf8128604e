package auth

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
)

// bytes returns the size of the table.
func (l *lockout) bytes() int { return len(l.state.sets) * int(unsafe.Sizeof(attemptSet{})) }

// answer returns the status of a request: 200, 401, 403 or what else it gets.
func (w *world) answer(t *testing.T, r *Request) string {
	t.Helper()
	_, err := w.Authenticate(t.Context(), r)
	if err == nil {
		return "200"
	}
	return refusal(err)[:3]
}

// wait returns how long an error asks to wait.
func wait(err error) time.Duration {
	var e *dberr.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.RetryAfter
}

func from(peer string, r *Request) *Request {
	r.Peer = peer
	return r
}

// However many guesses come at once, no more are checked than the threshold.
func TestParallelGuessesAreCounted(t *testing.T) {
	w := newWorld(t, config.Setting{Section: section, Key: "iterations", Value: "10000"}) // so that all are there before the first ends
	w.addUser(t, "jan", janDoc)
	var checked, refused atomic.Int32
	var group sync.WaitGroup
	for i := range 120 {
		group.Go(func() {
			switch _, err := w.Authenticate(t.Context(), basic("jan", fmt.Sprint("guess", i))); refusal(err) {
			case "401: Name or password is incorrect.":
				checked.Add(1)
			default:
				refused.Add(1)
			}
		})
	}
	group.Wait()
	if checked.Load() != 5 || refused.Load() != 115 {
		t.Errorf("%d guesses were checked, %d refused", checked.Load(), refused.Load())
	}
}

// Names and addresses in any number make nobody's count shorter.
func TestNoGuessIsForgotten(t *testing.T) {
	for name, others := range map[string]func(i int) *Request{
		"names":     func(i int) *Request { return basic(fmt.Sprint("other", i), "x") },
		"addresses": func(i int) *Request { return from(fmt.Sprintf("10.1.%d.%d", i/250, i%250), basic("other", "x")) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, config.Setting{Section: "chttpd_auth_lockout", Key: "max_objects", Value: "100"})
			w.addUser(t, "jan", janDoc)
			checked := 0
			for i := range 3000 {
				if i%500 == 0 && w.answer(t, basic("jan", fmt.Sprint("guess", i))) == "401" {
					checked++
				}
				w.answer(t, others(i))
			}
			for i := range 10 {
				if w.answer(t, basic("jan", fmt.Sprint("last", i))) == "401" {
					checked++
				}
			}
			if checked > 5 {
				t.Errorf("%d guesses were checked", checked)
			}
			if w.answer(t, basic("jan", "pw-jan")) != "403" {
				t.Error("the right password passes")
			}
			w.now = w.now.Add(300 * time.Second)
			if w.answer(t, basic("jan", "pw-jan")) != "200" {
				t.Error("the lock-out does not end")
			}
		})
	}
}

// The table is as large as it is from the beginning, whatever comes.
func TestCountsAreBounded(t *testing.T) {
	w := newWorld(t)
	long := make([]byte, 1000)
	before := w.lockout.bytes()
	for i := range 100 {
		w.answer(t, from(fmt.Sprint("10.2.0.", i), basic(fmt.Sprint(i)+string(long), "x")))
	}
	if after := w.lockout.bytes(); after != before || after > 1<<20 {
		t.Errorf("%d bytes, before %d", after, before)
	}
}

// A flood of names from one address locks nobody out at most others.
func TestOneAddressDoesNotFillTheTable(t *testing.T) {
	w := newWorld(t, config.Setting{Section: "chttpd_auth_lockout", Key: "max_objects", Value: "512"})
	w.addUser(t, "jan", janDoc)
	for i := range 2000 {
		w.answer(t, from("10.3.0.1", basic(fmt.Sprint(i%400), fmt.Sprint(i))))
	}
	out := 0
	for i := range 200 {
		if w.answer(t, from(fmt.Sprint("10.4.0.", i), basic("jan", "pw-jan"))) != "200" {
			out++
		}
	}
	if out > 50 {
		t.Errorf("%d of 200 addresses are locked out", out)
	}
}

// Who was here before, or has a session, goes on while others guess.
func TestRememberedPasswordPassesBesideGuesses(t *testing.T) {
	w := newWorld(t)
	w.addUser(t, "jan", janDoc)
	w.addUser(t, "eve", `{"name":"eve","type":"user","roles":[],"password":"pw-eve"}`)
	session, err := w.LogIn(t.Context(), Login{Name: "jan", Password: "pw-jan"}, request())
	if err != nil {
		t.Fatal(err)
	}
	cookie := session.SetCookie[:len("AuthSession=")+60]
	w.answer(t, from("10.0.0.9", basic("eve", "pw-eve")))
	for i := range 50 {
		w.answer(t, basic("jan", fmt.Sprint("guess", i)))
		w.answer(t, basic("eve", fmt.Sprint("guess", i)))
	}
	again, err := w.LogIn(t.Context(), Login{Name: "jan", Password: "pw-jan"}, request())
	if err != nil || again.Name != "jan" {
		t.Errorf("login: %v", err)
	}
	for name, c := range map[string]struct {
		r    *Request
		want string
	}{
		"remembered":                  {basic("jan", "pw-jan"), "200"},
		"session":                     {request("Cookie", cookie), "200"},
		"wrong":                       {basic("jan", "other"), "403"},
		"right, but never here":       {basic("eve", "pw-eve"), "403"},
		"right, where it was":         {from("10.0.0.9", basic("eve", "pw-eve")), "200"},
		"right, of an address unseen": {from("10.0.0.8", basic("eve", "pw-eve")), "200"},
	} {
		if got := w.answer(t, c.r); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// What is remembered must not be a second way to guess: it ends, too.
func TestRememberedPasswordIsNoOracle(t *testing.T) {
	w := newWorld(t)
	w.addUser(t, "jan", janDoc)
	w.answer(t, basic("jan", "pw-jan"))
	for range 300 {
		w.answer(t, basic("jan", "the same old one"))
	}
	if got := w.answer(t, basic("jan", "pw-jan")); got != "200" {
		t.Errorf("a client with an old password locks the others out: %s", got)
	}
	for i := range 101 {
		w.answer(t, basic("jan", fmt.Sprint("guess", i)))
	}
	if got := w.answer(t, basic("jan", "pw-jan")); got != "403" {
		t.Errorf("guesses go on: %s", got)
	}
	w.now = w.now.Add(300 * time.Second)
	if got := w.answer(t, basic("jan", "pw-jan")); got != "200" {
		t.Errorf("later: %s", got)
	}
}

func TestLockoutSaysHowLong(t *testing.T) {
	w := newWorld(t)
	w.addUser(t, "jan", janDoc)
	for range 5 {
		w.answer(t, basic("jan", "wrong"))
	}
	w.now = w.now.Add(100 * time.Second)
	_, err := w.Authenticate(t.Context(), basic("jan", "pw-jan"))
	if got := refusal(err); got != "403: Account is temporarily locked due to multiple authentication failures. Try again in 200 seconds." || wait(err) != 200*time.Second {
		t.Errorf("%s, after %v", got, wait(err))
	}
}

// The second factor is guessed no oftener than a password, and by itself.
func TestTokensAreCounted(t *testing.T) {
	w := newWorld(t)
	w.now = time.Unix(59, 0)
	w.addUser(t, "jan", `{"name":"jan","type":"user","roles":[],"password":"pw","totp":{"key":"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ","length":8}}`)
	var checked atomic.Int32
	var group sync.WaitGroup
	for i := range 120 {
		group.Go(func() {
			_, err := w.LogIn(t.Context(), Login{Name: "jan", Password: "pw", Token: fmt.Sprint(10000000 + i)}, request())
			if refusal(err)[:3] == "401" {
				checked.Add(1)
			}
		})
	}
	group.Wait()
	if checked.Load() != 5 {
		t.Errorf("%d tokens were checked", checked.Load())
	}
	for i := range 20 {
		if got := w.answer(t, basic("jan", "pw")); got == "200" || i >= 5 && got != "403" {
			t.Errorf("Basic with the right password and without a token, %d: %s", i, got)
		}
	}
}

// Addresses of one IPv6 network count as one: whoever has one has them all.
func TestNetworksCountAsOne(t *testing.T) {
	w := newWorld(t)
	w.addUser(t, "jan", janDoc)
	for i := range 5 {
		w.answer(t, from(fmt.Sprintf("2001:db8:0:1:%x::1", i), basic("jan", fmt.Sprint(i))))
	}
	for address, want := range map[string]string{"2001:db8:0:1:ffff::2": "403", "2001:db8:0:2::1": "200", "::ffff:10.0.0.1": "200"} {
		if got := w.answer(t, from(address, basic("jan", "pw-jan"))); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// Right passwords of many clients at once are no guesses.
func TestRightPasswordsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.addUser(t, "jan", janDoc)
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if _, err := w.Authenticate(t.Context(), basic("jan", "pw-jan")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// Whether a name is known, and how its password was hashed, is not told by what
// a wrong password costs.
func TestWrongPasswordsCostTheSame(t *testing.T) {
	w := newWorld(t, config.Setting{Section: section, Key: "iterations", Value: "1000"})
	var rounds atomic.Int64
	w.passwords.derive = func(v Verifier, password string) (string, error) {
		rounds.Add(int64(v.Iterations))
		return v.derive(password)
	}
	w.addAdmin(t, "adm", "pass")
	w.addUser(t, "jan", janDoc)
	w.users["factor"] = `{"name":"factor","totp":{"key":"GEZDGNBVGY3TQOJQ"},"password_scheme":"pbkdf2","pbkdf2_prf":"sha256","iterations":1000,"salt":"s","derived_key":"k"}`
	w.users["old"] = `{"name":"old","password_scheme":"pbkdf2","iterations":10,"salt":"s","derived_key":"k"}`
	w.users["simple"] = `{"name":"simple","salt":"s","password_sha":"k"}`
	w.users["nopw"] = `{"name":"nopw"}`
	for _, name := range []string{"adm", "jan", "factor", "old", "simple", "nopw", "ghost", "", "_x", "a:b"} {
		rounds.Store(0)
		if _, err := w.LogIn(t.Context(), Login{Name: name, Password: "wrong"}, request()); refusal(err) != "401: Name or password is incorrect." {
			t.Errorf("%s: %v", name, err)
		}
		if rounds.Load() != 1000 {
			t.Errorf("%s: %d rounds", name, rounds.Load())
		}
	}
	rounds.Store(0)
	if w.answer(t, basic("factor", "wrong")); rounds.Load() != 1000 {
		t.Errorf("a user with a second factor, at Basic: %d rounds", rounds.Load())
	}
}
