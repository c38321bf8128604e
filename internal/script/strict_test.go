package script

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
)

// TestFilterStopsAtFailure has a filter that hangs in all documents but one: the first of them ends the call, and the
// others have no share of the time.
func TestFilterStopsAtFailure(t *testing.T) {
	limits := small()
	p := newPool(t, Options{Limits: limits, Children: 1})
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
			began := time.Now()
			passed, err := call()
			if !dberr.Is(err, dberr.Timeout) {
				t.Fatal(passed, err)
			}
			if took := time.Since(began); took > 20*limits.Time {
				t.Errorf("it took %v, as if all %d documents had been asked about", took, len(docs))
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

// TestHopeless has a map that hangs for all documents from the fourth on: after
// a few of them the rest is given up, and those before have their rows. One that
// hangs now and then is asked about every document.
func TestHopeless(t *testing.T) {
	limits := small()
	p := newPool(t, Options{Limits: limits, Children: 1})
	docs := make([]string, 40)
	for i := range docs {
		docs[i] = `{"good":` + strconv.FormatBool(i < 3) + `}`
	}
	began := time.Now()
	mapped, err := p.Map(t.Context(), mapping(`function(doc){ if (!doc.good) for (;;); emit(1, 1); }`), texts(docs...))
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range mapped {
		if good := i < 3; good != (m[0].Err == nil) || !good && !Exceeded(m[0].Err) || good && len(m[0].Rows) != 1 {
			t.Errorf("document %d: %+v", i, m[0])
		}
	}
	if took := time.Since(began); took > 4*Hopeless*limits.Time {
		t.Errorf("it took %v, as if all %d documents had been tried", took, len(docs))
	}
	mixed := []string{`{}`, `{"good":true}`, `{}`, `{"good":true}`, `{}`, `{"good":true}`, `{}`, `{"good":true}`, `{}`, `{}`, `{"good":true}`}
	mapped, err = p.Map(t.Context(), mapping(`function(doc){ if (!doc.good) for (;;); emit(1, 1); }`), texts(mixed...))
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range mapped {
		if good := mixed[i] != `{}`; good != (m[0].Err == nil) {
			t.Errorf("document %d, %s: %+v", i, mixed[i], m[0])
		}
	}
}
