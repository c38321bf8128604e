package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// textWords is the index function over the documents of text.
const textWords = `function(doc){ index("default", doc.text); index("kind", doc.kind, {facet: true}); index("price", doc.price, {facet: true}); index("tenth", doc.tenth); }`

// text is a document that is searched, as the ceiling takes it.
type text struct {
	ID        string  `json:"id"`
	Partition string  `json:"partition"`
	Text      string  `json:"text"`
	Kind      string  `json:"kind"`
	Price     float64 `json:"price"`
	Tenth     float64 `json:"tenth"`
}

// texts makes n documents of 20 to 60 words, one word in w of the w-th rank: ten documents of a partition, ten thousand
// of another (at most half), and the others in partitions of a hundred.
func texts(n int) []text {
	r := rand.New(rand.NewPCG(31, 32))
	zipf := rand.NewZipf(r, 1.1, 4, 20_000)
	all := make([]text, n)
	for i := range all {
		p := fmt.Sprintf("p%06d", i/100)
		switch {
		case i < 10:
			p = "ten"
		case i >= n-min(10_000, n/2):
			p = "tenthousand"
		}
		var words strings.Builder
		for range 20 + r.IntN(41) {
			fmt.Fprintf(&words, "word%d ", zipf.Uint64())
		}
		all[i] = text{fmt.Sprintf("%s:%08d", p, i), p, words.String(), fmt.Sprintf("kind%d", r.IntN(30)), float64(r.IntN(1000)), float64(i % 20)}
	}
	return all
}

// search is a query as the server and the ceiling take it.
type search struct {
	Name      string `json:"name"`
	Query     string `json:"query"`
	Partition string `json:"partition"`
	Counted   bool   `json:"counted"`

	ours  string
	goal  float64
	loose bool // the two don't find the same
}

// searchesOver are the queries that are compared, over so many documents.
func searchesOver(n int) (all []search) {
	for _, in := range []struct {
		where, partition string
		goal             float64
	}{
		{"in a partition of 10", "ten", 3}, {"in a partition of 100", fmt.Sprintf("p%06d", n/400), 3},
		{fmt.Sprintf("in a partition of %d", min(10_000, n/2)), "tenthousand", 3}, {"in all", "", 1},
	} {
		for _, q := range []search{
			{Name: "a word", Query: "word30", ours: "word30"},
			{Name: "two words", Query: "+word30 +word50", ours: "word30 AND word50"},
			{Name: "a phrase", Query: `"word3 word5"`, ours: `"word3 word5"`},
			{Name: "fuzzy", Query: "word123~1", ours: "word123~1", loose: true},
			{Name: "all documents", ours: "*:*"},
		} {
			q.Name, q.Partition, q.goal = fmt.Sprintf("search: %s, %s of %d", q.Name, in.where, n), in.partition, in.goal
			all = append(all, q)
		}
	}
	return append(all, search{Name: fmt.Sprintf("search: counts and a sort over %d of %d", n/20, n), Query: "+tenth:>=7 +tenth:<=7", Counted: true, ours: "tenth:7", goal: 1})
}

// path is where the server is asked.
func (s search) path() string {
	q := "/_search/words?limit=25&q=" + url.QueryEscape(s.ours)
	switch {
	case s.Counted:
		q += "&counts=" + url.QueryEscape(`["kind"]`) + "&sort=" + url.QueryEscape(`"price"`)
	case s.Partition != "":
		return "/texts/_partition/" + s.Partition + "/_design/parts" + q
	}
	return "/texts/_design/all" + q
}

// searches compares indexing and queries with bleve's own index over the same documents, in one run.
func (b *bench) searches(ctx context.Context) (err error) {
	docs, asked := texts(b.scale.texts), searchesOver(b.scale.texts)
	theirs, err := b.ceiling(ctx, docs, asked)
	if err != nil {
		return err
	}
	s, _, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	if err := loadTexts(s, docs); err != nil {
		return err
	}
	if err := b.indexTexts(ctx, s, theirs.CPU); err != nil {
		return err
	}
	own, err := b.latency(s, "/texts/_partition/ten/_design/parts/_search/words?q=nowhere")
	if err != nil {
		return err
	}
	b.report.resources = append(b.report.resources, resource{"search: the server's own share of a query", own, "ms", 0.3})
	b.report.notes = append(b.report.notes, fmt.Sprintf("searches: beside bleve without the server's own share of each, which is %.2f ms: that of a query which finds nothing in a partition of ten", own))
	for _, q := range asked {
		if err := b.searchBeside(s, q, own, theirs); err != nil {
			return fmt.Errorf("%s: %w", q.Name, err)
		}
	}
	return b.visible(s)
}

// visible measures how long a search takes right after a document was written, which it must see.
func (b *bench) visible(s *process.Server) error {
	var times []float64
	for n := range 101 {
		word := fmt.Sprintf("fresh%d", n)
		if _, err := ask(s.Address, "PUT", "/texts/ten:"+word, fmt.Appendf(nil, `{"text":"some words and %s","kind":"kind1","price":1,"tenth":1}`, word)); err != nil {
			return err
		}
		began := time.Now()
		answer, err := ask(s.Address, "GET", "/texts/_design/all/_search/words?q="+word, nil)
		times = append(times, time.Since(began).Seconds()*1000)
		if err != nil || !bytes.Contains(answer, []byte(`"total_rows":1`)) {
			return errors.Join(err, fmt.Errorf("a search for %s answers %.200s", word, answer))
		}
	}
	b.report.resources = append(b.report.resources, resource{"search: right after a document was written", median(times), "ms", 1})
	return nil
}

// loadTexts stores the documents.
func loadTexts(s *process.Server, docs []text) error {
	if _, err := ask(s.Address, "PUT", "/texts?partitioned=true", nil); err != nil {
		return err
	}
	for from := 0; from < len(docs); from += 1000 {
		body := bulk(from, min(1000, len(docs)-from), func(n int) []byte {
			d := docs[n]
			return fmt.Appendf(nil, `{"_id":%q,"text":%q,"kind":%q,"price":%v,"tenth":%v}`, d.ID, d.Text, d.Kind, d.Price, d.Tenth)
		})
		if _, err := ask(s.Address, "POST", "/texts/_bulk_docs", body); err != nil {
			return err
		}
	}
	return nil
}

// indexTexts builds the indexes, and compares what the first takes with what bleve's took.
func (b *bench) indexTexts(ctx context.Context, s *process.Server, theirs float64) error {
	if err := settle(ctx, s); err != nil {
		return err
	}
	before, err := s.CPU()
	if err != nil {
		return err
	}
	if err := defineTexts(s, "all", false); err != nil {
		return err
	}
	if err := settle(ctx, s); err != nil {
		return err
	}
	after, err := s.CPU()
	if err != nil {
		return err
	}
	f := figure{name: fmt.Sprintf("text index of %d documents", b.scale.texts), unit: "documents/CPU-s", goal: 1.2, ceiling: "bleve alone"}
	n := float64(b.scale.texts)
	f.add(n/(after-before).Seconds(), n/theirs, (after-before).Seconds()/n)
	b.report.figures = append(b.report.figures, f)
	peak, err := s.Memory("VmHWM")
	if err != nil {
		return err
	}
	b.report.resources = append(b.report.resources, resource{fmt.Sprintf("memory at its peak, loading and indexing %d documents", b.scale.texts), float64(peak) / 1e6, "MB", 600})
	if err := defineTexts(s, "parts", true); err != nil {
		return err
	}
	return settle(ctx, s)
}

// defineTexts defines an index and waits until it is built.
func defineTexts(s *process.Server, name string, partitioned bool) error {
	fn, err := json.Marshal(textWords)
	if err != nil {
		return err
	}
	if _, err = ask(s.Address, "PUT", "/texts/_design/"+name, fmt.Appendf(nil, `{"options":{"partitioned":%v},"indexes":{"words":{"index":%s}}}`, partitioned, fn)); err != nil {
		return err
	}
	path := "/texts/_design/" + name
	if partitioned {
		path = "/texts/_partition/ten/_design/" + name
	}
	_, err = ask(s.Address, "GET", path+"/_search/words?q=nowhere", nil)
	return err
}

// leastTime is the least time of a search that is told from none, in milliseconds.
const leastTime = 0.01

// searchBeside compares a query of the server's with the ceiling's: one client, one query at a time. The server's own
// share is another figure.
func (b *bench) searchBeside(s *process.Server, q search, own float64, theirs ceilingFigures) error {
	answer, err := ask(s.Address, "GET", q.path(), nil)
	if err != nil {
		return err
	}
	var found struct {
		Total uint64 `json:"total_rows"`
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return err
	}
	if want := theirs.Hits[q.Name]; found.Total != want && !q.loose {
		return fmt.Errorf("%d documents are found, bleve finds %d", found.Total, want)
	}
	ms, err := b.latency(s, q.path())
	if err != nil {
		return err
	}
	f := figure{name: q.Name, unit: "queries/s, one by one", goal: q.goal, ceiling: "bleve alone"}
	f.add(1000/max(ms-own, leastTime), 1000/theirs.Answers[q.Name], 0)
	b.report.figures = append(b.report.figures, f)
	if q.Counted {
		b.report.resources = append(b.report.resources, resource{q.Name, ms, "ms", 5})
	}
	return nil
}

// ceilingFigures is what bench/ceiling prints.
type ceilingFigures struct {
	CPU     float64            `json:"cpu"`
	Answers map[string]float64 `json:"answers"`
	Hits    map[string]uint64  `json:"hits"`
}

// ceiling runs bleve's own index over documents and queries, as a process of a module of its own.
func (b *bench) ceiling(ctx context.Context, docs []text, asked []search) (f ceilingFigures, err error) {
	dir, err := b.scratch()
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, err := process.Root()
	if err != nil {
		return f, err
	}
	binary, documents, queries := filepath.Join(dir, "ceiling"), filepath.Join(dir, "documents"), filepath.Join(dir, "queries")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	build.Dir, build.Stderr = filepath.Join(root, "bench", "ceiling"), os.Stderr
	if err := errors.Join(build.Run(), writeLines(documents, docs), writeLines(queries, asked)); err != nil {
		return f, err
	}
	run := exec.CommandContext(ctx, binary, dir, documents, queries)
	run.Stderr = os.Stderr
	out, err := run.Output()
	if err != nil {
		return f, err
	}
	return f, json.NewDecoder(bytes.NewReader(out)).Decode(&f)
}

// writeLines writes values into a file, the JSON of each in a line.
func writeLines[T any](path string, values []T) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	to := bufio.NewWriter(f)
	lines := json.NewEncoder(to)
	for _, v := range values {
		if err := lines.Encode(v); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(to.Flush(), f.Close())
}
