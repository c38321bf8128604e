package couchapi

import (
	"net/http"

	"github.com/sectional/sectional/internal/dberr"
)

// compatible is the version of CouchDB whose API this is. Clients compare it.
const compatible = "3.5.2"

// features are CouchDB's names for what is there: databases may be partitioned,
// and documents may hold the _access member.
var features = []string{"access-ready", "partitioned"}

// welcome answers GET /: programs with JSON, whoever looks at it in a browser with a
// page.
func welcome(r *request) error {
	if r.Vary("Accept"); r.wantsPage() {
		return browserPage(r)
	}
	return r.build(http.StatusOK, func(b []byte) []byte {
		b = append(b, `{"couchdb":"Welcome","version":"`+compatible+`","git_sha":`...)
		b = appendString(b, r.api.version)
		b = append(b, `,"uuid":`...)
		b = appendString(b, r.api.store.UUID())
		b = append(b, `,"features":`...)
		b = appendStrings(b, features)
		b = append(b, `,"vendor":{"name":"Sectional","version":`...)
		b = appendString(b, r.api.version)
		return append(b, `}}`...)
	})
}

// up answers GET /_up, which balancers ask. A server whose disk is full says so
// and stays in the balance, for it answers reads and drops.
func up(r *request) error {
	switch mode, _ := r.api.config.Get("couchdb", "maintenance_mode"); mode {
	case "true":
		return r.json(http.StatusNotFound, []byte(`{"status":"maintenance_mode"}`))
	case "nolb":
		return r.json(http.StatusNotFound, []byte(`{"status":"nolb"}`))
	}
	health := "ok"
	if r.api.health != nil {
		health = r.api.health()
	}
	status := http.StatusOK
	if health == "stopped" {
		status = http.StatusServiceUnavailable
	}
	return r.json(status, []byte(`{"status":"`+health+`","seeds":{}}`))
}

// membership answers GET /_membership: one node.
func membership(r *request) error {
	return r.json(http.StatusOK, []byte(`{"all_nodes":["`+NodeName+`"],"cluster_nodes":["`+NodeName+`"]}`))
}

// favicon answers browsers, which ask on their own account.
func favicon(*request) error {
	return dberr.New(dberr.NotFound, "not_found", "missing")
}

// replicateNothing answers GET /_replicate, in CouchDB's words.
func replicateNothing(*request) error {
	return dberr.New(dberr.Invalid, "bad_request", "Missing request body")
}

// tempView answers whatever is asked of temporary views.
func tempView(*request) error { return errTempView }

// appendStrings appends a list of strings.
func appendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}
