package kvtest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// trips shows the trips since the last call.
func (e *Remote) shown() string {
	var out []string
	for _, t := range e.Take() {
		out = append(out, fmt.Sprintf("%s %s*%d", t.Op, t.Key, t.Rows))
	}
	return strings.Join(out, ", ")
}

func TestRemote(t *testing.T) {
	e := NewRemote(NewModel(ModelOptions{}), nil)
	v := env{T: t, e: e}
	v.load("a=1 b=2 c=3")
	v.want(e.shown(), "commit *3")
	v.view(func(kv.Snapshot) {})
	v.update(func(kv.Txn) {})
	v.want(e.shown(), "")

	v.view(func(s kv.Snapshot) {
		v.want(v.get(s, "a")+v.getMany("b x", s.GetMany)+v.getMany("", s.GetMany), "12 -")
		v.want(v.rows(s, span("b", ""), forward), "b=2 c=3")
		v.want(v.walk(s, kv.Range{}, forward, "b", "next", "a"), "b=2 c=3 a=1")
	})
	v.want(e.shown(), "get a*1, get b*2, page b*2, page b*2, page a*1")

	v.update(func(tx kv.Txn) {
		v.want(v.get(tx, "a")+v.lock(tx, "b")+v.getMany("c a", tx.GetManyForUpdate)+v.getMany("a", tx.GetMany), "123 11")
		v.want(v.rows(tx, span("c", ""), backward), "c=3")
	})
	v.want(e.shown(), "get a*1, lock b*1, lock c*2, get a*1, page c*1, commit *0")
	v.wantKind(e.Update(context.Background(), func(tx kv.Txn) error { v.put(tx, "a=2"); return errRefused }), dberr.Internal)
	v.want(e.shown(), "")
	v.wantKind(e.Discard(context.Background(), span("a", "")), none)
	v.want(e.shown(), "discard a*0")
}

func TestRemoteReads(t *testing.T) {
	e := NewRemote(NewModel(ModelOptions{}), nil)
	v := env{T: t, e: e}
	v.load("a=1 b=2 c=3 d=4")
	e.Take()
	up, down := walkOf("", "", forward, 2), walkOf("", "", backward, 1)
	v.view(func(s kv.Snapshot) {
		v.want(v.read(s, "a b", "", []kv.Walk{up, down}, "next"), "1 2 |  | a=1 | d=4")
		v.want(v.read(s, "", "", []kv.Walk{up}, "b", "next"), " |  | b=2 c=3")
		v.read(s, "", "", nil)
	})
	v.want(e.shown(), "read a*4, read *2, page c*1")
	v.update(func(tx kv.Txn) { v.read(tx, "a", "b", []kv.Walk{down}, "next", "next") })
	v.want(e.shown(), "read b*3, page c*1, commit *0")
}

func TestRemoteOfPages(t *testing.T) {
	e := NewRemote(NewModel(ModelOptions{}), nil)
	v := env{T: t, e: e}
	for i := range 2*PageRows + 1 {
		if i%PageRows == 0 {
			v.want(strings.TrimSpace(pagesOf(v, e)), strings.TrimSpace(strings.Repeat("page ", max(1, i/PageRows))))
		}
		v.load(fmt.Sprintf("%06d=x", i))
	}
	v.want(pagesOf(v, e), "page page page ")
}

// pagesOf walks everything and reports which trips that took.
func pagesOf(v env, e *Remote) (out string) {
	e.Take()
	v.all()
	for _, t := range e.Take() {
		out += t.Op + " "
	}
	return out
}
