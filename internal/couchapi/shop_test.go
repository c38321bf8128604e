package couchapi_test

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/sectional/sectional/internal/demo"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// newShop returns the face with the demo's data.
func newShop(t *testing.T) *testAPI {
	t.Helper()
	testrun.Sequential(t)
	a := newTestAPI(t)
	do := func(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
		r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(string(body)))
		r.SetBasicAuth("adm", "pass")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		return w.Code, w.Body.Bytes(), nil
	}
	// The cities, which take longest, are passed over where the marker says that they are there.
	a.do("PUT", "/cities?partitioned=true", "").want(201, "")
	a.do("PUT", "/cities/_local/demo", `{"size":200,"shape":1,"samples":1}`).want(201, "")
	must(t, demo.Load(context.Background(), do, 200, nil))
	return a
}

// record is what the tests look at of the shop's documents.
type record struct {
	ID       string `json:"_id"`
	Type     string
	UserID   string
	Date     string
	Email    string
	Active   bool
	Verified bool `json:"email_verified"`
	Default  bool
	Price    float64
}

// all reads a list of documents and keeps some.
func (a *testAPI) all(path string, keep func(record) bool) (kept []record) {
	a.t.Helper()
	var list struct{ Rows []struct{ Doc record } }
	must(a.t, json.Unmarshal([]byte(a.do("GET", path+"/_all_docs?include_docs=true", "").want(200, "").Body), &list))
	for _, row := range list.Rows {
		if keep(row.Doc) {
			kept = append(kept, row.Doc)
		}
	}
	if len(kept) == 0 {
		a.t.Fatalf("nothing in %s is asked for", path)
	}
	return kept
}

func ids(records []record) string {
	var all []string
	for _, r := range records {
		all = append(all, r.ID)
	}
	return strings.Join(all, " ")
}

// asks runs a request that must find just these documents, in this order, with
// an index.
func (a *testAPI) asks(path, request string, want []record) {
	a.t.Helper()
	got := a.do("POST", path+"/_find", request).want(200, "")
	var answer struct {
		Docs    []record
		Warning string
	}
	must(a.t, json.Unmarshal([]byte(got.Body), &answer))
	if ids(answer.Docs) != ids(want) {
		a.t.Errorf("%s %s finds\n%s, want\n%s", path, request, ids(answer.Docs), ids(want))
	}
	if strings.Contains(answer.Warning, "No matching index") && strings.Contains(request, "use_index") {
		a.t.Errorf("%s: %s", request, answer.Warning)
	}
}

// TestQuestionsToTheShop asks the demo's data, which takes long to load, what people ask of queries, of searches and of
// views.
func TestQuestionsToTheShop(t *testing.T) {
	a := newShop(t)
	a.asksPartitions()
	a.asksEverywhere()
	a.asksForWords()
	a.asksViews()
}

// words is what the tests of searches look at of a product.
type words struct {
	ID                       string `json:"_id"`
	Taxonomy, Keywords       []string
	Brand, Name, Description string
	Colours                  []string
}

// article is the text that the article's index function makes: where two fields meet, their words run together.
func (w *words) article() string {
	return strings.Join(w.Taxonomy, " ") + strings.Join(w.Keywords, " ") + w.Brand + " " + w.Name + " " + w.Description + " " + strings.Join(w.Colours, " ")
}

// apart is the text of the index for all categories.
func (w *words) apart() string {
	return strings.Join(slices.Concat([]string{w.Brand, w.Name, w.Description}, w.Keywords, w.Colours), " ")
}

// has reports whether a text has one of some words.
func has(text string, any ...string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }),
		func(word string) bool { return slices.Contains(any, word) })
}

// asksForWords searches the shop and holds what is found against all products: the article's query in a
// category and in all of them, and its glued words.
func (a *testAPI) asksForWords() {
	var list struct{ Rows []struct{ Doc words } }
	must(a.t, json.Unmarshal([]byte(a.do("GET", "/products/_all_docs?include_docs=true", "").want(200, "").Body), &list))
	const kitchen, scales = "Home#Kitchen#Small Appliances:", "Home#Kitchen#Small Appliances:1000042"
	const category, everywhere = "/products/_partition/Home%23Kitchen%23Small%20Appliances/_design/mydesigndoc/_search/mysearchindex", "/products/_design/everywhere/_search/words"
	in := func(w *words, any ...string) bool {
		return strings.HasPrefix(w.ID, kitchen) && has(w.article(), any...)
	}
	for _, c := range []struct {
		path, query string
		is          func(w *words) bool
		first       string // of the rows; "" for any
	}{
		{category, "salter scales red", func(w *words) bool { return in(w, "salter", "scales", "red") }, scales},
		{category, "kitchensalter", func(w *words) bool { return in(w, "kitchensalter") }, scales},
		{category, "KitchenSalter", func(w *words) bool { return in(w, "kitchensalter") }, scales},
		{category, "salter", func(w *words) bool { return in(w, "salter") }, ""},
		{everywhere, "salter scales red", func(w *words) bool { return has(w.apart(), "salter", "scale", "scales", "red") }, scales},
		{everywhere, "kitchensalter", func(w *words) bool { return has(w.apart(), "kitchensalter") }, ""},
		{everywhere, "digital aquatronic", func(w *words) bool { return has(w.apart(), "digital", "aquatronic") }, scales},
	} {
		var want, got []string
		for _, row := range list.Rows {
			if c.is(&row.Doc) && !strings.HasPrefix(row.Doc.ID, "_design/") {
				want = append(want, row.Doc.ID)
			}
		}
		var answer struct{ Rows []struct{ ID string } }
		must(a.t, json.Unmarshal([]byte(a.do("GET", c.path+"?limit=200&q="+url.QueryEscape(c.query), "").want(200, "").Body), &answer))
		for _, row := range answer.Rows {
			got = append(got, row.ID)
		}
		if c.first != "" && (len(got) == 0 || got[0] != c.first) {
			a.t.Errorf("%s: the first of %v", c.query, got)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			a.t.Errorf("%s of %s: %v, want %v", c.query, c.path, got, want)
		}
		if glued := c.query == "salter" && slices.Contains(got, scales) || strings.EqualFold(c.query, "kitchensalter") && c.path == category && len(got) != 1; glued {
			a.t.Errorf("%s: %v", c.query, got)
		}
	}
	for _, row := range list.Rows {
		if row.Doc.ID == scales {
			text, err := json.Marshal(row.Doc.article())
			must(a.t, err)
			terms := a.do("POST", "/_search_analyze", `{"analyzer":"standard","text":`+string(text)+`}`).want(200, "").Body
			if strings.Count(terms, `"kitchensalter"`) != 1 || strings.Contains(terms, `"salter"`) {
				a.t.Errorf("the terms are %s", terms)
			}
		}
	}
}

func (a *testAPI) asksPartitions() {
	const category = "/products/_partition/Home%23Kitchen%23Small%20Appliances"
	a.asks(category, `{"selector":{"type":"product"},"limit":1000}`, a.all(category, func(r record) bool { return r.Type == "product" }))
	a.do("POST", "/products/_index", `{"index":{"fields":["price"]},"ddoc":"price","name":"price"}`).want(200, "")
	byPrice := a.all(category, func(r record) bool { return r.Price > 10 })
	slices.SortStableFunc(byPrice, func(x, y record) int {
		return cmp.Or(cmp.Compare(y.Price, x.Price), cmp.Compare(y.ID, x.ID))
	})
	a.asks(category, `{"selector":{"price":{"$gt":10}},"sort":[{"price":"desc"}],"use_index":"price","limit":1000}`, byPrice)
	a.asks("/orders/_partition/order555", `{"selector":{"type":"orderlineitem"},"limit":100}`,
		a.all("/orders/_partition/order555", func(r record) bool { return r.Type == "orderlineitem" }))
	a.asks("/users/_partition/user00000007", `{"selector":{"type":"userdelivery","default":true}}`,
		a.all("/users/_partition/user00000007", func(r record) bool { return r.Type == "userdelivery" && r.Default }))
	a.asks("/users/_partition/user00000007", `{"selector":{"type":"userdelivery","default":"true"}}`, nil)
}

func (a *testAPI) asksEverywhere() {
	for _, index := range []string{
		`{"index":{"fields":["userid","date"],"partial_filter_selector":{"type":"order"}},"ddoc":"by-customer","name":"n","partitioned":false}`,
		`{"index":{"fields":["date"]},"ddoc":"by-time","name":"n","partitioned":false}`,
	} {
		a.do("POST", "/orders/_index", index).want(200, "")
	}
	user := a.all("/orders", func(r record) bool { return r.Type == "order" })[0].UserID
	byDate := func(x, y record) int { return cmp.Or(cmp.Compare(x.Date, y.Date), cmp.Compare(x.ID, y.ID)) }
	mine := a.all("/orders", func(r record) bool { return r.Type == "order" && r.UserID == user })
	slices.SortFunc(mine, byDate)
	a.asks("/orders", `{"selector":{"type":"order","userid":"`+user+`"},"sort":["userid","date"],"limit":1000}`, mine)
	a.asks("/orders", `{"selector":{"userid":"`+user+`","date":{"$gt":null}},"use_index":"by-customer","limit":1000}`, mine)

	dated := a.all("/orders", func(r record) bool { return r.Date != "" })
	slices.SortFunc(dated, byDate)
	slices.Reverse(dated)
	a.asks("/orders", `{"selector":{"date":{"$gt":null}},"sort":[{"date":"desc"}],"limit":50}`, dated[:50])

	a.do("POST", "/users/_index", `{"index":{"fields":["email"],"partial_filter_selector":{"active":true,"email_verified":true}},
		"ddoc":"by-mail","name":"n","partitioned":false}`).want(200, "")
	good := a.all("/users", func(r record) bool { return r.Active && r.Verified })[0]
	bad := a.all("/users", func(r record) bool { return r.Email != "" && !(r.Active && r.Verified) })[0]
	a.asks("/users", `{"selector":{"email":"`+good.Email+`","active":true,"email_verified":true}}`, []record{good})
	a.asks("/users", `{"selector":{"email":"`+bad.Email+`","active":true,"email_verified":true}}`, nil)
	a.asks("/users", `{"selector":{"email":"`+bad.Email+`"},"use_index":"by-mail"}`, nil)
}
