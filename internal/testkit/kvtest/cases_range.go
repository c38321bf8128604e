package kvtest

import "github.com/sectional/sectional/internal/kv"

func rangeCases() []testCase {
	return []testCase{
		{"ranges", ranges},
		{"seek", seek},
		{"nowhere stays nowhere", nowhere},
		{"own writes in ranges", ownRanges},
		{"own writes and seek", ownSeek},
		{"an iterator keeps to its beginning", iteratorBeginning},
	}
}

func ranges(v env) {
	v.load("a=1 b=2 c=3 d=4 e=5")
	for _, c := range []struct{ start, end, want, reversed string }{
		{"", "", "a=1 b=2 c=3 d=4 e=5", "e=5 d=4 c=3 b=2 a=1"},
		{"b", "", "b=2 c=3 d=4 e=5", "e=5 d=4 c=3 b=2"},
		{"", "d", "a=1 b=2 c=3", "c=3 b=2 a=1"},
		{"b", "d", "b=2 c=3", "c=3 b=2"},
		{"bb", "dd", "c=3 d=4", "d=4 c=3"},
		{"b", "b", "", ""},
		{"d", "b", "", ""},
		{"f", "", "", ""},
		{"c", "c\x00", "c=3", "c=3"},
	} {
		check := func(s kv.Snapshot) {
			v.want(v.rows(s, span(c.start, c.end), forward), c.want)
			v.want(v.rows(s, span(c.start, c.end), backward), c.reversed)
		}
		v.view(check)
		v.update(func(t kv.Txn) { check(t) })
	}
}

func seek(v env) {
	v.load("a=1 c=3 e=5 g=7")
	check := func(s kv.Snapshot) {
		all := kv.Range{}
		v.want(v.walk(s, all, forward, "b", "next", "e", "a", "next", "h"), "c=3 e=5 e=5 a=1 c=3 .")
		v.want(v.walk(s, all, backward, "f", "next", "c", "g", "next", "0"), "e=5 c=3 c=3 g=7 e=5 .")
		v.want(v.walk(s, all, backward, "z", "next"), "g=7 e=5")
		part := span("b", "f")
		v.want(v.walk(s, part, forward, "a", "next", "next"), "c=3 e=5 .")
		v.want(v.walk(s, part, forward, "f", "e", "next"), ". e=5 .")
		v.want(v.walk(s, part, backward, "z", "next", "next"), "e=5 c=3 .")
		v.want(v.walk(s, part, backward, "e", "b"), "e=5 .")
		v.want(v.walk(s, part, forward, "next", "d", "next"), "c=3 e=5 .")
	}
	v.view(check)
	v.update(func(t kv.Txn) { check(t) })
}

func nowhere(v env) {
	v.load("a=1 b=2")
	check := func(s kv.Snapshot) {
		v.want(v.walk(s, kv.Range{}, forward, "next*", "next", "next", "a"), "a=1 b=2 . . a=1")
		v.want(v.walk(s, kv.Range{}, backward, "next*", "next", "next", "b"), "b=2 a=1 . . b=2")
		v.want(v.walk(s, span("x", "y"), backward, "next", "next", "a"), ". . .")
	}
	v.view(check)
	v.update(func(t kv.Txn) {
		v.put(t, "b=2")
		check(t)
	})
}

func ownRanges(v env) {
	v.load("b=1 d=1 f=1 h=1")
	v.update(func(t kv.Txn) {
		v.put(t, "a=2 d=2 e=2 i=2")
		v.wantKind(t.Delete([]byte("f")), none)
		v.wantKind(t.Delete([]byte("g")), none)
		v.wantKind(t.DeleteOnce([]byte("h")), none)
		v.want(v.rows(t, kv.Range{}, forward), "a=2 b=1 d=2 e=2 i=2")
		v.want(v.rows(t, kv.Range{}, backward), "i=2 e=2 d=2 b=1 a=2")
		v.want(v.rows(t, span("b", "e"), forward), "b=1 d=2")
		v.put(t, "c=3 f=3")
		v.wantKind(t.Delete([]byte("a")), none)
		v.wantKind(t.Delete([]byte("b")), none)
		v.want(v.rows(t, kv.Range{}, forward), "c=3 d=2 e=2 f=3 i=2")
		v.want(v.rows(t, span("", "f"), backward), "e=2 d=2 c=3")
	})
	v.want(v.all(), "c=3 d=2 e=2 f=3 i=2")
}

func ownSeek(v env) {
	v.load("b=1 d=1 f=1")
	v.update(func(t kv.Txn) {
		v.put(t, "a=2 c=2 g=2")
		v.wantKind(t.Delete([]byte("d")), none)
		v.want(v.walk(t, kv.Range{}, forward, "c", "next", "next", "next", "b", "next"), "c=2 f=1 g=2 . b=1 c=2")
		v.want(v.walk(t, kv.Range{}, backward, "e", "next", "next", "next", "d", "g", "next"), "c=2 b=1 a=2 . c=2 g=2 f=1")
		v.want(v.walk(t, span("b", "f"), backward, "z", "next", "a", "next"), "c=2 b=1 . .")
	})
}

func iteratorBeginning(v env) {
	v.load("b=1 d=1")
	v.update(func(t kv.Txn) {
		v.put(t, "c=2")
		it, err := t.Iterate(kv.Range{}, forward)
		v.wantKind(err, none)
		defer it.Close()
		v.put(t, "a=3 c=3 e=3")
		v.wantKind(t.Delete([]byte("d")), none)
		rows, err := walkMove(it, "next*")
		v.wantKind(err, none)
		if len(rows) != 3 || rows[0] != "b=1" || rows[1] != "c=2" || rows[2] != "d=1" {
			v.Errorf("the iterator walked %q, want what was there when it was made", rows)
		}
	})
}
