package couchhttp

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
	Web           web.Settings
	maxDocument   int64
	maxAttachment int64
	MaxID         int // bytes of a document id, 0 for no limit
	MaxPurgeIDs   int
	MaxPurgeRevs  int
	MaxDBsInfo    int
	AllDBsOpen    bool // _all_dbs and _dbs_info are for everybody
	DefaultAccess *auth.Security
	Cloudant      bool            // Cloudant's limits
	Nouveau       bool            // the paths of Nouveau answer
	Render        bool            // show, list and rewrite functions run
	rules         couchwire.Rules // for documents on their way in

	MaxRewrites    int  // of one request
	SecureRewrites bool // rules lead within their database
	// The most rows of a query, and of one of a partition.
	QueryRows, PartitionRows int

	// IndexAll says what becomes of new text indexes of all fields: "true" for a refusal,
	// "warn" for a line in the log.
	IndexAll string

	// What browsers may do with attachments and with what functions make: policies
	// of content security, "" for none.
	AttachmentPolicy, FunctionPolicy string
	// ChangesTimeout is the longest silence of a feed.
	ChangesTimeout time.Duration
	// SelectorSteps is what the matching of a request may cost.
	SelectorSteps int64
	// ViewWait is how long a query waits for the new index of a view while the
	// old one still answers.
	ViewWait time.Duration
	// seqWait is how long a request waits for the sequence that min_seq names.
	seqWait time.Duration
}

func parseSettings(s *config.Snapshot) *settings {
	return &settings{
		Web:            parseWebSettings(s),
		maxDocument:    s.Int("couchdb", "max_document_size", 8_000_000),
		maxAttachment:  s.Int("couchdb", "max_attachment_size", 1<<30),
		MaxID:          finite(s.Int("couchdb", "max_document_id_length", 0)),
		MaxPurgeIDs:    finite(s.Int("purge", "max_document_id_number", 100)),
		MaxPurgeRevs:   finite(s.Int("purge", "max_revisions_number", 1000)),
		MaxDBsInfo:     finite(s.Int("chttpd", "max_db_number_for_dbs_info_req", 100)),
		AllDBsOpen:     !s.Bool("chttpd", "admin_only_all_dbs", true),
		DefaultAccess:  auth.DefaultSecurity(s.String("couchdb", "default_security", "admin_only")),
		Cloudant:       s.String("sectional", "limits", "couchdb") == "cloudant",
		Nouveau:        s.Bool("nouveau", "enable", true),
		ViewWait:       s.Duration("sectional", "view_wait", time.Second, 5*time.Second),
		seqWait:        s.Duration("sectional", "min_seq_wait", time.Second, 5*time.Second),
		SelectorSteps:  max(0, s.Int("sectional", "selector_steps", 10_000_000_000)),
		Render:         s.Bool("sectional", "render", true),
		ChangesTimeout: Milliseconds(int(s.Int("chttpd", "changes_timeout", 60_000))),

		AttachmentPolicy: policyIf(s.Bool("csp", "attachments_enable", true), s.String("csp", "attachments_header_value", "sandbox")),
		FunctionPolicy:   policyIf(s.Bool("csp", "showlist_enable", true), s.String("csp", "showlist_header_value", "sandbox")),

		MaxRewrites:    int(max(0, s.Int("chttpd", "rewrite_limit", 100))),
		SecureRewrites: s.Bool("chttpd", "secure_rewrites", true),
		QueryRows:      int(max(0, s.Int("query_server_config", "query_limit", math.MaxInt))),
		PartitionRows:  int(max(0, s.Int("query_server_config", "partition_query_limit", math.MaxInt))),

		IndexAll: s.String("mango", "index_all_disabled", "false"),

		rules: parseRules(s),
	}
}

// parseWebSettings parses what the frame looks at.
func parseWebSettings(s *config.Snapshot) web.Settings {
	w := web.Settings{
		MaxBody:     web.Limit{Bytes: s.Int("chttpd", "max_http_request_size", 4<<30), Setting: "[chttpd] max_http_request_size"},
		MaxMemory:   web.Limit{Bytes: s.Int("sectional", "max_bodies_memory", 512<<20), Setting: "[sectional] max_bodies_memory"},
		MaxWrites:   s.Int("sectional", "max_queued_writes", 128<<20),
		WorkTime:    max(0, s.Duration("sectional", "request_timeout", time.Second, 10*time.Minute)),
		BodyTimeout: max(s.Duration("sectional", "body_timeout", time.Second, time.Minute), 100*time.Millisecond),
		LogRequests: s.Bool("log", "requests", false),
		SlowQuery:   s.Duration("log", "slow_query", time.Millisecond, time.Second),
		Rates: web.RateLimits{
			PerUser:    float64(max(0, s.Int("rate_limits", "per_user", 0))),
			PerAddress: float64(max(0, s.Int("rate_limits", "per_address", 0))),
			Burst:      max(0, s.Duration("rate_limits", "burst", time.Second, 10*time.Second).Seconds()),
		},
		CORS:           auth.ParseCORS(s),
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
