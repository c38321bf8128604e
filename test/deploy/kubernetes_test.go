package deploy

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"

	"github.com/sectional/sectional/internal/config"
)

// kinds are those of Kubernetes itself that there may be.
var kinds = map[string]func() any{
	"v1 Namespace":                                  func() any { return &core.Namespace{} },
	"v1 Secret":                                     func() any { return &core.Secret{} },
	"v1 ConfigMap":                                  func() any { return &core.ConfigMap{} },
	"v1 Service":                                    func() any { return &core.Service{} },
	"apps/v1 Deployment":                            func() any { return &apps.Deployment{} },
	"policy/v1 PodDisruptionBudget":                 func() any { return &policy.PodDisruptionBudget{} },
	"networking.k8s.io/v1 NetworkPolicy":            func() any { return &networking.NetworkPolicy{} },
	"postgresql.cnpg.io/v1 Cluster":                 func() any { return &cluster{} },
	"kustomize.config.k8s.io/v1beta1 Kustomization": func() any { return &kustomization{} },
}

// cluster is what the manifests use of the operator's type, as its reference has it.
type cluster struct {
	APIVersion, Kind string
	Metadata         struct{ Name, Namespace string }
	Spec             struct {
		Instances int
		ImageName string
		Bootstrap struct {
			Initdb struct {
				Database, Owner, Encoding, LocaleCollate, LocaleCType string
				DataChecksums                                         bool
			}
		}
		Postgresql struct {
			Synchronous struct {
				Method, DataDurability string
				Number                 int
			}
			Parameters map[string]string
		}
		Storage, WalStorage struct{ Size string }
		Resources           core.ResourceRequirements
	}
}

type kustomization struct {
	APIVersion, Kind string
	Resources        []string
}

// manifests decodes all documents of the directory strictly: what no type has, or what is there twice, is an error.
func manifests(t *testing.T) (all []any) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(files, "kubernetes", "*.yaml"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range regexp.MustCompile(`(?m)^---$`).Split(string(text), -1) {
			var head struct{ APIVersion, Kind string }
			if err := yaml.Unmarshal([]byte(document), &head); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			kind, ok := kinds[head.APIVersion+" "+head.Kind]
			if !ok {
				t.Fatalf("%s: %+v", name, head)
			}
			object := kind()
			if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			all = append(all, object)
		}
	}
	return all
}

// of returns the only object of a type.
func of[T any](t *testing.T, all []any) *T {
	t.Helper()
	for _, o := range all {
		if found, ok := o.(*T); ok {
			return found
		}
	}
	t.Fatalf("no %v", reflect.TypeFor[T]())
	return nil
}

// TestKubernetes: the manifests are what Kubernetes understands, and fit each other.
func TestKubernetes(t *testing.T) {
	all := manifests(t)
	d, c := of[apps.Deployment](t, all), of[cluster](t, all)
	labels := d.Spec.Template.Labels
	for what, selector := range map[string]map[string]string{
		"the Deployment":          d.Spec.Selector.MatchLabels,
		"the Service":             of[core.Service](t, all).Spec.Selector,
		"the PodDisruptionBudget": of[policy.PodDisruptionBudget](t, all).Spec.Selector.MatchLabels,
		"the NetworkPolicy":       of[networking.NetworkPolicy](t, all).Spec.PodSelector.MatchLabels,
	} {
		if !maps.Equal(selector, labels) {
			t.Errorf("%s is for %v, not %v", what, selector, labels)
		}
	}
	egress := of[networking.NetworkPolicy](t, all).Spec.Egress[0].To[0].PodSelector.MatchLabels
	if egress["cnpg.io/cluster"] != c.Metadata.Name {
		t.Errorf("PostgreSQL is %s, the servers may talk to %v", c.Metadata.Name, egress)
	}
	if c.Spec.Instances < 2 || c.Spec.Postgresql.Synchronous.Number < 1 || c.Spec.Postgresql.Synchronous.DataDurability != "required" || c.Spec.Bootstrap.Initdb.LocaleCollate != "C" {
		t.Errorf("a commit is not on two machines: %+v", c.Spec)
	}
	pod := d.Spec.Template.Spec
	restricted(t, pod)
	names := map[string]bool{c.Metadata.Name + "-app": true, of[core.Secret](t, all).Name: true}
	for _, e := range pod.Containers[0].Env {
		if e.ValueFrom != nil && !names[e.ValueFrom.SecretKeyRef.Name] {
			t.Errorf("%s is of an unknown secret", e.Name)
		}
	}
	if command := strings.Join(pod.Containers[0].Args, " "); !strings.Contains(command, "//"+c.Metadata.Name+"-rw."+c.Metadata.Namespace+".svc/") {
		t.Errorf("the servers don't ask the primary: %s", command)
	}
	sizes(t, d, c, of[core.ConfigMap](t, all))
	listed := of[kustomization](t, all).Resources
	there, err := filepath.Glob(filepath.Join(files, "kubernetes", "*.yaml"))
	if err != nil || len(there) != len(listed)+1 {
		t.Errorf("kustomization.yaml has %v of %v", listed, there)
	}
	for _, name := range listed {
		if !slices.Contains(there, filepath.Join(files, "kubernetes", name)) {
			t.Errorf("there is no %s", name)
		}
	}
}

// restricted holds what the security standard of that name asks for, and more.
func restricted(t *testing.T, pod core.PodSpec) {
	t.Helper()
	p, c := pod.SecurityContext, pod.Containers[0].SecurityContext
	if !*p.RunAsNonRoot || *p.RunAsUser == 0 || p.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault || *c.AllowPrivilegeEscalation || !*c.ReadOnlyRootFilesystem ||
		len(c.Capabilities.Drop) != 1 || c.Capabilities.Drop[0] != "ALL" || *pod.AutomountServiceAccountToken || pod.HostNetwork {
		t.Errorf("the pod may do more than it has to: %+v %+v", p, c)
	}
	mounted := map[string]bool{}
	for _, m := range pod.Containers[0].VolumeMounts {
		mounted[m.Name] = true
	}
	for _, v := range pod.Volumes {
		if !mounted[v.Name] {
			t.Errorf("%s is not mounted", v.Name)
		}
	}
}

// sizes: numbers of one manifest that are those of another.
func sizes(t *testing.T, d *apps.Deployment, c *cluster, m *core.ConfigMap) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sectional.ini")
	if err := os.WriteFile(file, []byte(m.Data["sectional.ini"]), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := config.Open(config.Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	s := o.Snapshot()
	if warnings := s.Warnings(); len(warnings) > 0 {
		t.Error(warnings)
	}
	pod := d.Spec.Template.Spec
	if drain := s.Int("sectional", "drain", 0); *pod.TerminationGracePeriodSeconds < drain+5 {
		t.Errorf("killed after %d seconds, and drains for %d", *pod.TerminationGracePeriodSeconds, drain)
	}
	most, err := strconv.Atoi(c.Spec.Postgresql.Parameters["max_connections"])
	surge := int(*d.Spec.Replicas) + d.Spec.Strategy.RollingUpdate.MaxSurge.IntValue()
	if needed := surge * (int(s.Int("engine", "connections", 0)) + 1); err != nil || needed+10 > most {
		t.Errorf("the servers want %d connections, of %d, %v", needed, most, err)
	}
	container := pod.Containers[0]
	limit := container.Resources.Limits.Memory().Value()
	for _, e := range container.Env {
		if size, ok := strings.CutSuffix(e.Value, "MiB"); e.Name == "GOMEMLIMIT" && ok {
			if n, err := strconv.ParseInt(size, 10, 64); err != nil || n<<20 > limit*85/100 {
				t.Errorf("GOMEMLIMIT is %s of %d: %v", e.Value, limit, err)
			}
		}
	}
	probes(t, container)
}

// probes: a probe that fails while PostgreSQL is away must not end the server.
func probes(t *testing.T, c core.Container) {
	t.Helper()
	if c.ReadinessProbe.HTTPGet == nil || c.ReadinessProbe.HTTPGet.Path != "/_up" {
		t.Errorf("readiness is %+v", c.ReadinessProbe)
	}
	// Liveness is not readiness, see couchapi.TestUpLives.
	if at := c.LivenessProbe.HTTPGet; at == nil || at.Path != "/_up?live=true" || c.StartupProbe.HTTPGet != nil {
		t.Error("a server in maintenance is killed")
	}
	if patience := c.ReadinessProbe.PeriodSeconds * c.ReadinessProbe.FailureThreshold; patience < 10 {
		t.Errorf("pods are taken out %d seconds after PostgreSQL went away, while requests wait for it for 10", patience)
	}
	if c.Ports[0].Name != c.ReadinessProbe.HTTPGet.Port.StrVal {
		t.Errorf("no port %v", c.ReadinessProbe.HTTPGet.Port)
	}
}

// TestStrict: what is misspelt is found.
func TestStrict(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(files, "kubernetes", "server.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Split(text, []byte("\n---\n"))[0]
	if err := yaml.UnmarshalStrict(text, &apps.Deployment{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"terminationGracePeriodSeconds", "readinessProbe", "readOnlyRootFilesystem", "sizeLimit"} {
		if err := yaml.UnmarshalStrict(bytes.Replace(text, []byte(name), []byte(name+"s"), 1), &apps.Deployment{}); err == nil {
			t.Errorf("%ss is taken", name)
		}
	}
}
