package script

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// TestFilterStopsAtFailure has a filter that hangs in all documents but one: the first of them ends the call, and the
// others have no share of the time.
func TestFilterStopsAtFailure(t *testing.T) {
	limits := small()
	p := newPool(t, Options{Limits: limits, Children: 1})
	tries := 0
	p.attempted = func(time.Duration) { tries++ }
	docs := make([]string, 40)
	for i := range docs {
		docs[i] = `{}`
	}
	docs[0] = `{"good":true}`
	const source = `function(doc){ if (doc.good) return true; for (;;); }`
	calls := map[string]func() ([]bool, error){
		"filter": func() ([]bool, error) {
			return p.Filter(t.Context(), design(`{"filters":{"f":"`+source+`"}}`), "f", texts(docs...), []byte(`{}`))
		},
		"map": func() ([]bool, error) { return p.ViewFilter(t.Context(), mapping(source), texts(docs...)) },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			tries = 0
			passed, err := call()
			if !dberr.Is(err, dberr.Timeout) {
				t.Fatal(passed, err)
			}
			if tries > len(docs)/8 {
				t.Errorf("%d tries, as if all %d documents had been asked about", tries, len(docs))
			}
		})
	}
	good, err := p.Filter(t.Context(), design(`{"filters":{"f":"`+source+`"}}`), "f", texts(docs[0]), []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]bool{true}, good); diff != "" {
		t.Error(diff)
	}
}

// TestHopeless has maps that hang: after a few documents the function is given up,
// and that takes no more than one allowance, wherever they are. What hangs for
// fewer documents is asked about every document, with a whole allowance for each.
func TestHopeless(t *testing.T) {
	usual := Limits{}.withDefaults()
	if spent := usual.first() + (MaxStopped-1)*usual.short(); spent > usual.Time*9/10 {
		t.Errorf("what hangs is given up after %v of %v", spent, usual.Time)
	}
	const good, bad = `{"good":true}`, `{}`
	for name, hang := range map[string]string{"loop": "for (;;);", "native code": "for (;;) new Array(1e6).fill(0).sort()", "process": "eval('['.repeat(1e6))"} {
		t.Run(name, func(t *testing.T) {
			limits := small()
			if name == "process" {
				limits.Time *= 20 // nothing takes it: a short allowance has room for the start of another process
			}
			p := newPool(t, Options{Limits: limits, Children: 1})
			short, whole := 0, 0 // tries with a short allowance, and with a whole one
			p.attempted = func(allowance time.Duration) {
				switch allowance {
				case limits.short():
					short++
				case limits.Time:
					whole++
				}
			}
			if name != "loop" {
				testrun.Sequential(t)
			}
			realm := mapping(`function(doc){ if (!doc.good) { ` + hang + ` } emit(1, 1); }`)
			docs := []string{good, good, bad, good, bad, bad, good, bad, good, bad, good}
			for range 40 {
				docs = append(docs, bad)
			}
			mapped, err := p.Map(t.Context(), realm, texts(docs...))
			var given *GivenUp
			if !errors.As(err, &given) || !Stopped(err) {
				t.Errorf("what hangs %d times: %v, %v", MaxStopped, mapped, err)
			}
			if short == 0 || whole > 0 {
				t.Errorf("it had %d short allowances and %d whole ones", short, whole)
			}
			if name == "native code" {
				return // it takes a process for each
			}
			docs = []string{good, good, bad, good, bad, bad, good, bad, good}
			mapped, err = p.Map(t.Context(), realm, texts(docs...))
			if err != nil {
				t.Fatal(err)
			}
			if whole < 4 && name == "loop" { // a process that dies says nothing of time
				t.Errorf("%d of 4 documents had a whole allowance", whole)
			}
			for i, m := range mapped {
				if ok := docs[i] == good; ok != (m[0].Err == nil) || !ok && !Stopped(m[0].Err) || ok && len(m[0].Rows) != 1 {
					t.Errorf("document %d: %+v", i, m[0])
				}
			}
		})
	}
}

// TestSuspects has a document that takes longer than what is allowed after one that
// hangs: it has its rows all the same.
func TestSuspects(t *testing.T) {
	testrun.Sequential(t)
	limits := small()
	p := newPool(t, Options{Limits: limits, Children: 1})
	realm := mapping(`function(doc){ if (doc.hangs) for (;;); for (var i = 0; i < doc.n; i++); emit(i, 1); }`)
	n := 1000
	for { // find out how long a unit has to count here
		began := processorTimeOf(t, p, realm, n)
		if began > limits.short()*2 {
			break
		}
		n *= 2
	}
	mapped, err := p.Map(t.Context(), realm, texts(`{"hangs":true}`, `{"n":`+strconv.Itoa(n)+`}`, `{"n":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := written(mapped[1][0]) + written(mapped[2][0]); got != strconv.Itoa(n)+" 1\n1 1\n" || !Stopped(mapped[0][0].Err) {
		t.Errorf("%s, %v", got, mapped[0][0].Err)
	}
}

// processorTimeOf reports how long a document takes to be mapped.
func processorTimeOf(t *testing.T, p *Pool, realm Realm, n int) time.Duration {
	t.Helper()
	began := time.Now()
	rowsOf(t, p, realm, `{"n":`+strconv.Itoa(n)+`}`)
	return time.Since(began)
}

// TestHangingValidator has a validator that hangs for some documents of a batch:
// those before the first of them are judged, and the rest is refused with it.
func TestHangingValidator(t *testing.T) {
	p := newPool(t, Options{Limits: small(), Children: 1})
	further := 0 // tries after the first document that hangs
	p.attempted = func(allowance time.Duration) {
		if allowance < p.o.Limits.Time {
			further++
		}
	}
	realm := design(`{"validate_doc_update":"function(n){ if (n.t == 'hang') for (;;); if (n.t == 'bad') throw {forbidden: 'no'} }"}`)
	var writes []Write
	for _, kind := range []string{"good", "bad", "good", "hang", "good", "hang", "hang", "bad"} {
		writes = append(writes, Write{New: []byte(`{"t":"` + kind + `"}`), User: []byte(`{}`), Security: []byte(`{}`)})
	}
	refusals, err := p.Validate(t.Context(), realm, writes)
	if err != nil {
		t.Fatal(err)
	}
	if refusals[0] != nil || !dberr.Is(refusals[1], dberr.Forbidden) || refusals[2] != nil {
		t.Errorf("those before: %v", refusals[:3])
	}
	for i, err := range refusals[3:] {
		if !Stopped(err) || !dberr.Is(err, dberr.Timeout) {
			t.Errorf("write %d: %v", 3+i, err)
		}
	}
	if further != 0 {
		t.Errorf("%d more tries behind what hangs", further)
	}
	if refusals, err = p.Validate(t.Context(), realm, writes[:3]); err != nil || refusals[0] != nil || refusals[2] != nil {
		t.Errorf("the next batch: %v, %v", refusals, err)
	}
}

// TestSpoiltFilter holds that a filter that hung for one caller again and again is
// refused to him at once, and to nobody else.
func TestSpoiltFilter(t *testing.T) {
	testrun.Sequential(t)
	p := newPool(t, Options{Limits: small(), Children: 1})
	tries := 0
	p.attempted = func(time.Duration) { tries++ }
	hangs := design(`{"filters":{"f":"function(doc, req){ for (;req.hang;); return true }"}}`)
	ask := func(caller, req string) error {
		_, err := p.Filter(WithCaller(t.Context(), caller), hangs, "f", texts(`{}`), []byte(req))
		return err
	}
	before := 0
	for i := range MaxStopped + 3 {
		if i == MaxStopped {
			before = tries
		}
		if err := ask("mallory", `{"hang":true}`); !Stopped(err) {
			t.Fatal(err)
		}
	}
	if before < MaxStopped || tries != before {
		t.Errorf("it was tried %d times, and %d times then", before, tries-before)
	}
	if err := ask("mallory", `{}`); !Stopped(err) {
		t.Error("he is not refused:", err)
	}
	if err := ask("alice", `{}`); err != nil {
		t.Error("somebody else:", err)
	}
	var s quarantine
	who, now := filterKey{caller: "x"}, time.Unix(1000, 0)
	for range MaxStopped {
		if err := s.refused(who, now); err != nil {
			t.Error(err)
		}
		s.stopped(who, limitErrors[limitTime], now)
	}
	if s.refused(who, now.Add(quarantineTime)) == nil || s.refused(who, now.Add(quarantineTime+1)) != nil {
		t.Error("it is not tried again in time")
	}
	if s.stopped(who, limitErrors[limitTime], now.Add(2*quarantineTime)); s.refused(who, now.Add(2*quarantineTime)) == nil {
		t.Error("one more is not enough")
	}
}
