package admin

import (
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
)

// NodeName is the name of the one node, in CouchDB's form.
const NodeName = "sectional@127.0.0.1"

// onNode makes a handler of a node's page: the node must be this one.
func onNode(page couchhttp.Handler) couchhttp.Handler {
	return func(r *couchhttp.Request) error {
		switch r.Arg("node") {
		case "_local", NodeName, "nonode@nohost", "couchdb@127.0.0.1":
			return page(r)
		}
		return dberr.New(dberr.NotFound, "not_found", "no such node: "+r.Arg("node"))
	}
}

// nodeName answers GET /_node/{node}.
func nodeName(r *couchhttp.Request) error {
	return r.JSON(http.StatusOK, []byte(`{"name":"`+NodeName+`"}`))
}

// nodeVersions answers GET /_node/{node}/_versions. There is no collation
// library and no JavaScript engine to tell of yet.
func nodeVersions(r *couchhttp.Request) error {
	return r.Marshal(http.StatusOK, map[string]any{
		"sectional":      map[string]string{"version": r.API.Version},
		"go":             map[string]string{"version": goVersion()},
		"storage_engine": map[string]string{"name": "pebble"},
	})
}

// smooshStatus answers GET /_node/{node}/_smoosh/status: the engine compacts by
// itself, so no channel of CouchDB's compactor has work.
func smooshStatus(r *couchhttp.Request) error {
	return r.JSON(http.StatusOK, []byte(`{"channels":{}}`))
}
