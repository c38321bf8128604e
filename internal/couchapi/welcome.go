package couchapi

import (
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/admin"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
)

// compatible is the version of CouchDB whose API this is. Clients compare it.
const compatible = "3.5.2"

// features are CouchDB's and Cloudant's names for what is there: databases may be partitioned,
// documents may hold the _access member, and there are full-text search and geo queries.
func features(nouveau bool) []string {
	if nouveau {
		return []string{"access-ready", "geo", "nouveau", "partitioned", "search"}
	}
	return []string{"access-ready", "geo", "partitioned", "search"}
}

// welcome answers GET /: programs with JSON, whoever looks at it in a browser with a
// page.
func welcome(r *couchhttp.Request) error {
	if r.Vary("Accept"); wantsPage(r) {
		return toDashboard(r, http.StatusFound)
	}
	return r.Build(http.StatusOK, func(b []byte) []byte {
		b = append(b, `{"couchdb":"Welcome","version":"`+compatible+`","git_sha":`...)
		b = couchhttp.AppendString(b, r.API.Version)
		b = append(b, `,"uuid":`...)
		b = couchhttp.AppendString(b, r.API.Store.UUID())
		b = append(b, `,"features":`...)
		b = couchhttp.AppendStrings(b, features(r.API.Settings.Value().Nouveau))
		b = append(b, `,"vendor":{"name":"Sectional","version":`...)
		b = couchhttp.AppendString(b, r.API.Version)
		return append(b, `}}`...)
	})
}

// up answers GET /_up, which balancers ask. A server whose disk is full says so
// and stays in the balance, for it answers reads and drops.
//
// With live=true it says whether the process is of use: only a storage engine that has stopped is
// mended by another start, and neither maintenance nor a full disk nor a PostgreSQL that is away is.
func up(r *couchhttp.Request) error {
	if r.Query.Is("live") {
		return upLives(r)
	}
	switch mode, _ := r.API.Config.Get("couchdb", "maintenance_mode"); mode {
	case "true":
		return r.JSON(http.StatusNotFound, []byte(`{"status":"maintenance_mode"}`))
	case "nolb":
		return r.JSON(http.StatusNotFound, []byte(`{"status":"nolb"}`))
	}
	health := "ok"
	if r.API.Health != nil {
		health = r.API.Health()
	}
	status := http.StatusOK
	switch health {
	case "stopped", "away":
		status = http.StatusServiceUnavailable
	case "draining":
		return r.JSON(http.StatusNotFound, []byte(`{"status":"draining"}`))
	}
	return r.JSON(status, []byte(`{"status":"`+health+`","seeds":{}}`))
}

func upLives(r *couchhttp.Request) error {
	if r.API.Health != nil && r.API.Health() == "stopped" {
		return r.JSON(http.StatusServiceUnavailable, []byte(`{"status":"stopped"}`))
	}
	return r.JSON(http.StatusOK, []byte(`{"status":"ok"}`))
}

// membership answers GET /_membership: in all_nodes the servers that live, in cluster_nodes
// those that were stopped or died less than a day ago, too.
func membership(r *couchhttp.Request) error {
	servers, err := r.API.Store.Servers(r.Ctx())
	if err != nil {
		return err
	}
	living, all := []string{}, []string{}
	for _, s := range servers {
		if all = append(all, s.Name); s.Lives(r.API.Store.Now()) {
			living = append(living, s.Name)
		}
	}
	if len(all) == 0 {
		living, all = []string{admin.OneNode}, []string{admin.OneNode}
	}
	return r.Build(http.StatusOK, func(b []byte) []byte {
		b = couchhttp.AppendStrings(append(b, `{"all_nodes":`...), living)
		b = couchhttp.AppendStrings(append(b, `,"cluster_nodes":`...), all)
		return append(b, '}')
	})
}

// favicon answers browsers, which ask on their own account.
func favicon(*couchhttp.Request) error {
	return dberr.New(dberr.NotFound, "not_found", "missing")
}

// replicateNothing answers GET /_replicate, in CouchDB's words.
func replicateNothing(*couchhttp.Request) error {
	return dberr.New(dberr.Invalid, "bad_request", "Missing request body")
}
