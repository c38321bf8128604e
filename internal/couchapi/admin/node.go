package admin

import (
	"cmp"
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/store"
)

// OneNode is the name of a server that has its store for itself, in CouchDB's form.
const OneNode = "sectional@127.0.0.1"

// NodeName is the name of this server among those of its store.
func NodeName(s *store.Store) string { return cmp.Or(s.Name(), OneNode) }

// onNode makes a handler of a node's page. Another server of the store is asked for its own.
func onNode(page couchhttp.Handler) couchhttp.Handler {
	return func(r *couchhttp.Request) error {
		switch r.Arg("node") {
		case "_local", NodeName(r.API.Store), "nonode@nohost", "couchdb@127.0.0.1":
			return page(r)
		}
		return r.AskServer(r.Arg("node"))
	}
}

// nodeName answers GET /_node/{node}.
func nodeName(r *couchhttp.Request) error {
	return r.JSON(http.StatusOK, []byte(`{"name":"`+NodeName(r.API.Store)+`"}`))
}

// nodeVersions answers GET /_node/{node}/_versions. There is no collation
// library and no JavaScript engine to tell of yet.
func nodeVersions(r *couchhttp.Request) error {
	return r.Marshal(http.StatusOK, map[string]any{
		"sectional":      map[string]string{"version": r.API.Version},
		"go":             map[string]string{"version": goVersion()},
		"storage_engine": map[string]string{"name": r.API.Engine},
	})
}

// smooshStatus answers GET /_node/{node}/_smoosh/status: the engine compacts by
// itself, so no channel of CouchDB's compactor has work.
func smooshStatus(r *couchhttp.Request) error {
	return r.JSON(http.StatusOK, []byte(`{"channels":{}}`))
}
