package couchhttp

import (
	"strings"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchwire"
)

// parseRules parses what the configuration says about documents on their way in.
func parseRules(s *config.Snapshot) couchwire.Rules {
	r := couchwire.Rules{
		MaxID:         finite(s.Int("couchdb", "max_document_id_length", 0)),
		MaxDocument:   finite(s.Int("couchdb", "max_document_size", 8_000_000)),
		MaxAttachment: s.Int("couchdb", "max_attachment_size", 1<<30),

		MaxAttachments: finite(s.Int("sectional", "max_attachments", 10000)),
		MaxBulkDocs:    finite(s.Int("couchdb", "max_bulk_docs_count", 10000)),
		MaxBulkGet:     finite(s.Int("couchdb", "max_bulk_get_count", 10000)),
	}
	if s.Int("attachments", "compression_level", 8) > 0 {
		types := s.String("attachments", "compressible_types", "text/*, application/javascript, application/json, application/xml")
		r.Compressible = compressible(types)
	}
	return r
}

// compressible makes a test for content types out of a list of patterns, in
// which a star stands for anything. Parameters of the type do not count.
func compressible(list string) func(string) bool {
	type pattern struct {
		before, after string
		star          bool
	}
	var patterns []pattern
	for p := range strings.SplitSeq(strings.ToLower(list), ",") {
		if p = strings.TrimSpace(p); p != "" {
			before, after, star := strings.Cut(p, "*")
			patterns = append(patterns, pattern{before, after, star})
		}
	}
	return func(contentType string) bool {
		kind, _, _ := strings.Cut(contentType, ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
		for _, p := range patterns {
			if !p.star && kind == p.before {
				return true
			}
			if p.star && len(kind) >= len(p.before)+len(p.after) &&
				strings.HasPrefix(kind, p.before) && strings.HasSuffix(kind, p.after) {
				return true
			}
		}
		return false
	}
}
