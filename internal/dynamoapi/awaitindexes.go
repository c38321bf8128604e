package dynamoapi

import (
	"errors"
	"time"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/secondary"
	"github.com/sectional/sectional/internal/table"
)

// indexWait is how long the answer to a request that defines indexes waits for them to be
// built. For a small table that is all of it, and who looks right after that finds it
// active: boto3 and AWS's command line look again only after 20 seconds.
const indexWait = 5 * time.Second

// awaitIndexes waits a little for the indexes that are being built.
func (r *Request) awaitIndexes(t *tableAt) error {
	end := time.Now().Add(indexWait)
	for name := range t.Indexes {
		s, err := r.api.Indexes.Session(r.Ctx(), t.db.Whole(), table.DesignID, secondary.KindName, name)
		if err != nil {
			return noTable(err)
		}
		if s == nil || s.Index.State != index.Building {
			continue
		}
		built, err := s.Built(r.Ctx(), time.Until(end))
		switch {
		case errors.Is(err, index.ErrGone) && r.Ctx().Err() == nil:
		case err != nil:
			return noTable(err)
		case !built:
			return nil
		}
	}
	return nil
}
