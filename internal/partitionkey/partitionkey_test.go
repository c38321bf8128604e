package partitionkey

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestPartition(t *testing.T) {
	const body = `{"country":"DE","user":{"id":7,"na.me":"Ann"},"date":"2026-11-23","paid":true,"price":1.50,"none":null,"list":[1],"odd":"a:b","under":"_x","wide":"äöü"}`
	for _, c := range []struct{ template, want string }{
		{"country", "DE"},
		{"{country}", "DE"},
		{"user.id", "7"},
		{`{user.na\.me}`, "Ann"},
		{"{country}-{date|first 7}", "DE-2026-11"},
		{"{wide|first 2}", "äö"},
		{"{wide|first 9}", "äöü"},
		{"{_id|before -}", "shop"},
		{"p{user.id|spread 1}", "p0"},
		{"{price}", "1.50"},
		{"{paid}", "true"},
		{"{none}", `!the member "none" is not a text, number or boolean`},
		{"{list}", `!the member "list" is not a text, number or boolean`},
		{"{user}", `!the member "user" is not a text, number or boolean`},
		{"{missing}", `!it has no member "missing"`},
		{"{country.x}", `!it has no member "country.x"`},
		{"{odd}", `!"a:b" can be no partition: Partition must not contain a colon`},
		{"{under}", `!"_x" can be no partition: Partition must not start with an underscore`},
		{"{date|first 4}{under}", "2026_x"},
		{"{country|before -}", `!"DE" does not contain what the key ends before`},
	} {
		by, err := Parse(c.template)
		if err != nil {
			t.Fatal(err)
		}
		p, why := by.Partition("shop-17", []byte(body))
		if got := string(p); got != c.want && "!"+why != c.want {
			t.Errorf("%s: %q %s, want %s", c.template, got, why, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "{}", "{a", "a}", "{a}}", "{{a}}", "{a.}", "{.a}", "{a|}", "{a|first}", "{a|first 0}", "{a|first -1}", "{a|upper}", "{a|before }",
		"{a|spread x}", "{a|spread 9999999999}", strings.Repeat("a", 1001)} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// TestBounds: neither a template nor documents make keys that take memory without end.
func TestBounds(t *testing.T) {
	if _, err := Parse(strings.Repeat("{a}", maxMembers+1)); err == nil {
		t.Error("a template of any number of members is taken")
	}
	by, err := Parse("x{a}{a}")
	if err != nil {
		t.Fatal(err)
	}
	s := NewSurvey(by)
	s.Add("long", []byte(`{"a":"`+strings.Repeat("y", maxKey/2)+`"}`), 1, 1)
	s.Add("fits", []byte(`{"a":"`+strings.Repeat("y", maxKey/2-1)+`"}`), 1, 2)
	if r := s.Report(2); r.Unfit != 1 || r.Examples[0].ID != "long" || r.Examples[0].Why != "its key has more than 4096 bytes" {
		t.Errorf("%d unfit, %v", r.Unfit, r.Examples)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("{a.b|first 3}-{_id|before :}", "p:1", `{"a":{"b":"x"}}`)
	f.Fuzz(func(t *testing.T, template, id, body string) {
		by, err := Parse(template)
		if err != nil {
			return
		}
		if p, why := by.Partition(id, []byte(body)); (p == "") == (why == "") {
			t.Errorf("%q of %q: %q and %q", template, body, p, why)
		}
	})
}

// surveyOf has as many documents as size says for each partition, and takes a part of them as a sample.
func surveyOf(t *testing.T, sizes map[string]int, part float64) (Report, uint64) {
	t.Helper()
	by, err := Parse("k")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for key, n := range sizes {
		keys = append(keys, slices.Repeat([]string{key}, n)...)
	}
	slices.Sort(keys)
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	s := NewSurvey(by)
	for i, key := range keys {
		if random.Float64() < part {
			s.Add(fmt.Sprint(i), []byte(`{"k":"`+key+`"}`), 100, uint64(i))
		}
	}
	return s.Report(uint64(len(keys))), uint64(len(keys))
}

func codes(r Report) (all []string) {
	for _, w := range r.Warnings {
		all = append(all, w.Code)
	}
	return all
}

// even is n partitions of so many documents.
func even(n, size int) map[string]int {
	all := map[string]int{}
	for i := range n {
		all[fmt.Sprintf("p%d", i)] = size
	}
	return all
}

func TestReport(t *testing.T) {
	skewed := even(200, 20)
	skewed["huge"] = 4000
	for _, c := range []struct {
		what                 string
		sizes                map[string]int
		part                 float64
		partitions           float64 // there are
		effective            float64
		warnings             string
		tolerance            float64
		largest, largestPart float64
	}{
		{"even, all of them", even(100, 50), 1, 100, 100, "[]", 0.03, 50, 0.01},
		{"even, a tenth", even(100, 50), 0.1, 100, 100, "[]", 0.2, 0, 0},
		{"a few", even(3, 500), 0.5, 3, 3, "[few]", 0.05, 0, 0},
		{"one is huge", skewed, 0.3, 201, 4, "[uneven]", 0.15, 0, 0},
		{"each its own", even(5000, 1), 0.2, 5000, 5000, "[lonely]", 0.25, 0, 0},
		{"many small ones", even(3000, 5), 0.2, 3000, 3000, "[]", 0.35, 0, 0},
	} {
		r, documents := surveyOf(t, c.sizes, c.part)
		near := func(got, want float64) bool { return math.Abs(got-want) <= c.tolerance*want }
		if !near(r.Estimated, c.partitions) || !near(r.Effective, c.effective) || fmt.Sprint(codes(r)) != c.warnings {
			t.Errorf("%s: about %.0f of %.0f partitions, as even as %.1f, want %.1f; %v, want %s", c.what, r.Estimated, c.partitions, r.Effective, c.effective, r.Warnings, c.warnings)
		}
		if c.largest > 0 && (r.Largest[0].Documents != c.largest || r.Largest[0].Part != c.largestPart) {
			t.Errorf("%s: the largest is %+v", c.what, r.Largest[0])
		}
		partitions, part := 0, 0.0
		for _, b := range r.Histogram {
			partitions += b.Partitions
			part += b.Part
		}
		if partitions != r.Partitions || math.Abs(part-1) > 1e-9 {
			t.Errorf("%s: bars of %d partitions and %g of %d documents: %+v", c.what, partitions, part, documents, r.Histogram)
		}
	}
}

func TestWarnings(t *testing.T) {
	by, err := Parse("day")
	if err != nil {
		t.Fatal(err)
	}
	byTime, missing, empty := NewSurvey(by), NewSurvey(by), NewSurvey(by)
	for i := range 1000 {
		byTime.Add(fmt.Sprint(i), fmt.Appendf(nil, `{"day":"d%03d"}`, i/50), 100, uint64(i))
		missing.Add(fmt.Sprint(i), fmt.Appendf(nil, `{"da":%d}`, i), 100, uint64(i))
	}
	if r := byTime.Report(1000); fmt.Sprint(codes(r)) != "[hot]" {
		t.Errorf("a key that follows the time: %v", r.Warnings)
	}
	if r := byTime.Report(1e9); fmt.Sprint(codes(r)) != "[hot]" {
		t.Errorf("of a large database: %v", r.Warnings)
	}
	if r := missing.Report(1000); fmt.Sprint(codes(r)) != "[unfit]" || r.Unfit != 1000 || len(r.Examples) != shownExamples || r.Warnings[0].Text != "100 % of the documents have no partition by this key." {
		t.Errorf("a member that no document has: %+v", r)
	}
	if r := empty.Report(0); len(r.Warnings) != 0 || r.Estimated != 0 {
		t.Errorf("of an empty database: %+v", r)
	}
	large := NewSurvey(by)
	for i := range 100 {
		large.Add(fmt.Sprint(i), fmt.Appendf(nil, `{"day":"%d"}`, i%20), 100_000, uint64(i))
	}
	if r := large.Report(10_000_000); fmt.Sprint(codes(r)) != "[large]" {
		t.Errorf("of large documents: %v", r.Warnings)
	}
}
