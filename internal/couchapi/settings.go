package couchapi

import (
	"math"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/web"
)

// settings are the values of the configuration that requests look at, parsed
// once after each change of it.
type settings struct {
	web           web.Settings
	maxDocument   int64
	maxAttachment int64
	maxID         int // bytes of a document id, 0 for no limit
	maxPurgeIDs   int
	maxPurgeRevs  int
	maxDBsInfo    int
	allDBsOpen    bool // _all_dbs and _dbs_info are for everybody
	defaultAccess *auth.Security
	cloudant      bool            // Cloudant's limits
	render        bool            // show, list and rewrite functions run
	rules         couchwire.Rules // for documents on their way in

	mostRewrites   int  // of one request
	secureRewrites bool // rules lead within their database
	// The most rows of a query, and of one of a partition.
	queryRows, partitionRows int

	// What browsers may do with attachments and with what functions make: policies
	// of content security, "" for none.
	attachmentPolicy, functionPolicy string
	// changesTimeout is the longest silence of a feed.
	changesTimeout time.Duration
	// selectorSteps is what the matching of a request may cost.
	selectorSteps int64
	// viewWait is how long a query waits for the new index of a view while the
	// old one still answers.
	viewWait time.Duration
	// seqWait is how long a request waits for the sequence that min_seq names.
	seqWait time.Duration
}

func readSettings(s *config.Snapshot) *settings {
	return &settings{
		web:            readWebSettings(s),
		maxDocument:    s.Int("couchdb", "max_document_size", 8_000_000),
		maxAttachment:  s.Int("couchdb", "max_attachment_size", 1<<30),
		maxID:          finite(s.Int("couchdb", "max_document_id_length", 0)),
		maxPurgeIDs:    finite(s.Int("purge", "max_document_id_number", 100)),
		maxPurgeRevs:   finite(s.Int("purge", "max_revisions_number", 1000)),
		maxDBsInfo:     finite(s.Int("chttpd", "max_db_number_for_dbs_info_req", 100)),
		allDBsOpen:     !s.Bool("chttpd", "admin_only_all_dbs", true),
		defaultAccess:  auth.DefaultSecurity(s.String("couchdb", "default_security", "admin_only")),
		cloudant:       s.String("sectional", "limits", "couchdb") == "cloudant",
		viewWait:       s.Duration("sectional", "view_wait", time.Second, 5*time.Second),
		seqWait:        s.Duration("sectional", "min_seq_wait", time.Second, 5*time.Second),
		selectorSteps:  max(0, s.Int("sectional", "selector_steps", 10_000_000_000)),
		render:         s.Bool("sectional", "render", true),
		changesTimeout: milliseconds(int(s.Int("chttpd", "changes_timeout", 60_000))),

		attachmentPolicy: policyIf(s.Bool("csp", "attachments_enable", true), s.String("csp", "attachments_header_value", "sandbox")),
		functionPolicy:   policyIf(s.Bool("csp", "showlist_enable", true), s.String("csp", "showlist_header_value", "sandbox")),

		mostRewrites:   int(max(0, s.Int("chttpd", "rewrite_limit", 100))),
		secureRewrites: s.Bool("chttpd", "secure_rewrites", true),
		queryRows:      int(max(0, s.Int("query_server_config", "query_limit", math.MaxInt))),
		partitionRows:  int(max(0, s.Int("query_server_config", "partition_query_limit", math.MaxInt))),

		rules: readRules(s),
	}
}

// readWebSettings reads what the frame looks at.
func readWebSettings(s *config.Snapshot) web.Settings {
	w := web.Settings{
		MaxBody:        web.Limit{Bytes: s.Int("chttpd", "max_http_request_size", 4<<30), Setting: "[chttpd] max_http_request_size"},
		MaxMemory:      web.Limit{Bytes: s.Int("sectional", "max_bodies_memory", 512<<20), Setting: "[sectional] max_bodies_memory"},
		BodyTimeout:    max(s.Duration("sectional", "body_timeout", time.Second, time.Minute), 100*time.Millisecond),
		CORS:           auth.ReadCORS(s),
		Plus:           web.PlusIsPlus,
		Server:         []string{"Sectional"},
		ForwardedHost:  s.String("chttpd", "x_forwarded_host", "X-Forwarded-Host"),
		ForwardedProto: s.String("chttpd", "x_forwarded_proto", "X-Forwarded-Proto"),
		ForwardedSSL:   s.String("chttpd", "x_forwarded_ssl", "X-Forwarded-Ssl"),
	}
	if s.Bool("chttpd", "decode_plus_to_space", true) {
		w.Plus = web.PlusIsSpace
	}
	return w
}

// policyIf returns a policy that is switched on.
func policyIf(enabled bool, policy string) string {
	if !enabled {
		return ""
	}
	return policy
}

// finite returns 0, which is no limit, for numbers that are none in practice.
func finite(n int64) int {
	if n >= math.MaxInt32 || n < 0 {
		return 0
	}
	return int(n)
}
