package couchapi

import (
	"encoding/json"
	"net/http"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
)

// clusterState answers GET /_cluster_setup: one node, set up from the start.
func clusterState(r *request) error {
	return r.json(http.StatusOK, []byte(`{"state":"single_node_enabled"}`))
}

// setup is the body of POST /_cluster_setup.
type setup struct {
	Action   string `json:"action"`
	Username string `json:"username"`
	Password string `json:"password"`
}

// clusterActions are what setup scripts send. This server is one node and is
// set up when it starts; so the actions make sure of what they ask for and do
// no harm when repeated.
var clusterActions = map[string]func(*request, setup) error{
	"enable_single_node": enableNode,
	"finish_cluster":     finishCluster,
	"enable_cluster":     refuseCluster,
	"add_node":           refuseCluster,
	"remove_node":        refuseCluster,
	"receive_cookie":     refuseCluster,
}

// clusterSetup answers POST /_cluster_setup.
func clusterSetup(r *request) error {
	raw, err := r.jsonBody()
	if err != nil {
		return err
	}
	if err := checkJSON(raw); err != nil {
		return err
	}
	var s setup
	if json.Unmarshal(raw, &s) != nil {
		return dberr.New(dberr.Invalid, "bad_request", "Request body must be a JSON object")
	}
	act := clusterActions[s.Action]
	if act == nil {
		return dberr.New(dberr.Invalid, "bad_request", "Invalid Action'")
	}
	return act(r, s)
}

// enableNode makes the administrator that is named, if any, and the system
// databases.
func enableNode(r *request, s setup) error {
	if s.Username != "" && s.Password != "" {
		if _, err := auth.SetAdmin(r.api.config, s.Username, s.Password); err != nil {
			return err
		}
	}
	return finishCluster(r, s)
}

func finishCluster(r *request, _ setup) error {
	if err := r.api.MakeSystemDatabases(r.ctx()); err != nil {
		return err
	}
	return r.ok(http.StatusCreated)
}

func refuseCluster(*request, setup) error {
	return notImplemented("This server is a single node: it has no cluster to set up.")
}
