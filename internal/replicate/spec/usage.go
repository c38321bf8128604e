package spec

import (
	"slices"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	js "github.com/sectional/sectional/internal/jsonscan"
)

// Charge is whose replications one counts among: a user, by who vouches for the name. The zero value is of those
// whom nobody knows.
type Charge struct{ Name, From string }

// ChargeOf returns whom the replications of a caller are charged to who is not a server administrator: of that name, for which
// from vouches.
func ChargeOf(name, from string) Charge {
	if name == "" {
		return Charge{}
	}
	return Charge{name, from}
}

// adminRole is the role of server administrators.
const adminRole = "_admin"

// ChargeOfDocument returns whom the replication of a document is charged to; not ok for one that is not counted: a server
// administrator wrote it, or it has ended.
func ChargeOfDocument(body []byte) (who Charge, ok bool) {
	if Over(body) {
		return Charge{}, false
	}
	owner, _ := js.Member(body, "owner")
	name, _ := text(owner)
	raw, said := js.Member(body, OwnerMember)
	if !said {
		return Charge{}, name == "" // an administrator wrote it
	}
	context, _ := ParseOwnerContext(raw)
	if context == nil || slices.Contains(context.Roles, adminRole) {
		return Charge{}, context == nil
	}
	return Charge{name, context.From}, true
}

// Over reports whether a document says that its replication has ended. Other states
// are those that older servers wrote: nothing is made of them.
func Over(body []byte) bool {
	state, _ := js.Member(body, "_replication_state")
	return js.NameIs(state, "completed") || js.NameIs(state, "failed")
}

// Usage is what somebody has of replications: how many, and how long the texts are that ask for them.
type Usage struct {
	Jobs  int
	Bytes int64
	Docs  map[document.ID]int64 // the lengths of those that documents of one database ask for; nil for none
}

// Add counts a replication of so many bytes more, that of a document in the place of the one that it asked for; id is "" for one
// that a request asks for. Errors: Forbidden for one too many, TooLarge for too many bytes; nothing is counted then.
func (h *Usage) Add(id document.ID, size int64, s *Settings) error {
	before, known := h.Docs[id]
	if !known && s.UserJobs > 0 && h.Jobs >= s.UserJobs {
		return dberr.New(dberr.Forbidden, "forbidden", "You can have %d replications at a time: `[replicator] max_jobs_per_user`.", s.UserJobs)
	}
	if more := size - before; more > 0 && s.UserBytes > 0 && h.Bytes+more > s.UserBytes {
		return dberr.New(dberr.TooLarge, "too_large", "All that asks for your replications can have %d bytes: `[replicator] max_bytes_per_user`.", s.UserBytes)
	}
	if !known {
		h.Jobs++
	}
	h.Bytes += max(size-before, 0)
	if id != "" {
		if h.Docs == nil {
			h.Docs = map[document.ID]int64{}
		}
		h.Docs[id] = max(size, before)
	}
	return nil
}
