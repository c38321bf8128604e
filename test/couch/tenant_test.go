package couch

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
)

// TestTenantEndpoint replays what CouchDB was asked of databases at the endpoints of tenants: to a tenant a partition answers as
// a database of its own does. What differs is in tenant.json, beside what differs in Sectional's databases too.
func TestTenantEndpoint(t *testing.T) {
	replayTenants(t, serverOf, oneOf(4))
}

// replayTenants is replayAll at tenants' endpoints.
func replayTenants(t *testing.T, start func(*testing.T) string, takes func(i int) bool) {
	t.Helper()
	files, err := recordings()
	if err != nil {
		t.Fatal(err)
	}
	listed, err := deviations()
	if err != nil {
		t.Fatal(err)
	}
	besides, err := readDeviations("testdata/tenant.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		switch f.subject {
		case "access", "databases", "partitions":
			continue // about what surrounds documents
		}
		t.Run(f.subject, func(t *testing.T) {
			t.Parallel()
			r := replayer{address: start(t), tenant: true}
			r.configure(t, "sectional", "owner_design_docs", "members")
			for i, s := range f.scenarios {
				if s.partitioned() || !takes(i) {
					continue
				}
				name := f.subject + ": " + s.Name
				t.Run(s.Name, func(t *testing.T) {
					steps := maps.Clone(listed[name])
					if steps == nil {
						steps = departures{}
					}
					maps.Copy(steps, besides[name])
					if err := r.replay(s, steps); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

// partitioned reports whether the scenario is about partitions.
func (s scenario) partitioned() bool {
	for _, step := range s.Steps {
		if strings.Contains(step.Request.Path, "partitioned=true") || strings.Contains(step.Request.Path, "/_partition/") {
			return true
		}
	}
	return false
}

// configure changes a setting of the server.
func (r replayer) configure(t *testing.T, section, key, value string) {
	t.Helper()
	text := fmt.Sprintf("%q", value)
	got, err := r.send(request{Method: "PUT", Path: "/_node/_local/_config/" + section + "/" + key, Text: &text}, bindings{})
	if err != nil || got.status != 200 {
		t.Fatalf("[%s] %s: %d, %v", section, key, got.status, err)
	}
}

// tenantEndpoint leads from a database to the partition that stands for one.
const tenantEndpoint = "/_owner/alice"

func (r replayer) endpoint() string {
	if r.tenant {
		return tenantEndpoint
	}
	return ""
}

// database returns the name of the database behind an endpoint.
func (r replayer) database(endpoint string) string { return strings.TrimSuffix(endpoint, r.endpoint()) }

// manage makes and drops the databases behind tenants' endpoints, which tenants can't. done says that it was such a step.
func (r replayer) manage(s step, bound bindings) (got answer, done bool, err error) {
	name := regexp.MustCompile(`^/(«db\d?»)/?(\?.*)?$`).FindStringSubmatch(s.Request.Path)
	makes, drops := s.Request.Method == "PUT" && s.Response.Status == 201, s.Request.Method == "DELETE" && s.Response.Status == 200
	if !r.tenant || name == nil || !makes && !drops {
		return got, false, nil
	}
	q := s.Request
	q.Path = "/" + r.database(bound.fill(name[1]))
	if makes {
		q.Path += "?partitioned=true"
	}
	if got, err = r.send(q, bound); err == nil && got.status != s.Response.Status {
		err = fmt.Errorf("%s %s answered %d %s", q.Method, q.Path, got.status, got.body)
	}
	return got, true, err
}
