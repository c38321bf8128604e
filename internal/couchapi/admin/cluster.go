package admin

import (
	"encoding/json"
	"net/http"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
)

// ClusterState answers GET /_cluster_setup: one node, set up from the start. It
// counts as disabled while a database is missing that ensure_dbs_exist names.
func ClusterState(r *couchhttp.Request) error {
	var names []string
	if v, ok := r.Query.Get("ensure_dbs_exist"); ok {
		if err := couchhttp.CheckJSON([]byte(v)); err != nil {
			return err
		}
		if json.Unmarshal([]byte(v), &names) != nil {
			return errSetupNames
		}
	}
	state := "enabled"
	for _, name := range names {
		switch _, err := r.API.Store.Database(r.Ctx(), name); {
		case dberr.Is(err, dberr.NotFound):
			state = "disabled"
		case err != nil:
			return err
		}
	}
	return r.JSON(http.StatusOK, []byte(`{"state":"single_node_`+state+`"}`))
}

var errSetupNames = dberr.New(dberr.Invalid, "bad_request", "`ensure_dbs_exist` must be an array of database names.")

// setup is the body of POST /_cluster_setup.
type setup struct {
	Action    string          `json:"action"`
	Username  string          `json:"username"`
	Password  string          `json:"password"`
	Databases json.RawMessage `json:"ensure_dbs_exist"`
}

// clusterActions are what setup scripts send. This server is one node and is
// set up when it starts; so the actions make sure of what they ask for and do
// no harm when repeated.
var clusterActions = map[string]func(*couchhttp.Request, setup) error{
	"enable_single_node": enableNode,
	"finish_cluster":     finishCluster,
	"enable_cluster":     refuseCluster,
	"add_node":           refuseCluster,
	"remove_node":        refuseCluster,
	"receive_cookie":     refuseCluster,
}

// ClusterSetup answers POST /_cluster_setup.
func ClusterSetup(r *couchhttp.Request) error {
	raw, err := r.JSONBody()
	if err != nil {
		return err
	}
	if err := couchhttp.CheckJSON(raw); err != nil {
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

// enableNode makes the administrator that is named, if any, the system
// databases, and those that the body names.
func enableNode(r *couchhttp.Request, s setup) error {
	names, err := s.databases()
	if err != nil {
		return err
	}
	if s.Username != "" && s.Password != "" {
		if _, err := auth.SetAdmin(r.API.Config, s.Username, s.Password); err != nil {
			return err
		}
	}
	return setUp(r, names)
}

func finishCluster(r *couchhttp.Request, s setup) error {
	names, err := s.databases()
	if err != nil {
		return err
	}
	return setUp(r, names)
}

// databases returns the names in ensure_dbs_exist, every one of them legal.
func (s setup) databases() ([]string, error) {
	if s.Databases == nil {
		return nil, nil
	}
	var names []string
	if json.Unmarshal(s.Databases, &names) != nil {
		return nil, errSetupNames
	}
	for _, name := range names {
		if err := store.ParseName(name); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// setUp makes the databases that are missing, and answers.
func setUp(r *couchhttp.Request, names []string) error {
	if err := r.API.MakeSystemDatabases(r.Ctx()); err != nil {
		return err
	}
	access := store.Creation{Security: r.API.Settings.Value().DefaultAccess.JSON()}
	if err := r.API.MakeDatabases(r.Ctx(), names, access); err != nil {
		return err
	}
	return r.OK(http.StatusCreated)
}

func refuseCluster(*couchhttp.Request, setup) error {
	return couchhttp.NotImplemented("There is no cluster to set up: servers that share one PostgreSQL know each other by it.")
}
