package table

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

func TestNames(t *testing.T) {
	for table, database := range map[string]string{
		"projects": "projects", "ProductCatalog": "p$roductc$atalog", "prod.Orders": "prod_$o$rders",
		"2024-orders": "x$$2024-orders", "_a.": "x$$_a_$", "ABC": "a$b$c$",
	} {
		if got, ok := DatabaseOf(table); !ok || got != database {
			t.Errorf("%s: %s, %v", table, got, ok)
		}
		if got, ok := NameOf(database); !ok || got != table {
			t.Errorf("%s: %s, %v", database, got, ok)
		}
	}
	for _, table := range []string{"", "ab", "a b", "a/b", "a$b", "äöü", strings.Repeat("a", 256)} {
		if got, ok := DatabaseOf(table); ok {
			t.Errorf("%q: %s", table, got)
		}
	}
	for _, database := range []string{"ab", "_users", "$abc", "a/b/c", "a$$bc", "1$bc", "x$$abc", "x$$", "abc(", "a+b", "x$$$ab"} {
		if got, ok := NameOf(database); ok {
			t.Errorf("%q: %s", database, got)
		}
	}
}

// TestNamesRandom: whatever a table is called, its database tells.
func TestNamesRandom(t *testing.T) {
	const letters = "abzABZ019_-."
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]string{}
	for range 20000 {
		b := make([]byte, 3+r.IntN(4))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		database, ok := DatabaseOf(string(b))
		if !ok {
			t.Fatalf("%s: no name", b)
		}
		if other, known := seen[database]; known && other != string(b) {
			t.Fatalf("%s and %s are both %s", other, b, database)
		}
		seen[database] = string(b)
		if got, ok := NameOf(database); !ok || got != string(b) {
			t.Fatalf("%s: %s: %s, %v", b, database, got, ok)
		}
	}
}

func projects() *Definition {
	return &Definition{
		Attributes: map[string]Type{"organisation_id": String, "name": String, "last_updated": String, "owner": String, "n": Number},
		Keys:       []string{"organisation_id", "name"},
		Indexes: map[string]Index{
			"by_time":  {Keys: []string{"organisation_id", "last_updated"}, Local: true, Projection: All},
			"by_owner": {Keys: []string{"owner"}, Projection: Keys},
			"by_n":     {Keys: []string{"n", "owner"}, Projection: Include, Include: []string{"b", "a", "name"}},
		},
		Created: time.Date(2018, 8, 2, 0, 0, 0, 0, time.UTC),
		Stream:  &Stream{View: "KEYS_ONLY", Since: time.Date(2018, 8, 3, 0, 0, 0, 0, time.UTC)},
		Tags:    map[string]string{"a": "b"},
	}
}

func TestDefinition(t *testing.T) {
	d := projects()
	body, err := d.Body()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := again.Body(); err != nil || string(second) != string(body) {
		t.Errorf("%s\n%s, %v", body, second, err)
	}
	for name, want := range map[string][]string{
		"by_time": nil, "by_owner": {"name", "organisation_id", "owner"}, "by_n": {"a", "b", "n", "name", "organisation_id", "owner"},
	} {
		x := again.Indexes[name]
		if got := again.Projected(&x); !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if d, err := Parse([]byte(`{"views":{}}`)); d != nil || err != nil {
		t.Errorf("another design document: %v, %v", d, err)
	}
}

func TestInvalidDefinitions(t *testing.T) {
	const attributes = `"attributes":{"a":"S","b":"N","c":"M"}`
	for _, c := range []struct{ text, want string }{
		{`[]`, "it can't be read"},
		{`{}`, "keys are one attribute, or two different ones"},
		{`{` + attributes + `,"keys":["a","a"]}`, "keys are one attribute, or two different ones"},
		{`{` + attributes + `,"keys":["a","b","a"]}`, "keys are one attribute, or two different ones"},
		{`{` + attributes + `,"keys":["x"]}`, `the attribute "x" in a key has no type S, N or B`},
		{`{` + attributes + `,"keys":["c"]}`, `the attribute "c" in a key has no type S, N or B`},
		{`{` + attributes + `,"keys":[""]}`, "an attribute in a key has a name of 1 to 255 bytes"},
		{`{` + attributes + `,"keys":["a"],"stream":{"view":"x"}}`, "the stream has no view of KEYS_ONLY, NEW_IMAGE, OLD_IMAGE, NEW_AND_OLD_IMAGES"},
		{`{` + attributes + `,"keys":["a"],"indexes":{"xx":{"keys":["b"],"projection":"all"}}}`, "the name of an index has 3 to 255 characters"},
		{`{` + attributes + `,"keys":["a"],"indexes":{"xxx":{"keys":["b"],"projection":"some"}}}`, `the index "xxx" has no projection all, keys or include`},
		{`{` + attributes + `,"keys":["a"],"indexes":{"xxx":{"keys":["b","a"],"local":true,"projection":"all"}}}`, `the local index "xxx" needs the table's partition key and a sort key`},
		{`{` + attributes + `,"keys":["a"],"indexes":{"xxx":{"keys":["a"],"local":true,"projection":"all"}}}`, `the local index "xxx" needs the table's partition key and a sort key`},
	} {
		_, err := Parse([]byte(`{"table":` + c.text + `}`))
		if !dberr.Is(err, dberr.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

func TestKeys(t *testing.T) {
	d := projects()
	id, err := d.ID("abc123", "Foo Project")
	if err != nil || id != `Sabc123!:SFoo"CProject` {
		t.Fatalf("%s, %v", id, err)
	}
	if texts, err := d.KeyOf(id); err != nil || !slices.Equal(texts, []string{"abc123", "Foo Project"}) {
		t.Errorf("%q, %v", texts, err)
	}
	if p, err := d.Partition("abc123"); err != nil || p != id.Partition() {
		t.Errorf("%s, %v", p, err)
	}
	for _, id := range []document.ID{"abc123:Foo", "Sabc123!:!", "Sabc123!:N1", "_design/table"} {
		if texts, err := d.KeyOf(id); err == nil {
			t.Errorf("%s: %q", id, texts)
		}
	}
	o := Opened(time.Time{})
	if id, err := o.ID("abc123", "Foo:Project"); err != nil || id != "abc123:Foo:Project" {
		t.Errorf("%s, %v", id, err)
	}
	if texts, err := o.KeyOf("abc123:Foo:Project"); err != nil || !slices.Equal(texts, []string{"abc123", "Foo:Project"}) {
		t.Errorf("%q, %v", texts, err)
	}
	for _, key := range [][]string{{"a:b", "c"}, {"", "c"}, {"a", ""}, {"_a", "c"}} {
		if id, err := o.ID(key...); err == nil {
			t.Errorf("%q: %s", key, id)
		}
	}
}
