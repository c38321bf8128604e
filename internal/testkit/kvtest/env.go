package kvtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// env is what a case works with. Its helpers fail the test on any error that
// the case does not expect.
type env struct {
	*testing.T
	e     kv.Engine
	clock *Clock
}

// errRefused is what closures return to write nothing.
var errRefused = errors.New("refused by the closure")

// update runs fn and expects it to be committed.
func (v env) update(fn func(kv.Txn)) {
	v.Helper()
	v.wantKind(v.e.Update(context.Background(), func(t kv.Txn) error {
		fn(t)
		return nil
	}), none)
}

// view runs fn over a snapshot.
func (v env) view(fn func(kv.Snapshot)) {
	v.Helper()
	v.wantKind(v.e.View(context.Background(), func(s kv.Snapshot) error {
		fn(s)
		return nil
	}), none)
}

// load puts rows "key=value", separated by spaces.
func (v env) load(rows string) {
	v.Helper()
	v.update(func(t kv.Txn) { v.put(t, rows) })
}

func (v env) put(t kv.Txn, rows string) {
	v.Helper()
	for _, r := range strings.Fields(rows) {
		key, value, _ := strings.Cut(r, "=")
		v.wantKind(t.Put([]byte(key), []byte(value)), none)
	}
}

// get returns the value of key, "-" if there is none.
func (v env) get(s kv.Snapshot, key string) string {
	v.Helper()
	return v.value(s.Get([]byte(key)))
}

// lock is get for update.
func (v env) lock(t kv.Txn, key string) string {
	v.Helper()
	return v.value(t.GetForUpdate([]byte(key)))
}

// getMany returns the values of keys, separated by spaces, which get reads
// together.
func (v env) getMany(keys string, get func([][]byte) ([][]byte, error)) string {
	v.Helper()
	values, err := getMany(keys, get)
	v.wantKind(err, none)
	return values
}

// getMany is what env.getMany shows, "-" for an absent key.
func getMany(keys string, get func([][]byte) ([][]byte, error)) (string, error) {
	values, err := get(bytes.Fields([]byte(keys)))
	var out []string
	for _, value := range values {
		if value == nil {
			value = []byte("-")
		}
		out = append(out, string(value))
	}
	return strings.Join(out, " "), err
}

func (v env) value(value []byte, err error) string {
	v.Helper()
	if dberr.Is(err, dberr.NotFound) {
		return "-"
	}
	v.wantKind(err, none)
	return string(value)
}

// none is the kind of no error.
const none = dberr.Kind(255)

// wantKind expects err to be of kind k.
func (v env) wantKind(err error, k dberr.Kind) {
	v.Helper()
	got := none
	if err != nil {
		got = dberr.KindOf(err)
	}
	if got != k {
		v.Fatalf("error %v of kind %d, want kind %d", err, got, k)
	}
}

// want expects two texts to be equal.
func (v env) want(got, want string) {
	v.Helper()
	if d := cmp.Diff(want, got); d != "" {
		v.Fatalf("wrong (-want +got):\n%s", d)
	}
}

// span returns the range from start to end, both empty for none.
func span(start, end string) kv.Range {
	r := kv.Range{}
	if start != "" {
		r.Start = []byte(start)
	}
	if end != "" {
		r.End = []byte(end)
	}
	return r
}

var (
	forward  = kv.IterOptions{}
	backward = kv.IterOptions{Reverse: true}
)

// rows returns the rows of a range as "key=value", separated by spaces.
func (v env) rows(s kv.Snapshot, r kv.Range, o kv.IterOptions) string {
	v.Helper()
	return v.walk(s, r, o, "next*")
}

// walk makes moves on an iterator and returns where they led, "." for nowhere.
// Moves are "next", "next*" (until nowhere, which is not shown) and keys to
// seek.
func (v env) walk(s kv.Snapshot, r kv.Range, o kv.IterOptions, moves ...string) string {
	v.Helper()
	out, err := walk(s, r, o, moves)
	v.wantKind(err, none)
	return out
}

func walk(s kv.Snapshot, r kv.Range, o kv.IterOptions, moves []string) (_ string, err error) {
	it, err := s.Iterate(r, o)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	return walkMoves(it, moves)
}

func walkMoves(it kv.Iterator, moves []string) (string, error) {
	var out []string
	for _, move := range moves {
		rows, err := walkMove(it, move)
		if err != nil {
			return "", err
		}
		out = append(out, rows...)
	}
	return strings.Join(out, " "), nil
}

func walkMove(it kv.Iterator, move string) (rows []string, err error) {
	for {
		ok := false
		if strings.HasPrefix(move, "next") {
			ok = it.Next()
		} else {
			ok = it.Seek([]byte(move))
		}
		if !ok {
			if move != "next*" {
				rows = append(rows, ".")
			}
			return rows, it.Err()
		}
		value, err := it.Value()
		if err != nil {
			return nil, err
		}
		borrowed, err := it.Borrow()
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(borrowed, value) {
			return nil, fmt.Errorf("at %s Value gives %q and Borrow %q", it.Key(), value, borrowed)
		}
		rows = append(rows, fmt.Sprintf("%s=%s", it.Key(), value))
		if move != "next*" {
			return rows, nil
		}
	}
}

// all returns every row that a new view sees.
func (v env) all() string {
	v.Helper()
	var out string
	v.view(func(s kv.Snapshot) { out = v.rows(s, kv.Range{}, forward) })
	return out
}
