package kvtest

import (
	"context"
	"errors"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

func TestAhead(t *testing.T) {
	e := NewRemote(NewModel(ModelOptions{}), nil)
	v := env{T: t, e: e}
	v.load("a=1 b= c=3")
	e.Take()
	v.view(func(s kv.Snapshot) {
		a := kv.NewAhead(s)
		v.wantKind(a.Fetch([][]byte{[]byte("a"), []byte("b"), []byte("x")}), none)
		v.want(v.get(a, "a")+v.get(a, "b")+v.get(a, "x")+v.get(a, "c"), "1-3")
		v.wantKind(a.Fetch([][]byte{[]byte("a")}), none)
		v.want(v.rows(a, kv.Range{}, forward), "a=1 b= c=3")
		if b, err := a.Get([]byte("b")); b == nil || err != nil {
			t.Errorf("the empty value is %#v, %v", b, err)
		}
	})
	v.want(e.shown(), "get a*3, get c*1, page *3")
}

func TestAheadTxn(t *testing.T) {
	e := NewRemote(NewModel(ModelOptions{}), nil)
	v := env{T: t, e: e}
	v.load("a=1 b=2 c=3 d=4")
	e.Take()
	v.update(func(tx kv.Txn) {
		a := kv.NewAheadTxn(tx)
		v.wantKind(a.Fetch([][]byte{[]byte("a"), []byte("d")}), none)
		_, err := a.FetchForUpdate([][]byte{[]byte("b"), []byte("c"), []byte("x")})
		v.wantKind(err, none)
		v.want(v.lock(a, "b")+v.get(a, "b")+v.lock(a, "x")+v.get(a, "a"), "22-1")
		v.want(e.shown(), "get a*2, lock b*3")
		v.want(v.lock(a, "a"), "1") // was read plainly
		v.want(e.shown(), "lock a*1")
		v.put(a, "b=own x=own")
		v.wantKind(a.Delete([]byte("c")), none)
		v.wantKind(a.DeleteOnce([]byte("d")), none)
		v.want(v.get(a, "b")+v.lock(a, "x")+v.lock(a, "c")+v.get(a, "d"), "ownown--")
	})
	v.want(v.all(), "a=1 b=own x=own")
}

// TestAheadConflicts: rows read ahead and for update count though nobody asks for
// them, those read plainly do not.
func TestAheadConflicts(t *testing.T) {
	v := env{T: t, e: NewModel(ModelOptions{})}
	v.load("a=1 b=1")
	for key, want := range map[string]int{"a": 1, "b": 2, "absent": 2} {
		runs := v.contend(func(tx kv.Txn) {
			a := kv.NewAheadTxn(tx)
			v.wantKind(a.Fetch([][]byte{[]byte("a")}), none)
			others, err := a.FetchForUpdate([][]byte{[]byte("b"), []byte("absent")}, []byte("c"), []byte("d"))
			v.wantKind(err, none)
			v.want(v.getMany("", func([][]byte) ([][]byte, error) { return others, nil }), "- -")
			v.put(a, "mine=1")
		}, func(tx kv.Txn) { v.put(tx, key+"=2") })
		v.wantRuns(runs, want)
	}
}

func TestAheadFails(t *testing.T) {
	f := NewFaults(NewModel(ModelOptions{}))
	f.FailRead(1)
	err := f.View(context.Background(), func(s kv.Snapshot) error {
		a := kv.NewAhead(s)
		err := a.Fetch([][]byte{[]byte("a")})
		if _, again := a.Get([]byte("a")); !errors.Is(again, kv.ErrNotFound) {
			t.Errorf("a row that could not be read ahead is %v", again)
		}
		return err
	})
	env{T: t}.wantKind(err, dberr.Unavailable)
}
