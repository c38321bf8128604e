package text

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/searcher"
	bleve "github.com/blevesearch/bleve_index_api"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text/find"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/indextest"
)

// goFunctions are index functions in Go: the source "members" indexes the texts and
// numbers of a document's members, with facets of those whose names begin with f, stored
// those that begin with s; "none" nothing; "throw" throws for documents with a member e.
type goFunctions struct{}

func (goFunctions) Index(_ context.Context, s Script, docs [][]byte) ([]Result, error) {
	all := make([]Result, len(docs))
	for i, doc := range docs {
		var members map[string]any
		if err := json.Unmarshal(doc, &members); err != nil {
			return nil, err
		}
		if s.Index == "none" {
			continue
		}
		if _, bad := members["e"]; bad && s.Index == "throw" {
			all[i].Err = errors.New("thrown")
			continue
		}
		for name, v := range members {
			if name[0] == 'v' {
				all[i].Fields = append(all[i].Fields, vectorOf(v))
			} else if name[0] != '_' {
				all[i].Fields = append(all[i].Fields, Indexed{Name: name, Value: v, Index: true, Facet: name[0] == 'f', Store: name[0] == 's', Measured: s.Nouveau})
			}
		}
		slices.SortFunc(all[i].Fields, func(a, b Indexed) int { return strings.Compare(a.Name, b.Name) })
	}
	return all, nil
}

// vectorOf makes a vector of an array of a document.
func vectorOf(v any) Indexed {
	var numbers []float64
	for _, n := range v.([]any) {
		numbers = append(numbers, n.(float64))
	}
	vector, err := segment.Vector(numbers, segment.Euclidean)
	if err != nil {
		panic(err)
	}
	return Indexed{Name: "v", Value: vector, Similarity: segment.Euclidean}
}

// atSpaces cuts texts at spaces, for all fields.
type atSpaces struct{}

func (a atSpaces) For(string) analysis.Analyzer { return a }

func (atSpaces) Analyze(text []byte) (ts analysis.TokenStream) {
	at := 0
	for i, word := range strings.Fields(string(text)) {
		ts = append(ts, &analysis.Token{Term: []byte(word), Start: at, End: at + len(word), Position: i + 1})
		at += len(word) + 1
	}
	return ts
}

func testKind(o Options) *Kind {
	o.Functions = goFunctions{}
	o.Analyze = func([]byte) (Analyzers, error) { return atSpaces{}, nil }
	o.AnalyzeNouveau = o.Analyze
	k := New(o)
	k.mergeCount, k.batch, k.cache.smallest, k.cache.lookEvery = 3, 4000, 0, 0
	return k
}

// testReading reads what other kinds wrote, with a cache of its own, which is so small
// that segments come and go.
func testReading(files string) *Kind {
	return testKind(Options{Cache: 20_000, Files: files, FilesLimit: 5_000})
}

// TestSuite holds text indexes that were kept up to date against indexes built anew, by
// everything that they answer, scores too.
func TestSuite(t *testing.T) {
	design := func(fn, more string) string {
		return `{"indexes":{"i":{"index":"` + fn + `"}` + more + `}}`
	}
	for _, mapped := range []bool{false, true} {
		t.Run(fmt.Sprintf("mapped=%v", mapped), func(t *testing.T) {
			indextest.Run(t, subject(t, mapped, false, []string{
				design("members", ""),
				design("members", `,"other":{"index":"throw"}`),
				design("none", ""),
				`{"options":{"partitioned":false},"indexes":{"i":{"index":"members"}}}`,
			}))
		})
	}
}

// TestNouveauSuite does so with Nouveau's indexes, of which the lengths of fields are
// compared too.
func TestNouveauSuite(t *testing.T) {
	of := subject(t, true, true, []string{
		`{"nouveau":{"i":{"index":"members"}}}`,
		`{"nouveau":{"i":{"index":"members","default_analyzer":"x"},"other":{"index":"throw"}}}`,
		`{"nouveau":{"i":{"index":"none"}},"indexes":{"i":{"index":"members"}}}`,
	})
	of.Histories = 3
	indextest.Run(t, of)
}

// subject is text indexes, or Nouveau's, whose segments are in memory or in files.
func subject(t *testing.T, mapped, nouveau bool, designs []string) indextest.Subject {
	files, readFiles := "", ""
	if mapped {
		files, readFiles = t.TempDir(), t.TempDir()
	}
	k, reading := testKind(Options{Scratch: t.TempDir(), Files: files, FilesLimit: 1 << 20}), testReading(readFiles)
	t.Cleanup(func() { released(t, k); released(t, reading) })
	one := func(k *Kind) *Kind {
		if nouveau {
			k = k.Nouveau()
		}
		return k
	}
	var lost func()
	if mapped {
		lost = func() { lose(t, files); lose(t, readFiles) }
	}
	return indextest.Subject{
		Kind: one(k),
		Another: func() index.Kind {
			dir := ""
			if mapped {
				dir = t.TempDir()
			}
			k := testKind(Options{Scratch: t.TempDir(), Files: dir, FilesLimit: 5_000})
			t.Cleanup(func() { released(t, k) })
			return one(k)
		},
		Lose:    lost,
		Designs: designs,
		Body: func(r *rand.Rand) string {
			var words []string
			for range r.IntN(8) {
				words = append(words, []string{"red", "green", "blue", "reed", "grey"}[r.IntN(5)])
			}
			text := strings.Join(words, " ")
			body := fmt.Sprintf(`{"t":%q,"f":%q,"sn":%d`, text, text, r.IntN(5))
			if r.IntN(4) == 0 {
				body += `,"e":true`
			}
			if r.IntN(3) > 0 {
				body += fmt.Sprintf(`,"v":[%d,%d%s]`, r.IntN(4), r.IntN(4), []string{"", ",1"}[r.IntN(2)])
			}
			return body + "}"
		},
		Answers: func(r *store.Reader, x *index.Index) (string, error) {
			return answers(reading, r, x)
		},
		Amended: func(r *store.Reader, x *index.Index, tail *index.Tail) (*string, error) {
			return amended(reading, r, x, tail)
		},
		Engine:    openEngine,
		Histories: 5,
	}
}

// lose removes the files of segments, which others may have mapped.
func lose(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	must(t, err)
	for _, file := range files {
		must(t, os.RemoveAll(file))
	}
}

// answers is everything that an index answers: of all documents and of each partition.
func answers(k *Kind, r *store.Reader, x *index.Index) (string, error) {
	answer, err := amended(k, r, x, nil)
	if err != nil {
		return "", err
	}
	return *answer, nil
}

// amended is answers together with changes that the index has not taken in; nil if they are
// left to it.
func amended(k *Kind, r *store.Reader, x *index.Index, tail *index.Tail) (*string, error) {
	var b strings.Builder
	partitions := []document.Partition{""}
	if x.Partitioned && x.Tenant == "" {
		partitions = append(partitions, "p", "q", "r")
	}
	for _, p := range partitions {
		reader, err := k.NewReader(r, x, p)
		if err != nil {
			return nil, err
		}
		ok, err := k.Amend(ctx, reader, r.Database(), x, p, tail)
		if ok {
			err = describe(&b, reader)
		}
		if err = errors.Join(err, reader.Close()); !ok || err != nil {
			return nil, err
		}
	}
	answer := b.String()
	return &answer, nil
}

// describe writes down the documents, terms, scores and values of a reader.
func describe(b *strings.Builder, r *segment.Reader) error {
	n, _ := r.DocCount()
	fmt.Fprintf(b, "%d documents\n", n)
	all, err := r.DocIDReaderAll()
	if err != nil {
		return err
	}
	var ids []string
	for at, err := all.Next(); at != nil || err != nil; at, err = all.Next() {
		if err != nil {
			return err
		}
		id, err := r.ExternalID(at)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	fmt.Fprintf(b, "%s\n", strings.Join(ids, " "))
	if err := describeVectors(b, r); err != nil {
		return err
	}
	fields, err := r.Fields()
	if err != nil {
		return err
	}
	for _, field := range fields {
		measured, length := r.Measure(field)
		fmt.Fprintf(b, "field %s: %d, %d\n", field, measured, length)
		d, err := r.FieldDict(field)
		if err != nil {
			return err
		}
		for e, err := d.Next(); e != nil; e, err = d.Next() {
			if err != nil {
				return err
			}
			hits, err := hits(r, field, e.Term)
			if err != nil {
				return err
			}
			fmt.Fprintf(b, " %q in %d: %s\n", e.Term, e.Count, strings.Join(hits, ", "))
		}
	}
	return nil
}

// describeVectors writes down the vectors of a reader, and the nearest to some.
func describeVectors(b *strings.Builder, r *segment.Reader) error {
	for _, asked := range [][]float64{{1, 2}, {3, 0, 1}} {
		v, err := r.Vectors("v", len(asked), segment.Euclidean)
		if err != nil {
			return err
		}
		if v.Count(nil) == 0 {
			continue // another length would be an error
		}
		result, err := find.Run(ctx, r, &find.Request{Nearest: &find.Nearest{Field: "v", Vector: asked, K: 1000}, Analyzers: atSpaces{}, Limit: 1000, Fields: []string{}})
		if err != nil {
			return err
		}
		for _, row := range result.Rows {
			fmt.Fprintf(b, " %s is near %v: %v\n", row.ID, asked, row.Order[0])
		}
	}
	return nil
}

// hits searches for a term by bleve's searcher.
func hits(r *segment.Reader, field, term string) (all []string, err error) {
	s, err := searcher.NewTermSearcher(ctx, r, term, field, 1, search.SearcherOptions{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	with := &search.SearchContext{DocumentMatchPool: search.NewDocumentMatchPool(s.DocumentMatchPoolSize()+1, 1), IndexReader: r}
	column := r.Column(field)
	for {
		m, err := s.Next(with)
		if m == nil || err != nil {
			slices.Sort(all)
			return all, err
		}
		doc, err := segment.Number(m.IndexInternalID)
		if err != nil {
			return nil, err
		}
		id, err := r.ID(doc)
		if err != nil {
			return nil, err
		}
		number, _ := column.Number(doc)
		last, _ := column.Text(doc)
		stored := 0.0
		err = r.Stored(doc, func(_, _ string, n *float64) {
			if n != nil {
				stored = *n
			}
		})
		if err != nil {
			return nil, err
		}
		all = append(all, fmt.Sprintf("%s %.5f (%v %q %q %v)", id, m.Score, number, last, column.FacetTexts(nil, doc), stored))
		with.DocumentMatchPool.Put(m)
	}
}

var _ bleve.IndexReader = (*segment.Reader)(nil)

var ctx = context.Background()

func openEngine(t *testing.T) kv.Engine {
	e, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: vfs.NewMem()})
	must(t, err)
	return e
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
