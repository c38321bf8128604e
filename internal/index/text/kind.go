// Package text owns full-text indexes: which segments an index has, where their bytes
// lie, and how they follow the documents.
//
// A text index is an asynchronous index. What changed becomes a segment (package
// segment), which is written in the transaction that moves the index's progress: that
// adds it to the manifest, and marks the old versions of its documents as deleted in
// the segments that have them. Segments never change; merging joins them (maintain.go).
// Of documents there are no rows: the segments themselves tell which of them has a
// document, and those whose range of ids can't are not asked.
//
// A query reads the manifest of its snapshot and opens the segments that it names, which
// a cache of all indexes keeps (cache.go), so an index that nobody asks is rows and nothing
// else. Those that are not small are copied to files and mapped (files.go): an index may be
// larger than memory.
// The bytes of a segment are compared with their checksum when it is opened. If they are
// not what was written, nothing is answered from them: the error is *index.Damaged,
// whoever gets it has the index built anew, and queries are told until it is.
//
// Begin reading at Kind; map.go makes segments of documents, apply.go writes them,
// open.go and reader.go read. Functions and analyzers are behind interfaces; queries are the
// business of package find.
package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/blevesearch/bleve/v2/analysis"
	"golang.org/x/sync/semaphore"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text/mango"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/keyspace"
)

// The words of the kinds in stored rows: that of indexes as Clouseau has them, in the
// member "indexes" of design documents, and as Nouveau has them, in "nouveau".
const (
	KindName    = "text"
	NouveauName = "nouveau"
)

// Options configure a Kind.
type Options struct {
	Functions Functions
	// Analyze makes the analyzers of a definition (JSON, nil for none), AnalyzeNouveau
	// those of one of Nouveau's.
	Analyze        func(definition []byte) (Analyzers, error)
	AnalyzeNouveau func(definition []byte) (Analyzers, error)
	// Cache is how many bytes of opened segments are kept in memory, and how many
	// queries may have there together; default 512 MB.
	Cache int
	// Build is about how many bytes segments take that are being made, but for one of a single document, which
	// takes what it needs; default 384 MB.
	Build int
	// Files is the directory for files of segments that are not small, which are mapped;
	// "": all are in memory. FilesLimit is how many bytes of them are kept, and Room
	// returns how many bytes the disk has left; nil: that is not known.
	Files      string
	FilesLimit int64
	Room       func() int64
	Log        *slog.Logger // default: none
	// Scratch is a directory for the files into which segments are merged, which go at
	// once; default the system's.
	Scratch string
	Clock   func() time.Time // default time.Now
}

// Analyzers says how the texts of fields become terms.
type Analyzers interface {
	For(field string) analysis.Analyzer
}

// Kind is the index kind, or that of Nouveau's indexes: these have the same rows, and
// differ in where they are defined and in what their functions say of a field.
type Kind struct {
	o       Options
	cache   *cache
	budget  *semaphore.Weighted // the memory in which segments are made
	nouveau bool
	sizes
}

// sizes are what tests make small.
type sizes struct {
	mergeCount int // how many small segments of about a size are merged
	batch      int // how many bytes of segments one transaction writes
}

var (
	_ index.Asynchronous = (*Kind)(nil)
	_ index.Maintained   = (*Kind)(nil)
	_ index.Checked      = (*Kind)(nil)
)

// New makes the kind. One for all databases: it keeps the opened segments of all.
func New(o Options) *Kind {
	if o.Cache == 0 {
		o.Cache = 512 << 20
	}
	if o.Build == 0 {
		o.Build = buildBytes
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	files := cacheOptions{limit: o.Cache, dir: o.Files, diskLimit: o.FilesLimit, smallest: smallestFile, lookEvery: lookEvery, room: o.Room, log: o.Log}
	return &Kind{o: o, cache: newCache(files), budget: semaphore.NewWeighted(int64(o.Build)), sizes: sizes{smallMany, largestBatch}}
}

// Nouveau is the kind of Nouveau's indexes. It shares all that k keeps.
func (k *Kind) Nouveau() *Kind {
	other := *k
	other.nouveau = true
	return &other
}

// Name is index.Kind's.
func (k *Kind) Name() string {
	if k.nouveau {
		return NouveauName
	}
	return KindName
}

// Prefixes is index.Kind's.
func (*Kind) Prefixes(db, number uint64) [][]byte {
	n := keyspace.U(number)
	return [][]byte{keyspace.TextManifest.Key(db, n), keyspace.TextDeleted.Key(db, n), keyspace.TextChunk.Key(db, n), keyspace.TextPending.Key(db, n)}
}

// source is the canonical form of a definition: its JSON is Definition.Source.
type source struct {
	Index    string          `json:"index"`
	Analyzer json.RawMessage `json:"analyzer,omitempty"`
	Lib      json.RawMessage `json:"lib,omitempty"`
	Fields   json.RawMessage `json:"fields,omitempty"` // Mango's definition, instead of a function
}

// Def is a definition of a text index, ready for use.
type Def struct {
	Index     string // the source of the index function
	Analyzer  []byte // the definition of the analyzers; nil for none
	Lib       []byte // views.lib, which index functions may require; nil for none
	Analyzers Analyzers
	Mango     *mango.Def // what is indexed, instead of Index; nil if that is a function's to say
	Nouveau   bool       // it is one of Nouveau's
}

// Open is index.Kind's: it returns a *Def. A definition whose analyzer there is not is an
// error.
func (k *Kind) Open(stored []byte) (any, error) {
	var s source
	if err := json.Unmarshal(stored, &s); err != nil {
		return nil, dberr.Wrap("text.Open", err)
	}
	d := &Def{Index: s.Index, Analyzer: s.Analyzer, Lib: s.Lib, Nouveau: k.nouveau}
	var err error
	if s.Fields != nil {
		if d.Mango, err = mango.Parse(s.Fields); err != nil {
			return nil, err
		}
	}
	analyze := k.o.Analyze
	if k.nouveau {
		analyze = k.o.AnalyzeNouveau
	}
	if analyze == nil {
		return d, nil // to be read, not to be kept
	}
	d.Analyzers, err = analyze(d.Analyzer)
	return d, err
}

// Of returns the definition of a text index; nil for one that failed to open.
func Of(x *index.Index) *Def {
	d, _ := x.Opened.(*Def)
	return d
}

var errNoAnalyzers = errors.New("text: there are no analyzers")

// Defined is index.Kind's: the members of "indexes", or "nouveau", of a design document in
// JavaScript, or in the language query, of Mango's.
func (k *Kind) Defined(d index.Design) (defs []index.Definition) {
	in, read, ofMango := "indexes", indexSource, (*mango.Def).Analyzer
	if k.nouveau {
		in, read, ofMango = "nouveau", nouveauSource, (*mango.Def).NouveauAnalyzer
	}
	if language, _ := jsonscan.Member(d.Body, "language"); textOf(language) == "query" {
		read = mangoSource(ofMango)
	} else if !document.IsJavaScript(d.Body) {
		return nil
	}
	indexes, _ := jsonscan.Member(d.Body, in)
	if jsonscan.KindOf(indexes) != jsonscan.Object {
		return nil
	}
	var common source
	if views, _ := jsonscan.Member(d.Body, "views"); jsonscan.KindOf(views) == jsonscan.Object {
		if lib, ok := jsonscan.Member(views, "lib"); ok {
			common.Lib = bytes.Clone(lib)
		}
	}
	auto, _ := jsonscan.Member(d.Body, "autoupdate")
	for m := jsonscan.MembersOf(indexes); ; {
		name, v, ok := m.Next()
		if !ok {
			return defs
		}
		s, ok := read(common, v)
		if !ok {
			continue
		}
		stored, err := json.Marshal(s)
		if err != nil {
			continue
		}
		defs = append(defs, index.Definition{Name: textOf(name), Partitioned: d.Partitioned, Source: stored,
			Manual: jsonscan.KindOf(auto) == jsonscan.False})
	}
}

// indexSource reads one member of indexes.
func indexSource(s source, v []byte) (source, bool) {
	if jsonscan.KindOf(v) != jsonscan.Object {
		return s, false
	}
	fn, _ := jsonscan.Member(v, "index")
	if jsonscan.KindOf(fn) != jsonscan.String {
		return s, false
	}
	s.Index = textOf(fn)
	if analyzer, ok := jsonscan.Member(v, "analyzer"); ok {
		s.Analyzer = bytes.Clone(analyzer)
	}
	return s, true
}

// nouveauSource reads one member of nouveau.
func nouveauSource(s source, v []byte) (source, bool) {
	s, ok := indexSource(s, v)
	s.Analyzer = nil
	for _, name := range []string{"default_analyzer", "field_analyzers"} {
		if of, said := jsonscan.Member(v, name); said && ok {
			if s.Analyzer == nil {
				s.Analyzer = []byte("{}")
			}
			s.Analyzer = jsonscan.With(s.Analyzer, name, of)
		}
	}
	return s, ok
}

// mangoSource reads one of Mango's, whose analyzers are as analyzer says.
func mangoSource(analyzer func(*mango.Def) []byte) func(source, []byte) (source, bool) {
	return func(_ source, v []byte) (s source, ok bool) {
		if jsonscan.KindOf(v) != jsonscan.Object {
			return s, false
		}
		fields, _ := jsonscan.Member(v, "index")
		d, err := mango.Parse(fields)
		if err != nil {
			return s, false
		}
		return source{Fields: bytes.Clone(fields), Analyzer: analyzer(d)}, true
	}
}

// textOf returns the text of a JSON string, "" for anything else.
func textOf(v []byte) string {
	if jsonscan.KindOf(v) != jsonscan.String {
		return ""
	}
	return string(jsonscan.Text(nil, v))
}
