package kvtest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sectional/sectional/internal/kv"
)

func togetherCases() []testCase {
	return []testCase{
		{"keys and ranges together", together},
		{"several things together as the transaction sees them", togetherOwn},
		{"what is read together is of one snapshot", togetherStable},
		{"together for update", togetherForUpdate},
		{"the first pages of many ranges", togetherMany},
	}
}

// walkOf is a walk from start to end, of which want rows are wanted.
func walkOf(start, end string, o kv.IterOptions, want int) kv.Walk {
	o.Want = want
	return kv.Walk{Range: span(start, end), IterOptions: o}
}

// read reads keys, keys for update and walks together, and makes moves on each of the iterators, as
// walk does.
func (v env) read(s kv.Snapshot, keys, forUpdate string, walks []kv.Walk, moves ...string) string {
	v.Helper()
	out, err := read(s, kv.Reads{Keys: bytes.Fields([]byte(keys)), ForUpdate: bytes.Fields([]byte(forUpdate)), Walks: walks}, moves)
	v.wantKind(err, none)
	return out
}

func read(s kv.Snapshot, r kv.Reads, moves []string) (string, error) {
	f, err := s.Read(r)
	if err != nil {
		return "", err
	}
	defer f.Close()
	all := func([][]byte) ([][]byte, error) { return f.Values, nil }
	values, _ := getMany("", all)
	all = func([][]byte) ([][]byte, error) { return f.ForUpdate, nil }
	locked, _ := getMany("", all)
	out := []string{values, locked}
	for _, it := range f.Walks {
		rows, err := walkMoves(it, moves)
		if err != nil {
			return "", err
		}
		out = append(out, rows)
	}
	return strings.Join(out, " | "), nil
}

func together(v env) {
	v.load("a=1 b= c=3 d=4 e=5 f=6")
	v.view(func(s kv.Snapshot) {
		up, down := walkOf("b", "f", forward, 2), walkOf("b", "f", backward, 1)
		for range 2 { // as the first read, and as a later one
			v.want(v.read(s, "c x a c", "", []kv.Walk{up, down, walkOf("x", "", forward, 3), walkOf("d", "b", forward, 0)}, "next*"),
				"3 - 1 3 |  | b= c=3 d=4 e=5 | e=5 d=4 c=3 b= |  | ")
		}
		v.want(v.read(s, "", "", nil, "next"), " | ")
		v.want(v.read(s, "d", "", nil, "next"), "4 | ")
		v.want(v.read(s, "", "", []kv.Walk{down}, "next"), " |  | e=5")
		v.want(v.read(s, "", "", []kv.Walk{up, down}, "next", "c", "next", "b", "e", "next", "d"), " |  | b= c=3 d=4 b= e=5 . d=4 | e=5 c=3 b= b= e=5 d=4 d=4")
		v.want(v.read(s, "", "", []kv.Walk{up, down}, "d", "next"), " |  | d=4 e=5 | d=4 c=3")
		v.want(v.read(s, "", "", []kv.Walk{up, down}, "e", "next", "next", "b"), " |  | e=5 . . b= | e=5 d=4 c=3 b=")
		v.want(v.read(s, "", "", []kv.Walk{up}, "next*", "next", "b"), " |  | b= c=3 d=4 e=5 . b=")
	})
}

func togetherOwn(v env) {
	v.load("a=1 b=2 c=3 d=4")
	v.update(func(t kv.Txn) {
		v.put(t, "b=own e=")
		v.wantKind(t.Delete([]byte("c")), none)
		walks := []kv.Walk{walkOf("a", "d", forward, 2), walkOf("", "", backward, 1)}
		v.want(v.read(t, "e d c b a x b", "c b d", walks, "next*"), " 4 - own 1 - own | - own 4 | a=1 b=own | e= d=4 b=own a=1")
		v.want(v.read(t, "b e", "", nil), "own  | ")
		f, err := t.Read(kv.Reads{Walks: walks[:1]})
		v.wantKind(err, none)
		v.put(t, "aa=late")
		rows, err := walkMoves(f.Walks[0], []string{"next*"})
		v.wantKind(err, none)
		v.want(rows, "a=1 b=own")
		f.Close()
	})
	v.want(v.all(), "a=1 aa=late b=own d=4 e=")
}

func togetherStable(v env) {
	v.load("a=1 b=2")
	v.view(func(s kv.Snapshot) {
		f, err := s.Read(kv.Reads{Keys: [][]byte{[]byte("a")}, Walks: []kv.Walk{walkOf("", "", forward, 1)}})
		v.wantKind(err, none)
		v.load("a=9 b=9 c=9")
		rows, err := walkMoves(f.Walks[0], []string{"next*"})
		v.wantKind(err, none)
		v.want(string(f.Values[0])+" "+rows+" "+v.read(s, "b c", "", []kv.Walk{walkOf("", "", backward, 5)}, "next*"), "1 a=1 b=2 2 - |  | b=2 a=1")
		f.Close()
	})
}

func togetherForUpdate(v env) {
	v.load("x=1 y=1")
	runs := v.contend(
		func(t kv.Txn) { v.put(t, "saw="+strings.ReplaceAll(v.read(t, "x", "z y", nil), " ", "")) },
		func(t kv.Txn) { v.put(t, "y=2") })
	v.wantRuns(runs, 2)
	v.want(v.all(), "saw=1|-2 x=1 y=2")
	runs = v.contend(
		func(t kv.Txn) { v.put(t, "saw="+strings.ReplaceAll(v.read(t, "x", "y", nil), " ", "")) },
		func(t kv.Txn) { v.put(t, "x=2") })
	v.wantRuns(runs, 1)
	v.want(v.all(), "saw=1|2 x=2 y=2")
}

func togetherMany(v env) {
	var rows, want []string
	var walks []kv.Walk
	for i := range 300 {
		rows = append(rows, fmt.Sprintf("k%03da=%d k%03db=%d", i, i, i, i))
		o := kv.IterOptions{Reverse: i%2 == 0}
		walks = append(walks, walkOf(fmt.Sprintf("k%03d", i), fmt.Sprintf("k%03dz", i), o, 1))
		want = append(want, fmt.Sprintf("k%03d%s=%d", i, string("ba"[i%2]), i))
	}
	v.load(strings.Join(rows, " "))
	v.view(func(s kv.Snapshot) {
		v.want(v.read(s, "k007a", "", walks, "next"), "7 |  | "+strings.Join(want, " | "))
	})
}
