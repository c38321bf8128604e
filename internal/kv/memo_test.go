package kv

import (
	"errors"
	"testing"
)

// numbered is a snapshot that only has its version.
type numbered struct {
	Snapshot
	n uint64
}

func (s numbered) Version() uint64 { return s.n }

func TestMemo(t *testing.T) {
	var m Memo[int]
	made := 0
	get := func(s Snapshot, fails error) (int, error) {
		return m.Get(s, func() (int, error) { made++; return made, fails })
	}
	broken := errors.New("broken")
	for _, step := range []struct {
		what  string
		s     Snapshot
		fails error
		want  int
	}{
		{"the first", numbered{n: 7}, nil, 1},
		{"the same state", numbered{n: 7}, nil, 1},
		{"the same state with rows read ahead", NewAhead(numbered{n: 7}), nil, 1},
		{"another", numbered{n: 8}, nil, 2},
		{"an older one", numbered{n: 7}, nil, 3},
		{"one that fails", numbered{n: 9}, broken, 4},
		{"it again", numbered{n: 9}, nil, 5},
		{"a snapshot without a number", struct{ Snapshot }{}, nil, 6},
		{"what was remembered before", numbered{n: 9}, nil, 5},
	} {
		got, err := get(step.s, step.fails)
		if got != step.want || !errors.Is(err, step.fails) {
			t.Errorf("%s: %d, %v; want %d", step.what, got, err, step.want)
		}
	}
}
