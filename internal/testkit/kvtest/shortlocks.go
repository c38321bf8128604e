package kvtest

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sectional/sectional/internal/kv"
)

// mayScan are the functions in which a range is read though a head is locked, with the
// reason why that is right there. They are named as they are in stacks.
var mayScan = map[string]string{
	"store.(*group).loadHere":          "a commit that changes definitions or settings leaves to this process what they are now, its own writes among them; a commit that met others' changes three times in a row reads them itself",
	"store.(*group).indexesHere":       "a commit that changes definitions and then writes documents goes by its own writes",
	"subscribe.(*Service).editKnowing": "a subscription comes or goes, which its scope's are counted for: a page of a hundred rows, when somebody defines one",
}

// largestEntry is how many bytes of key and value an engine has to take in one entry.
const largestEntry = 1 << 20

// NewShortLocks wraps e so that t fails when an entry of more than 1 MB is written, and when an iterator is opened in an Update after a key
// of which head reports true was locked, by its name or by a read for update: whoever else
// wants the lock would wait for a walk, which to an engine across a network is a round trip
// for each page. What a transaction needs of a range is looked up in a snapshot before, and
// read by its keys in the transaction. What is longer than an entry lies in pieces. It has the optional powers of e that stores ask for.
func NewShortLocks(t testing.TB, e kv.Engine, head func(key []byte) bool) kv.Engine {
	return &shortLocks{Engine: e, t: t, head: head}
}

type shortLocks struct {
	kv.Engine
	t    testing.TB
	head func(key []byte) bool
	told sync.Map // stacks that were told of
}

// Update implements kv.Engine.
func (e *shortLocks) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	return e.Engine.Update(ctx, e.watch(fn, locked), locked...)
}

// Pipeline implements kv.Pipeliner, of an engine that has none by its Update.
func (e *shortLocks) Pipeline(ctx context.Context, fn func(kv.Txn) error, applied func(), locked ...[]byte) error {
	if p, ok := e.Engine.(kv.Pipeliner); ok {
		return p.Pipeline(ctx, e.watch(fn, locked), applied, locked...)
	}
	wrote := false
	err := e.Update(ctx, func(tx kv.Txn) error { wrote = true; return fn(tx) }, locked...)
	if err == nil && wrote {
		applied()
	}
	return err
}

// watch returns fn with its transactions watched.
func (e *shortLocks) watch(fn func(kv.Txn) error, locked [][]byte) func(kv.Txn) error {
	return func(tx kv.Txn) error {
		w := &watchedLocks{Txn: tx, e: e}
		w.locks(locked)
		return fn(w)
	}
}

// found tells of an iterator, once of each place.
func (e *shortLocks) found() {
	stack := stackAbove()
	if !slices.ContainsFunc(stack, allowedToScan) {
		e.tell("a range is read while a head is locked", stack)
	}
}

// tell fails the test, once for each place.
func (e *shortLocks) tell(what string, stack []string) {
	where := strings.Join(stack[:min(len(stack), 8)], " < ")
	if _, told := e.told.LoadOrStore(where, true); !told {
		e.t.Errorf("kv: %s: %s", what, where)
	}
}

// allowedToScan reports whether a function, or the one that its closure is in, may scan.
func allowedToScan(function string) bool {
	for f := range mayScan {
		if function == f || strings.HasPrefix(function, f+".func") {
			return true
		}
	}
	return false
}

// stackAbove names the functions of the project that call, the innermost first, without
// those of engines and their wrappers.
func stackAbove() (names []string) {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		name, ours := strings.CutPrefix(f.Function, "github.com/sectional/sectional/internal/")
		if ours && !strings.HasPrefix(name, "kv") {
			names = append(names, name)
		}
	}
	return names
}

// watchedLocks is a transaction that knows whether it has a head locked.
type watchedLocks struct {
	kv.Txn
	e    *shortLocks
	held bool
}

func (w *watchedLocks) locks(keys [][]byte) {
	for _, key := range keys {
		w.held = w.held || w.e.head(key)
	}
}

// Iterate implements kv.Snapshot.
func (w *watchedLocks) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	if w.held {
		w.e.found()
	}
	return w.Txn.Iterate(r, o)
}

// Read implements kv.Snapshot.
func (w *watchedLocks) Read(r kv.Reads) (kv.Found, error) {
	if w.locks(r.ForUpdate); w.held && len(r.Walks) > 0 {
		w.e.found()
	}
	return w.Txn.Read(r)
}

// GetForUpdate implements kv.Txn.
func (w *watchedLocks) GetForUpdate(key []byte) ([]byte, error) {
	w.locks([][]byte{key})
	return w.Txn.GetForUpdate(key)
}

// GetManyForUpdate implements kv.Txn.
func (w *watchedLocks) GetManyForUpdate(keys [][]byte) ([][]byte, error) {
	w.locks(keys)
	return w.Txn.GetManyForUpdate(keys)
}

// Put implements kv.Txn.
func (w *watchedLocks) Put(key, value []byte) error {
	if len(key)+len(value) > largestEntry {
		w.e.tell("an entry has more than 1 MB", stackAbove())
	}
	return w.Txn.Put(key, value)
}
