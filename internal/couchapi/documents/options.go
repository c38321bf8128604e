package documents

import (
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/document"
)

// ReadOptions are the query parameters of a read of a document.
type ReadOptions struct {
	rev      document.Rev // zero: the winner
	open     []document.Rev
	openAll  bool
	latest   bool
	Revs     bool
	localSeq bool
	revsInfo bool
	// Conflicts and deletedConflicts, like revsInfo and localSeq, are told of
	// the winner only, as in CouchDB.
	Conflicts        bool
	deletedConflicts bool
	attachments      bool // their bytes
	encoding         bool
	since            []document.Rev
}

var readParams = couchhttp.Params[ReadOptions]{
	"rev":               parseRev,
	"open_revs":         parseOpenRevs,
	"atts_since":        parseSince,
	"latest":            couchhttp.Flag(func(o *ReadOptions) *bool { return &o.latest }),
	"revs":              couchhttp.Flag(func(o *ReadOptions) *bool { return &o.Revs }),
	"local_seq":         couchhttp.Flag(func(o *ReadOptions) *bool { return &o.localSeq }),
	"revs_info":         couchhttp.Flag(func(o *ReadOptions) *bool { return &o.revsInfo }),
	"conflicts":         couchhttp.Flag(func(o *ReadOptions) *bool { return &o.Conflicts }),
	"deleted_conflicts": couchhttp.Flag(func(o *ReadOptions) *bool { return &o.deletedConflicts }),
	"attachments":       couchhttp.Flag(func(o *ReadOptions) *bool { return &o.attachments }),
	"att_encoding_info": couchhttp.Flag(func(o *ReadOptions) *bool { return &o.encoding }),
	"meta": func(o *ReadOptions, value string) error {
		if value == "true" {
			o.revsInfo, o.Conflicts, o.deletedConflicts = true, true, true
		}
		return nil
	},
}

func parseRev(o *ReadOptions, value string) (err error) {
	o.rev, err = document.ParseRev(value)
	return err
}

func parseOpenRevs(o *ReadOptions, value string) (err error) {
	if value == "all" {
		o.openAll = true
		return nil
	}
	o.open, err = couchwire.ParseRevList([]byte(value))
	return err
}

func parseSince(o *ReadOptions, value string) (err error) {
	o.since, err = couchwire.ParseRevList([]byte(value))
	o.attachments = true
	return err
}

// form returns how attachments are written into a revision with this history.
func (o *ReadOptions) form(path []document.Rev) couchwire.Form {
	return couchwire.Form{Data: o.attachments, Encoding: o.encoding, Since: sinceGen(path, o.since)}
}

// sinceGen returns the generation of the newest revision of path that a reader
// has, 0 for none: it has the attachments up to there.
func sinceGen(path, has []document.Rev) uint32 {
	for _, p := range path {
		for _, h := range has {
			if p == h {
				return p.Gen
			}
		}
	}
	return 0
}
