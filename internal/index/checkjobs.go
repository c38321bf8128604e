package index

import (
	"fmt"

	"github.com/sectional/sectional/internal/store"
)

// checkJobs holds the jobs of a database's own indexes against what there is to do for
// them: a build, or following a change.
func checkJobs(r *store.Reader, s *Set) (found []error, err error) {
	if r.Tenant() != "" {
		return nil, nil
	}
	for _, ix := range s.Indexes {
		needed, missing := buildJob(r.Namespace(), ix.Number).ID, ix.State == Building && !ix.Manual
		if ix.follows() {
			needed.Kind, needed.Subject = jobFollow, ""
			if missing, err = behind(r, ix); err != nil {
				return nil, err
			}
		}
		if !missing {
			continue
		}
		there, err := r.HasJob(needed.Kind, needed.Subject)
		if err != nil {
			return nil, err
		}
		if !there {
			found = append(found, fmt.Errorf("the index %d of %q has something to do, and there is no job %q", ix.Number, r.Name(), needed.Kind))
		}
	}
	return found, nil
}

// behind reports whether there are changes that an index has not followed.
func behind(r *store.Reader, ix *Index) (bool, error) {
	p, err := ReadProgress(r.Snapshot(), r.Database().Number(), ix.Number)
	if err != nil {
		return false, err
	}
	for c, err := range r.Changes(p.UpTo.Seq, false) {
		if err != nil || !r.Designs(c.ID) || ix.designs() {
			return true, err
		}
	}
	for _, err := range r.Removals(p.UpTo.Removals) {
		return true, err
	}
	return false, nil
}
