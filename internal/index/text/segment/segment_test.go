package segment

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/analysis"
	index "github.com/blevesearch/bleve_index_api"
	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/testkit/testrun"
)

// tokens cuts a text at spaces.
func tokens(text string) (ts analysis.TokenStream) {
	at := 0
	for i, word := range strings.Split(text, " ") {
		ts = append(ts, &analysis.Token{Term: []byte(word), Start: at, End: at + len(word), Position: i + 1})
		at += len(word) + 1
	}
	return ts
}

func textField(name, text string) Field {
	return Field{Name: name, Text: text, Tokens: tokens(text), Index: true}
}

func numberField(name string, f float64) Field {
	return Field{Name: name, Number: &f, Index: true}
}

// words are the terms of random documents: near one another, so that fuzzy searches find some.
var words = []string{"a", "ab", "abc", "abd", "acb", "b", "ba", "bac", "cab", "zug", "zugs"}

func randomDocument(r *rand.Rand, id int) Document {
	p := fmt.Sprintf("p%d", r.IntN(3))
	d := Document{ID: fmt.Sprintf("%s:%04d", p, id), Partition: p}
	for range r.IntN(3) {
		n := 1 + r.IntN(6)
		var text []string
		for range n {
			text = append(text, words[r.IntN(len(words))])
		}
		f := textField([]string{"t", "u"}[r.IntN(2)], strings.Join(text, " "))
		f.Store, f.Facet = r.IntN(2) == 0, r.IntN(2) == 0
		if r.IntN(4) == 0 {
			f.Boost = []float64{0.5, 2, 7}[r.IntN(3)]
		}
		f.Index = r.IntN(8) > 0
		d.Fields = append(d.Fields, f)
	}
	for range r.IntN(3) {
		f := numberField([]string{"n", "m"}[r.IntN(2)], float64(r.IntN(20)-10)/2)
		f.Store, f.Facet, f.Index = r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(8) > 0
		d.Fields = append(d.Fields, f)
	}
	for _, name := range []string{"v", "w/w"} {
		if r.IntN(3) > 0 {
			d.Fields = append(d.Fields, vectorField(r, name, []int{1, 3, 70}[r.IntN(3)], similarities[r.IntN(3)]))
		}
	}
	return d
}

// model is an index of full documents, as segments hold them: in groups.
type model struct {
	groups [][]Document
	gone   []map[int]bool
}

// read is what a reader of all, or of a partition, sees: documents in order, with the
// numbers that the reader gives them.
func (m *model) read(partition string) (docs []Document, numbers []uint64) {
	base := uint64(0)
	for g, group := range m.groups {
		seen := false
		var local []uint64
		for i, d := range group {
			if m.gone[g][i] || partition != "" && d.Partition != partition {
				continue
			}
			seen = true
			docs, local = append(docs, d), append(local, uint64(i))
		}
		if !seen {
			continue // the reader leaves the segment out
		}
		for _, n := range local {
			numbers = append(numbers, base+n)
		}
		base += uint64(len(group))
	}
	return docs, numbers
}

// occurrence is a document of a term.
type occurrence struct {
	Doc    uint64
	Freq   uint64
	Norm   float64
	Places []index.TermFieldVector
}

// find is what a term's reader is to give.
func find(docs []Document, numbers []uint64, field, term string) (found []occurrence) {
	for i, d := range docs {
		o := occurrence{Doc: numbers[i]}
		length, base, boost, nth := 0, 0, 1.0, uint64(0)
		for _, f := range d.Fields {
			if f.Name != field {
				continue
			}
			nth++
			if !f.Index {
				continue
			}
			if f.Boost != 0 {
				boost *= f.Boost
			}
			if f.Number != nil {
				length++
				if bytes.Equal(NumberTerm(*f.Number), []byte(term)) {
					o.Freq++
				}
				continue
			}
			for _, t := range f.Tokens {
				if string(t.Term) == term {
					o.Freq++
					v := index.TermFieldVector{Field: field, Pos: uint64(base + t.Position), Start: uint64(t.Start), End: uint64(t.End)}
					if nth > 1 {
						v.ArrayPositions = []uint64{nth - 1}
					}
					o.Places = append(o.Places, v)
				}
			}
			length, base = length+len(f.Tokens), base+len(f.Tokens)
		}
		if o.Freq > 0 {
			o.Norm = boost / math.Sqrt(float64(length))
			found = append(found, o)
		}
	}
	return found
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// got reads all of a term.
func got(t *testing.T, r *Reader, field, term string) (found []occurrence) {
	tr := must[index.TermFieldReader](t)(r.TermFieldReader(context.Background(), []byte(term), field, true, true, true))
	for {
		d := must[*index.TermFieldDoc](t)(tr.Next(nil))
		if d == nil {
			break
		}
		o := occurrence{Doc: must[uint64](t)(Number(d.ID)), Freq: d.Freq, Norm: d.Norm}
		for _, v := range d.Vectors {
			o.Places = append(o.Places, *v)
		}
		found = append(found, o)
	}
	if tr.Count() != uint64(len(found)) {
		t.Fatalf("%s:%s: counted %d, found %d", field, term, tr.Count(), len(found))
	}
	return found
}

var near = cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(a) })

// build builds and opens segments of the model's groups.
func (m *model) build(t *testing.T) (sources []Source) {
	for g, group := range m.groups {
		s := must[*Segment](t)(Open(must[[]byte](t)(Build(group))))
		sources = append(sources, Source{Segment: s, Deleted: bitmap(m.gone[g])})
	}
	return sources
}

func bitmap(of map[int]bool) *roaring.Bitmap {
	if len(of) == 0 {
		return nil
	}
	b := roaring.New()
	for i := range of {
		b.Add(uint32(i))
	}
	return b
}

func randomModel(r *rand.Rand) *model {
	m := &model{}
	id := 0
	for range 1 + r.IntN(4) {
		var group []Document
		gone := map[int]bool{}
		for range 1 + r.IntN(30) {
			group = append(group, randomDocument(r, id))
			id++
		}
		slices.SortFunc(group, func(a, b Document) int { return strings.Compare(a.ID, b.ID) })
		for i := range group {
			if r.IntN(5) == 0 {
				gone[i] = true
			}
		}
		m.groups, m.gone = append(m.groups, group), append(m.gone, gone)
	}
	return m
}

// TestAgainstModel holds readers over random segments, replaced documents and
// partitions against the documents themselves.
func TestAgainstModel(t *testing.T) {
	seeds := uint64(60)
	switch {
	case testing.Short():
		seeds = 10
	case !testrun.IsLong(): // make test-long has all
		seeds = 25
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		m := randomModel(r)
		sources := m.build(t)
		m.compare(t, sources)
		merged, ok := m.merge(t, sources)
		if ok {
			m.compare(t, merged)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// merge merges all segments, in the model too.
func (m *model) merge(t *testing.T, sources []Source) ([]Source, bool) {
	made, numbers, err := Merge(context.Background(), sources, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var all []Document
	for g, group := range m.groups {
		for i, d := range group {
			want := uint32(len(all))
			if m.gone[g][i] {
				want = Gone
			} else {
				all = append(all, d)
			}
			if numbers[g][i] != want {
				t.Fatalf("document %d of %d became %d instead of %d", i, g, numbers[g][i], want)
			}
		}
	}
	if len(all) == 0 {
		if made != nil {
			t.Fatal("a segment of no documents")
		}
		return nil, false
	}
	m.groups, m.gone = [][]Document{all}, []map[int]bool{{}}
	return []Source{{Segment: must[*Segment](t)(Open(made))}}, true
}

func (m *model) compare(t *testing.T, sources []Source) {
	t.Helper()
	for _, partition := range []string{"", "p0", "p1", "p2", "nowhere"} {
		reader := must[*Reader](t)(NewReader(sources, partition))
		docs, numbers := m.read(partition)
		if n, _ := reader.DocCount(); n != uint64(len(docs)) {
			t.Fatalf("%d documents instead of %d", n, len(docs))
		}
		compareTerms(t, reader, docs, numbers)
		compareDictionaries(t, reader, docs, numbers)
		compareColumns(t, reader, docs, numbers)
		compareDocuments(t, reader, docs, numbers)
		compareSets(t, reader, docs, numbers)
		compareVectors(t, reader, docs, numbers)
	}
	for _, s := range sources {
		if err := s.Segment.CheckVectors(); err != nil {
			t.Fatal(err)
		}
	}
}

func compareTerms(t *testing.T, reader *Reader, docs []Document, numbers []uint64) {
	t.Helper()
	for _, field := range []string{"t", "u", "none"} {
		for _, word := range append([]string{"nothing"}, words...) {
			if diff := cmp.Diff(find(docs, numbers, field, word), got(t, reader, field, word), near); diff != "" {
				t.Fatalf("%s:%s (-want +got)\n%s", field, word, diff)
			}
		}
	}
	for n := -10; n < 10; n++ {
		term := string(NumberTerm(float64(n) / 2))
		if diff := cmp.Diff(find(docs, numbers, "n", term), got(t, reader, "n", term), near); diff != "" {
			t.Fatalf("n:%v\n%s", float64(n)/2, diff)
		}
	}
	compareAdvance(t, reader, docs, numbers)
}

// compareAdvance goes to each document, forward and back.
func compareAdvance(t *testing.T, reader *Reader, docs []Document, numbers []uint64) {
	t.Helper()
	want := find(docs, numbers, "t", "ab")
	tr := must[index.TermFieldReader](t)(reader.TermFieldReader(context.Background(), []byte("ab"), "t", true, true, false))
	for _, to := range slices.Concat(numbers, numbers[:len(numbers)/2], []uint64{reader.End() + 5}) {
		d := must[*index.TermFieldDoc](t)(tr.Advance(InternalOf(nil, to), nil))
		i := slices.IndexFunc(want, func(o occurrence) bool { return o.Doc >= to })
		if (d == nil) != (i < 0) {
			t.Fatalf("behind %d there is %v", to, d)
		}
		if d != nil && (must[uint64](t)(Number(d.ID)) != want[i].Doc || d.Freq != want[i].Freq) {
			t.Fatalf("behind %d there is %x with %d instead of %+v", to, d.ID, d.Freq, want[i])
		}
	}
}

// dictionaryOf is the terms of a field and how many documents have each.
func dictionaryOf(docs []Document, field string, accept func(string) bool) map[string]uint64 {
	all := map[string]uint64{}
	for _, d := range docs {
		own := map[string]bool{}
		for _, f := range d.Fields {
			if f.Name == field && f.Index {
				for _, tok := range f.Tokens {
					own[string(tok.Term)] = true
				}
			}
		}
		for term := range own {
			if accept(term) {
				all[term]++
			}
		}
	}
	return all
}

func gotDictionary(t *testing.T, d index.FieldDict, err error) map[string]uint64 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]uint64{}
	last := ""
	for {
		e := must[*index.DictEntry](t)(d.Next())
		if e == nil {
			return all
		}
		if e.Term <= last {
			t.Fatalf("%q comes behind %q", e.Term, last)
		}
		last = e.Term
		all[e.Term] = e.Count
	}
}

// distance is the least number of insertions, deletions, replacements and swaps of
// neighbours, none of which touches what another one has.
func distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			if i == 0 || j == 0 {
				d[i][j] = i + j
				continue
			}
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

func compareDictionaries(t *testing.T, reader *Reader, docs []Document, _ []uint64) {
	t.Helper()
	check := func(name string, accept func(string) bool, d index.FieldDict, err error) {
		t.Helper()
		if diff := cmp.Diff(dictionaryOf(docs, "t", accept), gotDictionary(t, d, err)); diff != "" {
			t.Fatalf("%s\n%s", name, diff)
		}
	}
	d, err := reader.FieldDict("t")
	check("all", func(string) bool { return true }, d, err)
	d, err = reader.FieldDictPrefix("t", []byte("ab"))
	check("prefix", func(s string) bool { return strings.HasPrefix(s, "ab") }, d, err)
	d, err = reader.FieldDictRange("t", []byte("ab"), []byte("ba"))
	check("range", func(s string) bool { return s >= "ab" && s <= "ba" }, d, err)
	d, err = reader.FieldDictRegexp("t", "a.*|zug")
	check("regexp", func(s string) bool { return s[0] == 'a' || s == "zug" }, d, err)
	for edits := 1; edits <= 2; edits++ {
		d, err = reader.FieldDictFuzzy("t", "abc", edits, "")
		check("fuzzy", func(s string) bool { return distance("abc", s) <= edits }, d, err)
	}
	d, err = reader.FieldDictFuzzy("t", "abc", 1, "ab")
	check("fuzzy with a prefix", func(s string) bool { return distance("abc", s) <= 1 && strings.HasPrefix(s, "ab") }, d, err)
	c := must[index.FieldDictContains](t)(reader.FieldDictContains("t"))
	for _, word := range words {
		_, want := dictionaryOf(docs, "t", func(s string) bool { return s == word })[word]
		if got := must[bool](t)(c.Contains([]byte(word))); got != want {
			t.Fatalf("contains %q: %v", word, got)
		}
	}
}

func compareColumns(t *testing.T, reader *Reader, docs []Document, numbers []uint64) {
	t.Helper()
	type values struct {
		Number  *float64
		Text    *string
		Numbers []float64
		Texts   []string
	}
	for _, field := range []string{"t", "u", "n", "m", "none"} {
		column := reader.Column(field)
		for i, d := range docs {
			var want, got values
			for _, f := range d.Fields {
				if f.Name != field {
					continue
				}
				if f.Number != nil {
					if f.Index && (want.Number == nil || *f.Number > *want.Number) {
						want.Number = f.Number
					}
					if f.Facet {
						want.Numbers = append(want.Numbers, *f.Number)
					}
					continue
				}
				for _, tok := range f.Tokens {
					if s := string(tok.Term); f.Index && (want.Text == nil || s > *want.Text) {
						want.Text = &s
					}
				}
				if f.Facet {
					want.Texts = append(want.Texts, f.Text)
				}
			}
			if f, ok := column.Number(numbers[i]); ok {
				got.Number = &f
			}
			if s, ok := column.Text(numbers[i]); ok {
				got.Text = &s
			}
			got.Numbers, got.Texts = column.FacetNumbers(nil, numbers[i]), column.FacetTexts(nil, numbers[i])
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s of %s\n%s", field, d.ID, diff)
			}
		}
	}
}

func compareDocuments(t *testing.T, reader *Reader, docs []Document, numbers []uint64) {
	t.Helper()
	for i, d := range docs {
		if id := must[string](t)(reader.ID(numbers[i])); id != d.ID {
			t.Fatalf("%d is %s instead of %s", numbers[i], id, d.ID)
		}
		if id := must[index.IndexInternalID](t)(reader.InternalID(d.ID)); !bytes.Equal(id, InternalOf(nil, numbers[i])) {
			t.Fatalf("%s is %x instead of %d", d.ID, id, numbers[i])
		}
		want, got := map[string][]string{}, map[string][]string{}
		for _, f := range d.Fields {
			if f.Store {
				want[f.Name] = append(want[f.Name], shown(f.Text, f.Number))
			}
		}
		err := reader.Stored(numbers[i], func(field, text string, number *float64) {
			got[field] = append(got[field], shown(text, number))
		})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%s: %v\n%s", d.ID, err, diff)
		}
		if stored := must[index.Document](t)(reader.Document(d.ID)); stored == nil {
			t.Fatalf("%s is not there", d.ID)
		}
	}
	all := must[index.DocIDReader](t)(reader.DocIDReaderAll())
	var seen []uint64
	for {
		id := must[index.IndexInternalID](t)(all.Next())
		if id == nil {
			break
		}
		seen = append(seen, must[uint64](t)(Number(id)))
	}
	if !slices.Equal(seen, numbers) {
		t.Fatalf("all documents: %v instead of %v", seen, numbers)
	}
}

func shown(text string, number *float64) string {
	if number != nil {
		return fmt.Sprint("number ", *number)
	}
	return "text " + text
}

func compareSets(t *testing.T, reader *Reader, docs []Document, numbers []uint64) {
	t.Helper()
	set := reader.NewSet()
	of := Interval{Min: -2, Max: 3, IncludeMin: true}
	set.AddNumbers("n", of)
	var want []uint64
	for i, d := range docs {
		if slices.ContainsFunc(d.Fields, func(f Field) bool {
			return f.Name == "n" && f.Number != nil && f.Index && *f.Number >= -2 && *f.Number < 3
		}) {
			want = append(want, numbers[i])
		}
	}
	if set.Count() != uint64(len(want)) {
		t.Fatalf("%d documents in the interval instead of %d", set.Count(), len(want))
	}
	for _, n := range want {
		if !set.Contains(n) {
			t.Fatalf("%d is missing", n)
		}
	}
	terms, having := reader.NewSet(), reader.NewSet()
	if err := terms.AddMatching("t", Terms{[]byte("ab"), []byte("abc")}, func(term string) bool { return term == "ab" }, func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if n := len(find(docs, numbers, "t", "ab")); terms.Count() != uint64(n) {
		t.Fatalf("%d documents of the term instead of %d", terms.Count(), n)
	}
	for _, field := range []string{"t", "n", "none"} {
		any := reader.NewSet()
		if err := any.AddMatching(field, Prefixed(""), func(string) bool { return true }, func(int) error { return nil }); err != nil {
			t.Fatal(err)
		}
		having.AndNot(reader.All())
		if having.AddField(field); having.Count() != any.Count() {
			t.Fatalf("%d documents have a term of %s, %d have the field", any.Count(), field, having.Count())
		}
		if having.AndNot(any); having.Count() > 0 {
			t.Fatalf("other documents have a term of %s than have the field", field)
		}
	}
	numbersAscend(t, reader)
	other := reader.All()
	other.AndNot(terms)
	other.Or(terms)
	if other.And(set); other.Count() != set.Count() {
		t.Fatal("a set of all")
	}
}

// numbersAscend holds runs of ascending ids against the ids.
func numbersAscend(t *testing.T, r *Reader) {
	t.Helper()
	ids := r.Column("_id")
	for doc := uint64(0); doc < r.End(); {
		end := ids.Ascends(doc)
		if end <= doc || end > r.End() {
			t.Fatalf("from document %d ids ascend until %d", doc, end)
		}
		for n := doc + 1; n < end; n++ {
			before, _ := ids.Text(n - 1)
			if id, _ := ids.Text(n); id <= before {
				t.Fatalf("document %d has the id %q, after %q", n, id, before)
			}
		}
		doc = end
	}
}

// TestDamage changes each byte in turn: a segment opens as it was written, or not at all.
func TestDamage(t *testing.T) {
	b := must[[]byte](t)(Build([]Document{{ID: "a", Fields: []Field{textField("t", "some words")}}, {ID: "b", Fields: []Field{numberField("n", 1), {Name: "v", Vector: []float32{3, 4}, Similarity: Dot}}}}))
	must[*Segment](t)(Open(b))
	for i := range b {
		b[i] ^= 0x41
		if _, err := Open(b); err == nil {
			t.Fatalf("with byte %d changed it opens", i)
		}
		b[i] ^= 0x41
	}
	for n := range b {
		if _, err := Open(b[:n]); err == nil {
			t.Fatalf("%d of %d bytes open", n, len(b))
		}
	}
}

func TestFieldsAreBounded(t *testing.T) {
	var d Document
	for i := range MaxFields + 1 {
		d.Fields = append(d.Fields, numberField(fmt.Sprint(i), 1))
	}
	if _, err := Build([]Document{d}); err != ErrFields {
		t.Fatalf("%v", err)
	}
	half := func(id string, fields []Field) Source {
		return Source{Segment: must[*Segment](t)(Open(must[[]byte](t)(Build([]Document{{ID: id, Fields: fields}}))))}
	}
	_, _, err := Merge(context.Background(), []Source{half("a", d.Fields[:5000]), half("b", d.Fields[5000:])}, t.TempDir())
	if err != ErrFields {
		t.Fatalf("%v", err)
	}
}

func TestTermsThatAreTooLong(t *testing.T) {
	f := textField("t", strings.Repeat("x", maxTerm+1)+" short")
	s := must[*Segment](t)(Open(must[[]byte](t)(Build([]Document{{ID: "a", Fields: []Field{f}}}))))
	r := must[*Reader](t)(NewReader([]Source{{Segment: s}}, ""))
	d, err := r.FieldDict("t")
	if diff := cmp.Diff(map[string]uint64{"short": 1}, gotDictionary(t, d, err)); diff != "" {
		t.Fatal(diff)
	}
}

// TestSearchersTogether runs bleve's optimization hooks by themselves.
func TestSearchersTogether(t *testing.T) {
	for seed := range uint64(30) {
		m := randomModel(rand.New(rand.NewPCG(seed, 2)))
		reader := must[*Reader](t)(NewReader(m.build(t), ""))
		docs, numbers := m.read("")
		in := map[string]map[uint64]bool{}
		for _, word := range []string{"ab", "b"} {
			in[word] = map[uint64]bool{}
			for _, o := range find(docs, numbers, "t", word) {
				in[word][o.Doc] = true
			}
		}
		for _, kind := range []string{conjunction, conjunctionUnadorned, disjunctionUnadorned} {
			var with index.OptimizableContext
			var readers []index.TermFieldReader
			for _, word := range []string{"ab", "b"} {
				tr := must[index.TermFieldReader](t)(reader.TermFieldReader(context.Background(), []byte(word), "t", false, false, false))
				with = must[index.OptimizableContext](t)(tr.(index.Optimizable).Optimize(kind, with))
				readers = append(readers, tr)
			}
			made := must[index.Optimized](t)(with.Finish())
			if kind != conjunction {
				readers = []index.TermFieldReader{made.(index.TermFieldReader)}
			}
			var want []uint64
			for _, n := range numbers {
				if in["ab"][n] && in["b"][n] || kind == disjunctionUnadorned && (in["ab"][n] || in["b"][n]) {
					want = append(want, n)
				}
			}
			for _, tr := range readers {
				var seen []uint64
				for {
					d := must[*index.TermFieldDoc](t)(tr.Next(nil))
					if d == nil {
						break
					}
					seen = append(seen, must[uint64](t)(Number(d.ID)))
				}
				if kind == conjunction { // hits of one document stay as they are
					seen = slices.DeleteFunc(seen, func(n uint64) bool { return !slices.Contains(want, n) })
				}
				if !slices.Equal(seen, want) {
					t.Fatalf("%s, seed %d: %v instead of %v", kind, seed, seen, want)
				}
			}
		}
	}
}
