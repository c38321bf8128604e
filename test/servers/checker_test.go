package servers

import "testing"

// TestHistories: the checker takes what may have happened at one place, and nothing else.
func TestHistories(t *testing.T) {
	read := func(n int) (asked, told) { return asked{read: true}, told{values: [cells]int{n}} }
	set := func(want, n int, out outcome) (asked, told) {
		return asked{sets: []setting{{0, want, n}}}, told{outcome: out}
	}
	type step struct {
		in  asked
		out told
	}
	of := func(in asked, out told) step { return step{in, out} }
	for name, c := range map[string]struct {
		steps []step
		holds bool
	}{
		"a write and its read":            {[]step{of(set(0, 1, done)), of(read(1))}, true},
		"an acknowledged write is lost":   {[]step{of(set(0, 1, done)), of(read(0))}, false},
		"a write over another":            {[]step{of(set(0, 1, done)), of(set(0, 2, done)), of(read(2))}, false},
		"a refusal":                       {[]step{of(set(0, 1, done)), of(set(0, 2, refused)), of(read(1))}, true},
		"a refusal without a reason":      {[]step{of(set(0, 1, refused)), of(read(0))}, false},
		"a refused write that landed":     {[]step{of(set(0, 1, done)), of(set(0, 2, refused)), of(read(2))}, false},
		"a failed write that landed":      {[]step{of(set(0, 1, failed)), of(read(1))}, false},
		"one without an answer, not seen": {[]step{of(set(0, 1, unknown)), of(read(0)), of(set(0, 2, done)), of(read(2))}, true},
		"one without an answer, seen":     {[]step{of(set(0, 1, unknown)), of(read(0)), of(read(1)), of(set(1, 2, done))}, true},
		"one that was seen and is gone":   {[]step{of(set(0, 1, unknown)), of(read(1)), of(read(0))}, false},
		"one that came over another":      {[]step{of(set(0, 1, unknown)), of(set(0, 2, done)), of(read(2)), of(read(1))}, false},
	} {
		h := &history{}
		for client, s := range c.steps {
			h.run(client, s.in, func(asked) told { return s.out })
		}
		if holds, anything := h.linearizable(); holds != c.holds || anything {
			t.Errorf("%s: it holds: %t, want %t; anything does: %t", name, holds, c.holds, anything)
		}
	}
}
