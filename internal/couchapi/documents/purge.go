package documents

import (
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// purge answers _purge: the listed leaves are forgotten.
func purge(r *couchhttp.Request) error {
	raw, err := r.JSONBody()
	if err != nil {
		return err
	}
	lists, err := couchwire.ParseRevLists(raw)
	if err != nil {
		return err
	}
	if err := checkPurge(r, lists); err != nil {
		return err
	}
	ps := make([]store.Purging, 0, len(lists))
	for _, l := range lists {
		// What can't be an id has nothing to purge; a local document is none.
		if id, err := document.ParseID(l.ID, 0); err == nil && !id.IsLocal() {
			ps = append(ps, store.Purging{ID: id, Revs: l.Revs})
		}
	}
	if len(ps) > 0 {
		if ps, err = r.DB.Purge(r.Ctx(), ps); err != nil {
			return err
		}
	}
	return r.Build(http.StatusCreated, func(b []byte) []byte {
		b = append(b, `{"purge_seq":null,"purged":{`...)
		for _, l := range lists {
			b = couchhttp.AppendMember(b, l.ID)
			var revs []document.Rev
			if len(ps) > 0 && string(ps[0].ID) == l.ID {
				revs, ps = ps[0].Revs, ps[1:]
			}
			b = couchwire.AppendRevs(b, revs)
		}
		return append(b, "}}"...)
	})
}

// checkPurge enforces the limits of [purge].
func checkPurge(r *couchhttp.Request, lists []couchwire.RevList) error {
	s := r.API.Settings.Value()
	if s.MaxPurgeIDs > 0 && len(lists) > s.MaxPurgeIDs {
		return couchhttp.BadRequest("Exceeded maximum number of documents.")
	}
	for _, l := range lists {
		if s.MaxPurgeRevs > 0 && len(l.Revs) > s.MaxPurgeRevs {
			return couchhttp.BadRequest("Exceeded maximum number of revisions.")
		}
	}
	return nil
}

// purgedInfos answers _purged_infos: the last purges.
func purgedInfos(r *couchhttp.Request) error {
	ps, err := r.DB.Purged(r.Ctx())
	if err != nil {
		return err
	}
	return r.Build(http.StatusOK, func(b []byte) []byte {
		b = append(b, `{"purged_infos":[`...)
		for i, p := range ps {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, `{"id":`...)
			b = couchhttp.AppendString(b, string(p.ID))
			b = append(b, `,"revs":`...)
			b = append(couchwire.AppendRevs(b, p.Revs), '}')
		}
		return append(b, "]}"...)
	})
}
