package couchapi

import (
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/document"
)

// readOptions are the query parameters of a read of a document.
type readOptions struct {
	rev      document.Rev // zero: the winner
	open     []document.Rev
	openAll  bool
	latest   bool
	revs     bool
	localSeq bool
	revsInfo bool
	// conflicts and deletedConflicts, like revsInfo and localSeq, are told of
	// the winner only, as in CouchDB.
	conflicts        bool
	deletedConflicts bool
	attachments      bool // their bytes
	encoding         bool
	since            []document.Rev
}

var readParams = params[readOptions]{
	"rev":               readRev,
	"open_revs":         readOpenRevs,
	"atts_since":        readSince,
	"latest":            flag(func(o *readOptions) *bool { return &o.latest }),
	"revs":              flag(func(o *readOptions) *bool { return &o.revs }),
	"local_seq":         flag(func(o *readOptions) *bool { return &o.localSeq }),
	"revs_info":         flag(func(o *readOptions) *bool { return &o.revsInfo }),
	"conflicts":         flag(func(o *readOptions) *bool { return &o.conflicts }),
	"deleted_conflicts": flag(func(o *readOptions) *bool { return &o.deletedConflicts }),
	"attachments":       flag(func(o *readOptions) *bool { return &o.attachments }),
	"att_encoding_info": flag(func(o *readOptions) *bool { return &o.encoding }),
	"meta": func(o *readOptions, value string) error {
		if value == "true" {
			o.revsInfo, o.conflicts, o.deletedConflicts = true, true, true
		}
		return nil
	},
}

// flag makes a table entry for a parameter that is set by "true" and left
// alone by everything else.
func flag[T any](field func(*T) *bool) func(*T, string) error {
	return func(dst *T, value string) error {
		if value == "true" {
			*field(dst) = true
		}
		return nil
	}
}

func readRev(o *readOptions, value string) (err error) {
	o.rev, err = document.ParseRev(value)
	return err
}

func readOpenRevs(o *readOptions, value string) (err error) {
	if value == "all" {
		o.openAll = true
		return nil
	}
	o.open, err = couchwire.ParseRevList([]byte(value))
	return err
}

func readSince(o *readOptions, value string) (err error) {
	o.since, err = couchwire.ParseRevList([]byte(value))
	o.attachments = true
	return err
}

// form returns how attachments are written into a revision with this history.
func (o *readOptions) form(path []document.Rev) couchwire.Form {
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
