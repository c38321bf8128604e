package deploy

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/sectional/sectional/internal/config"
)

// environment is what a reader puts into .env.
var environment = types.Mapping{
	"ADMIN_PASSWORD": "pass", "SECTIONAL_PASSWORD": "it's \"secret\"", "REPLICATOR_PASSWORD": "replicates", "POSTGRES_PASSWORD": "super",
}

// compose reads the file as Compose does, strictly.
func compose(t *testing.T, environment types.Mapping) (*types.Project, error) {
	t.Helper()
	dir, err := filepath.Abs(files)
	if err != nil {
		t.Fatal(err)
	}
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: dir, Environment: environment.Clone(), ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(dir, "compose.yaml")}},
	})
}

func mustCompose(t *testing.T) *types.Project {
	t.Helper()
	p, err := compose(t, environment)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// servers are the services of the server.
func servers(p *types.Project) (names []string) {
	for _, name := range []string{"one", "two", "three"} {
		if _, ok := p.Services[name]; ok {
			names = append(names, name)
		}
	}
	return names
}

// TestCompose: the file is a compose file, lacks no password silently, mounts files that are there, and its services
// fit each other.
func TestCompose(t *testing.T) {
	p := mustCompose(t)
	if len(servers(p)) != 3 || len(p.Services) != 6 {
		t.Errorf("services %v", p.ServiceNames())
	}
	for name := range environment {
		without := types.Mapping{}
		for other, value := range environment {
			if other != name {
				without[other] = value
			}
		}
		if _, err := compose(t, without); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	for name, s := range p.Services {
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			if info, err := os.Stat(v.Source); err != nil || info.IsDir() || !v.ReadOnly {
				t.Errorf("%s mounts %s, read only: %v, %v", name, v.Source, v.ReadOnly, err)
			}
		}
	}
	for _, name := range servers(p) {
		harmless(t, p.Services[name])
	}
	harmless(t, p.Services["balancer"])
	for _, port := range p.Services["balancer"].Ports {
		if port.HostIP != "127.0.0.1" {
			t.Errorf("%+v is open to others, without TLS", port)
		}
	}
}

// harmless holds that a service may do no more than it has to, and has time to drain.
func harmless(t *testing.T, s types.ServiceConfig) {
	t.Helper()
	if !s.ReadOnly || len(s.CapDrop) != 1 || s.CapDrop[0] != "ALL" || len(s.SecurityOpt) != 1 || s.Privileged {
		t.Errorf("%s may do more than it has to", s.Name)
	}
	drain := settings(t).Int("sectional", "drain", 0)
	if s.StopGracePeriod == nil || int64(*s.StopGracePeriod)/1e9 < drain+5 {
		t.Errorf("%s is killed after %v, and drains for %d seconds", s.Name, s.StopGracePeriod, drain)
	}
}

// settings are those of sectional.ini, which must cause no warning.
func settings(t *testing.T) *config.Snapshot {
	t.Helper()
	c, err := config.Open(config.Options{File: filepath.Join(files, "sectional.ini")})
	if err != nil {
		t.Fatal(err)
	}
	if warnings := c.Snapshot().Warnings(); len(warnings) > 0 {
		t.Errorf("sectional.ini: %v", warnings)
	}
	return c.Snapshot()
}

// TestComposeFits: numbers of one file that are those of another.
func TestComposeFits(t *testing.T) {
	p, s := mustCompose(t), settings(t)
	subnet := netip.MustParsePrefix(p.Networks["default"].Ipam.Config[0].Subnet)
	if !strings.Contains(s.String("chttpd", "trusted_proxies", ""), subnet.String()) {
		t.Errorf("the balancer is in %s, and not believed", subnet)
	}
	connections, most := int(s.Int("engine", "connections", 0)), postgresSetting(t, "max_connections")
	if needed := len(servers(p)) * (connections + 1); needed+10 > most {
		t.Errorf("the servers want %d connections, of %d", needed, most)
	}
	for _, name := range servers(p) {
		if limit := p.Services[name].Ulimits["nofile"]; limit == nil || limit.Single < 65536 {
			t.Errorf("%s: open files %+v", name, limit)
		}
		url := strings.Join(p.Services[name].Command, " ")
		if !strings.Contains(url, "postgres-a,postgres-b/") || !strings.Contains(url, "target_session_attrs=read-write") {
			t.Errorf("%s does not find the primary after a failover: %s", name, url)
		}
	}
}
