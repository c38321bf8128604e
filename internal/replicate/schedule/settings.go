package schedule

import (
	"strconv"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/replicate/spec"
)

// settings are the section [replicator] as the scheduler and its connections use
// it, with CouchDB's names and values.
type settings struct {
	maxJobs       int
	maxChurn      int
	maxHistory    int
	interval      time.Duration
	healthy       time.Duration
	usageCoeff    float64
	priorityCoeff float64
	shares        map[string]string

	// private says whose replications may reach private addresses: "true"
	// everybody's, "admins" those of server administrators, "false" nobody's.
	private  string
	verify   bool // certificates
	caFile   string
	certFile string
	keyFile  string

	each *spec.Settings // what counts for single replications
}

func parseSettings(s *config.Snapshot) *settings {
	const section = "replicator"
	count := func(name string, or int64) int { return int(max(0, min(s.Int(section, name, or), 1_000_000))) }
	coefficient := func(name string, or float64) float64 {
		if f, err := strconv.ParseFloat(s.String(section, name, ""), 64); err == nil {
			return max(0, min(f, 1))
		}
		return or
	}
	return &settings{
		maxJobs:       count("max_jobs", 500),
		maxChurn:      count("max_churn", 20),
		maxHistory:    count("max_history", 20),
		interval:      max(time.Second/10, s.Duration(section, "interval", time.Millisecond, time.Minute)),
		healthy:       s.Duration(section, "health_threshold", time.Second, 2*time.Minute),
		usageCoeff:    coefficient("usage_coeff", 0.5),
		priorityCoeff: coefficient("priority_coeff", 0.98),
		shares:        s.Section("replicator.shares"),
		private:       strings.ToLower(s.String(section, "private_addresses", "admins")),
		verify:        s.Bool(section, "verify_ssl_certificates", true),
		caFile:        s.String(section, "ssl_trusted_certificates_file", ""),
		certFile:      s.String(section, "cert_file", ""),
		keyFile:       s.String(section, "key_file", ""),
		each:          spec.ParseSettings(s),
	}
}

// sharesOf returns how many shares a group has.
func (s *settings) sharesOf(group string) float64 {
	n, err := strconv.Atoi(s.shares[group])
	if err != nil {
		n = 100
	}
	return float64(max(1, min(n, 1000)))
}
