package transfer

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/couchclient"
)

// LocalsAndSecurity carries what a replication leaves aside: the local documents of a database, or of a partition's endpoint, and the
// database's `_security`. Checkpoints of replications are no documents of anybody's: they name sequences of the source,
// which the target does not have, and who trusted them there would miss changes. So they stay where they are.
type LocalsAndSecurity struct {
	Source, Target Side
	Security       bool // of a database; else local documents alone
}

// Carried is what came of it.
type Carried struct {
	Locals   int  `json:"local_documents"`      // that the target has now from the source
	Kept     int  `json:"local_documents_kept"` // that the target had, and which stayed as they were
	Security bool `json:"security"`             // false also where the target has one of its own, which stays
}

// localsPage is how many local documents are read at once.
const localsPage = 200

// Run carries them over. Errors: those of couchclient; what was carried stays.
func (a *LocalsAndSecurity) Run(ctx context.Context) (done Carried, err error) {
	from, err := a.Source.client()
	if err != nil {
		return done, err
	}
	to, err := a.Target.client()
	if err != nil {
		return done, err
	}
	if a.Security {
		if done.Security, err = security(ctx, from, to); err != nil {
			return done, err
		}
	}
	return done, locals(ctx, from, to, &done)
}

func (s Side) client() (*couchclient.Client, error) {
	return couchclient.New(s.URL, couchclient.Options{Account: couchclient.Account{User: s.User, Password: s.Password}, Transport: s.Transport})
}

// unset are the texts of a `_security` that nobody has written, for each setting of [couchdb] default_security.
var unset = []string{`{}`, `{"admins":{"roles":["_admin"]},"members":{"roles":["_admin"]}}`}

// security writes the source's `_security` where the target has none of its own, and reports whether it has the source's now.
func security(ctx context.Context, from, to *couchclient.Client) (bool, error) {
	_, there, err := securityOf(ctx, to)
	if err != nil || !slices.Contains(unset, there) {
		return false, err
	}
	text, here, err := securityOf(ctx, from)
	if err != nil || here == there { // that of _users may not even be written
		return err == nil, err
	}
	return true, to.JSON(ctx, http.MethodPut, "/_security", text, nil)
}

// securityOf returns a `_security` as it is stored, and with its members in order, to be compared.
func securityOf(ctx context.Context, of *couchclient.Client) (text json.RawMessage, ordered string, err error) {
	text, _, err = of.Whole(ctx, couchclient.Request{Method: http.MethodGet, Path: "/_security"})
	if err != nil {
		return nil, "", err
	}
	var rights map[string]any
	if err := json.Unmarshal(text, &rights); err != nil {
		return nil, "", err
	}
	again, err := json.Marshal(rights)
	return text, string(again), err
}

// locals carries the local documents over, page by page.
func locals(ctx context.Context, from, to *couchclient.Client, done *Carried) error {
	for last := ""; ; {
		q := url.Values{"include_docs": {"true"}, "limit": {strconv.Itoa(localsPage)}}
		if last != "" {
			key, err := json.Marshal(last)
			if err != nil {
				return err
			}
			q.Set("startkey", string(key))
			q.Set("skip", "1")
		}
		var page struct {
			Rows []struct {
				ID  string
				Doc map[string]json.RawMessage
			}
		}
		if err := from.JSON(ctx, http.MethodGet, "/_local_docs?"+q.Encode(), nil, &page); err != nil {
			return err
		}
		for _, row := range page.Rows {
			if last = row.ID; isCheckpoint(row.Doc) {
				continue
			}
			if err := putLocal(ctx, to, row.ID, row.Doc, done); err != nil {
				return err
			}
		}
		if len(page.Rows) < localsPage {
			return nil
		}
	}
}

// isCheckpoint reports whether a local document is one of a replication, of whichever replicator: all of them note the
// session and those before it.
func isCheckpoint(doc map[string]json.RawMessage) bool {
	return doc["session_id"] != nil && doc["history"] != nil
}

// putLocal writes a local document where there is none.
func putLocal(ctx context.Context, to *couchclient.Client, id string, doc map[string]json.RawMessage, done *Carried) error {
	path := "/_local/" + couchclient.Escape(strings.TrimPrefix(id, "_local/"))
	_, _, err := to.Whole(ctx, couchclient.Request{Method: http.MethodGet, Path: path})
	if err == nil {
		done.Kept++
		return nil
	}
	if couchclient.StatusOf(err) != http.StatusNotFound {
		return err
	}
	delete(doc, "_rev") // a local document has no history, and is written over whatever its revision
	if err = to.JSON(ctx, http.MethodPut, path, doc, nil); err == nil {
		done.Locals++
	}
	return err
}
