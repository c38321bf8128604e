package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/config"
)

// attemptRows are rows in memory.
type attemptRows struct {
	sync.Mutex
	rows  map[uint64][]byte
	asked int   // reads and changes
	away  error // what they fail with
}

func (r *attemptRows) Attempts(_ context.Context, set uint64) ([]byte, error) {
	r.Lock()
	defer r.Unlock()
	r.asked++
	return r.rows[set], r.away
}

func (r *attemptRows) ChangeAttempts(_ context.Context, set uint64, change func([]byte) ([]byte, error)) error {
	r.Lock()
	defer r.Unlock()
	if r.asked++; r.away != nil {
		return r.away
	}
	for range 2 { // as a transaction that is run again
		row, err := change(r.rows[set])
		if err != nil {
			return err
		}
		defer func() {
			if r.rows[set] = row; row == nil {
				delete(r.rows, set)
			}
		}()
	}
	return nil
}

// newWorlds makes servers that count together.
func newWorlds(t testing.TB, servers int, settings ...config.Setting) (*attemptRows, []*world) {
	rows := &attemptRows{rows: map[uint64][]byte{}}
	all := make([]*world, servers)
	for i := range all {
		all[i] = newWorld(t, settings...)
		all[i].Share(rows, []byte("secret of the store"))
		all[i].users["jan"] = ""
	}
	first := all[0]
	addJan := func() {
		body, err := first.BeforeUserWrite(context.Background(), UserWrite{ID: UserPrefix + "jan", Body: []byte(janDoc), Caller: admin(), Security: DefaultSecurity("")})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range all {
			w.users["jan"] = string(body)
		}
	}
	addJan()
	return rows, all
}

// However many guesses come at once, and to however many servers, no more are checked than the threshold.
func TestGuessesAtSeveralServersAreCounted(t *testing.T) {
	_, all := newWorlds(t, 3, config.Setting{Section: section, Key: "iterations", Value: "1000"})
	var checked atomic.Int32
	var group sync.WaitGroup
	for i := range 60 {
		group.Go(func() {
			_, err := all[i%3].Authenticate(t.Context(), basic("jan", fmt.Sprint("guess", i)))
			if refusal(err) == "401: Name or password is incorrect." {
				checked.Add(1)
			}
		})
	}
	group.Wait()
	if checked.Load() != 5 {
		t.Errorf("%d guesses were checked", checked.Load())
	}
	for i, w := range all {
		if got := w.answer(t, basic("jan", "pw-jan")); got != "403" {
			t.Errorf("the right one at server %d: %s", i, got)
		}
		if got := w.answer(t, from("10.0.0.9", basic("jan", "pw-jan"))); got != "200" {
			t.Errorf("the right one from elsewhere at server %d: %s", i, got)
		}
	}
	for i, w := range all {
		w.now = w.now.Add(300 * time.Second)
		if got := w.answer(t, basic("jan", "pw-jan")); got != "200" {
			t.Errorf("later, at server %d: %s", i, got)
		}
	}
}

// A guess that its server refuses takes none of those that all servers may check.
func TestRefusedGuessesAreNotCountedAsChecked(t *testing.T) {
	_, all := newWorlds(t, 2)
	s := all[0].settings.Value()
	u, err := all[0].user(t.Context(), s, "jan")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 { // five that are counted at their server, and not yet at the store
		try := passwordAttempt{login: login{name: "jan", peer: "10.0.0.1"}, what: "password", salt: u.Verifier.Salt, secret: fmt.Sprint("guess", i)}
		all[0].lockout.begin(s.lockout, all[0].lockout.attempt(try), all[0].now)
	}
	for i := range 5 {
		if got := all[0].answer(t, basic("jan", fmt.Sprint("refused", i))); got != "403" {
			t.Errorf("guess %d at the first: %s", i, got)
		}
	}
	for i := range 5 {
		if got := all[1].answer(t, basic("jan", fmt.Sprint("other", i))); got != "401" {
			t.Errorf("guess %d at the second: %s", i, got)
		}
	}
}

// A lock-out that another server began ends when it ends there.
func TestLockoutOfAnotherServerSaysHowLong(t *testing.T) {
	_, all := newWorlds(t, 2)
	for range 5 {
		all[0].answer(t, basic("jan", "wrong"))
	}
	all[1].now = all[1].now.Add(100 * time.Second)
	for range 2 { // told by the store, and remembered
		if _, err := all[1].Authenticate(t.Context(), basic("jan", "wrong")); wait(err) != 200*time.Second {
			t.Errorf("%v, after %v", err, wait(err))
		}
	}
}

// Right passwords leave no count, and what is remembered asks for none.
func TestRightPasswordsLeaveNoCount(t *testing.T) {
	rows, all := newWorlds(t, 2)
	for range 10 {
		for _, w := range all {
			if got := w.answer(t, basic("jan", "pw-jan")); got != "200" {
				t.Fatal(got)
			}
		}
	}
	if rows.asked != 4 || len(rows.rows) != 0 { // before the check and after, once at each server
		t.Errorf("the store was asked %d times and holds %d rows", rows.asked, len(rows.rows))
	}
	all[1].answer(t, from("10.0.0.9", basic("jan", "pw-jan")))
	all[1].answer(t, from("10.0.0.9", basic("jan", "pw-jan")))
	if rows.asked != 5 {
		t.Errorf("from another network: the store was asked %d times", rows.asked)
	}
}

// What is refused already asks nobody, unless it is another guess.
func TestRefusedGuessesAskNobody(t *testing.T) {
	rows, all := newWorlds(t, 2)
	for i := range 6 {
		all[0].answer(t, basic("jan", fmt.Sprint("guess", i)))
	}
	before := rows.asked
	for range 50 {
		all[0].answer(t, basic("jan", "guess5"))
	}
	if rows.asked != before {
		t.Errorf("asked %d times more", rows.asked-before)
	}
}

// A password that is remembered from the same network can't be found out at the servers in turn.
func TestRememberedPasswordIsNoOracleOfSeveral(t *testing.T) {
	_, all := newWorlds(t, 3)
	for _, w := range all {
		w.answer(t, basic("jan", "pw-jan"))
	}
	for i := range 20 {
		all[i%3].answer(t, basic("jan", fmt.Sprint("guess", i)))
	}
	if got := all[1].answer(t, basic("jan", "pw-jan")); got != "200" {
		t.Errorf("who was here before is locked out: %s", got)
	}
	for i := range 110 { // the stored fingerprints are short: some are taken for the one before
		all[i%3].answer(t, basic("jan", fmt.Sprint("another", i)))
	}
	for i, w := range all {
		if got := w.answer(t, basic("jan", "pw-jan")); got != "403" {
			t.Errorf("guesses go on at server %d: %s", i, got)
		}
	}
}

// Where the store is away nothing is checked that can't be counted; what is remembered passes.
func TestStoreOfAttemptsIsAway(t *testing.T) {
	rows, all := newWorlds(t, 2)
	all[0].answer(t, basic("jan", "pw-jan"))
	rows.away = errors.New("away")
	if got := all[0].answer(t, basic("jan", "pw-jan")); got != "200" {
		t.Errorf("remembered: %s", got)
	}
	for range 10 {
		if _, err := all[1].Authenticate(t.Context(), basic("jan", "pw-jan")); !errors.Is(err, rows.away) {
			t.Errorf("not remembered: %v", err)
		}
	}
	rows.away = nil
	if got := all[1].answer(t, basic("jan", "pw-jan")); got != "200" {
		t.Errorf("afterwards: %s", got)
	}
}

// Names in any number make nobody's count shorter.
func TestNoGuessIsForgottenBySeveral(t *testing.T) {
	rows, all := newWorlds(t, 2, config.Setting{Section: "chttpd_auth_lockout", Key: "max_objects", Value: "100"})
	checked := 0
	for i := range 1500 {
		if i%100 == 0 && all[i/100%2].answer(t, basic("jan", fmt.Sprint("guess", i))) == "401" {
			checked++
		}
		all[i%2].answer(t, basic(fmt.Sprint("other", i), "x"))
	}
	if checked > 5 {
		t.Errorf("%d guesses were checked", checked)
	}
	if len(rows.rows) > attemptParts {
		t.Errorf("%d rows", len(rows.rows))
	}
}

// The row of a set holds what the set does.
func TestGuessesRow(t *testing.T) {
	s := attemptSet{floor: 7, until: 1 << 60}
	for i := range s.slots {
		s.slots[i] = attemptCount{tag: 1<<63 + uint64(i), since: int64(i) << 55, count: int32(i + 1), refused: int32(i * 14), last: uint32(i * 30)}
	}
	got, err := decodeAttempts(s.encode())
	if diff := cmp.Diff(s, got, cmp.AllowUnexported(attemptSet{}, attemptCount{})); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if row := (&attemptSet{}).encode(); row != nil {
		t.Errorf("an empty set: %x", row)
	}
	if _, err := decodeAttempts(append(s.encode(), 0)); err == nil {
		t.Error("a longer row is read")
	}
}
