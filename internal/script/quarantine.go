package script

import (
	"context"
	"strings"
	"sync"
	"time"
)

// quarantine remembers filters that had to be stopped Hopeless times for one caller:
// his next calls get the same error at once, instead of taking a whole allowance
// each. It is about a version of the function and about one caller, for what
// makes it hang may be in his request; and it holds for a while only, for what
// makes it hang may be a document that is mended meanwhile. Nothing that is
// stored depends on it, so it need not outlive the process.
type quarantine struct {
	mu sync.Mutex
	by map[filterKey]*strikes
}

// filterKey is a filter function, at one version, and who calls it.
type filterKey struct{ realm, function, caller string }

// strikes counts how often a function had to be stopped.
type strikes struct {
	n    int
	last time.Time
	err  error
}

const (
	quarantineTime = time.Minute // after which it is tried once more
	maxQuarantined = 1000        // functions that are remembered, before all are forgotten
)

func filterOf(ctx context.Context, j *job) filterKey {
	function := strings.Join(j.function, ".")
	if function == "" {
		function = j.realm.Functions[0]
	}
	return filterKey{j.realm.name(j.flavour), function, callerOf(ctx)}
}

// refused returns the error for a call that need not be tried; nil: try it.
func (s *quarantine) refused(who filterKey, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.by[who]
	if k == nil || k.n < MaxStopped || now.Sub(k.last) > quarantineTime {
		return nil
	}
	return k.err
}

// stopped notes that a function had to be stopped.
func (s *quarantine) stopped(who filterKey, err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil || len(s.by) >= maxQuarantined && s.by[who] == nil {
		s.by = map[filterKey]*strikes{}
	}
	k := s.by[who]
	if k == nil {
		k = &strikes{}
		s.by[who] = k
	}
	k.n, k.last, k.err = k.n+1, now, err
}
