package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/progress"
)

// server is the smallest server that Load can speak to: databases of documents by id, and a count of requests. What is
// made by _index is kept under the request's body.
type server struct {
	databases map[string]map[string]string
	plain     map[string]bool
	created   []string
	bulks     int
	views     []string // that were asked
	failAt    int      // the bulk request that fails; 0 for none
}

func newServer() *server {
	return &server{databases: map[string]map[string]string{}, plain: map[string]bool{}}
}

var errBroken = errors.New("the connection broke")

func (s *server) do(_ context.Context, method, path string, body []byte) (int, []byte, error) {
	u, err := url.Parse(path)
	if err != nil {
		return 0, nil, err
	}
	name, rest, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	switch {
	case method == "PUT" && rest == "":
		if s.databases[name] != nil {
			return 412, []byte(`{"error":"file_exists"}`), nil
		}
		s.created = append(s.created, path)
		s.databases[name] = map[string]string{}
		s.plain[name] = u.RawQuery == ""
		return 201, []byte(`{"ok":true}`), nil
	case method == "PUT" && rest == "_security":
		s.databases[name]["_local/security"] = string(body)
		return 200, []byte(`{"ok":true}`), nil
	case method == "PUT" && strings.HasPrefix(rest, "_design/") && s.databases[name][rest] != "":
		return 409, []byte(`{"error":"conflict"}`), nil
	case method == "POST" && rest == "_index":
		s.databases[name]["_local/index "+string(body)] = "index"
		return 200, []byte(`{"result":"created"}`), nil
	case method == "GET" && rest == "":
		return 200, fmt.Appendf(nil, `{"props":{"partitioned":%t}}`, !s.plain[name]), nil
	case method == "GET" && strings.Contains(rest, "/_view/"):
		s.views = append(s.views, name+"/"+rest)
		return 200, []byte(`{"rows":[]}`), nil
	case method == "PUT":
		s.databases[name][rest] = string(body)
		return 201, []byte(`{"ok":true}`), nil
	case method == "GET":
		if d, ok := s.databases[name][rest]; ok {
			return 200, []byte(d), nil
		}
		return 404, []byte(`{"error":"not_found"}`), nil
	}
	if s.bulks++; s.bulks == s.failAt {
		return 0, nil, errBroken
	}
	return s.bulk(name, body)
}

func (s *server) bulk(name string, body []byte) (int, []byte, error) {
	var request struct{ Docs []json.RawMessage }
	if err := json.Unmarshal(body, &request); err != nil {
		return 400, []byte(err.Error()), nil
	}
	var answer []map[string]string
	for _, d := range request.Docs {
		var id struct {
			ID string `json:"_id"`
		}
		if err := json.Unmarshal(d, &id); err != nil {
			return 400, []byte(err.Error()), nil
		}
		if _, ok := s.databases[name][id.ID]; ok {
			answer = append(answer, map[string]string{"id": id.ID, "error": "conflict"})
			continue
		}
		s.databases[name][id.ID] = string(d)
		answer = append(answer, map[string]string{"id": id.ID})
	}
	out, err := json.Marshal(answer)
	return 201, out, err
}

func (s *server) fingerprint() string {
	h := sha256.New()
	for _, name := range []string{"products", "users", "orders", "readings", "fitness", "fitness-by-user", "organisations", "projects"} {
		ids := make([]string, 0, len(s.databases[name]))
		for id := range s.databases[name] {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		for _, id := range ids {
			h.Write([]byte(name + "/" + id + "=" + s.databases[name][id] + "\n"))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// generated are the databases that come from the seed; the cities come from a file and take a second each time.
func generated() []database {
	return slices.DeleteFunc(databases(), func(d database) bool { return d.name == "cities" })
}

func load(t *testing.T, s *server, size int) {
	t.Helper()
	if err := loadAll(t.Context(), s.do, size, nil, generated()); err != nil {
		t.Fatal(err)
	}
}

func TestLoadTwiceDoublesNothing(t *testing.T) {
	s := newServer()
	if err := Load(t.Context(), s.do, 50, nil); err != nil {
		t.Fatal(err)
	}
	want, bulks := s.fingerprint(), s.bulks
	if err := Load(t.Context(), s.do, 50, nil); err != nil {
		t.Fatal(err)
	}
	if got := s.fingerprint(); got != want {
		t.Error("the second load changed the data")
	}
	if s.bulks != bulks {
		t.Errorf("the second load sent %d bulk requests", s.bulks-bulks)
	}
	if len(s.databases["cities"]) != CityCount+1 {
		t.Errorf("cities has %d documents, want %d and the marker", len(s.databases["cities"]), CityCount)
	}
	if diff := cmp.Diff([]string{
		"/products?partitioned=true", "/users?partitioned=true", "/orders?partitioned=true",
		"/readings?partitioned=true", "/fitness", "/fitness-by-user?partitioned=true", "/organisations", "/projects?partitioned=true",
		"/cities?partitioned=true",
	}, s.created); diff != "" {
		t.Error(diff)
	}
}

func TestLoadGoesOnAfterAnInterruption(t *testing.T) {
	whole := newServer()
	load(t, whole, 400)
	for failAt := 1; failAt <= 8; failAt++ {
		s := newServer()
		s.failAt = failAt
		if err := loadAll(t.Context(), s.do, 400, nil, generated()); !errors.Is(err, errBroken) {
			t.Fatalf("bulk request %d failed, and Load said %v", failAt, err)
		}
		s.failAt = 0
		load(t, s, 400)
		if s.fingerprint() != whole.fingerprint() {
			t.Errorf("interrupted at bulk request %d, the data differs in the end", failAt)
		}
	}
}

func TestALargerSizeKeepsTheSmaller(t *testing.T) {
	small, large := newServer(), newServer()
	load(t, small, 60)
	load(t, large, 300)
	for name, documents := range small.databases {
		for id, d := range documents {
			if got := large.databases[name][id]; got != d && !strings.HasPrefix(id, "_local/") {
				t.Fatalf("%s/%s: size 60 has %s, size 300 has %s", name, id, d, got)
			}
		}
	}
	load(t, small, 300)
	if small.fingerprint() != large.fingerprint() {
		t.Error("growing from 60 to 300 differs from loading 300")
	}
}

// TestSeed holds the generated data down: an installation that was interrupted under one release goes on under the next.
func TestSeed(t *testing.T) {
	s := newServer()
	load(t, s, 20)
	const want = "4f3f54dfc92e7d5dcc5a6cbefe173b594b2ebf1a0feb1a0836fca94d778b1a22"
	if got := s.fingerprint(); got != want {
		t.Errorf("the demo of size 20 hashes to %s, want %s", got, want)
	}
}

func TestOrdersAddUp(t *testing.T) {
	s := newServer()
	load(t, s, 100)
	items, totals := map[string]float64{}, map[string]float64{}
	for id, text := range s.databases["orders"] {
		if strings.HasPrefix(id, "_local/") {
			continue
		}
		var d struct {
			Type     string
			Order    string `json:"orderid"`
			UserID   string `json:"userid"`
			Total    float64
			Quantity float64
			Price    float64 `json:"unitPrice"`
		}
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		switch d.Type {
		case "orderlineitem":
			items[d.Order] += d.Quantity * d.Price
		case "order":
			totals[d.Order] = d.Total
			if _, ok := s.databases["users"][d.UserID+":auth"]; !ok {
				t.Errorf("%s was placed by %s, who is not there", id, d.UserID)
			}
		}
	}
	if len(totals) != 101 {
		t.Fatalf("%d orders", len(totals))
	}
	for id, total := range totals {
		if math.Abs(total-items[id]) > 0.001 {
			t.Errorf("%s says %v, its items say %v", id, total, items[id])
		}
	}
}

func TestEachUserHasOneDefaultAddress(t *testing.T) {
	s := newServer()
	load(t, s, 100)
	defaults := map[string]int{}
	for id, text := range s.databases["users"] {
		if strings.HasPrefix(id, "_local/") {
			continue
		}
		var d struct {
			UserID  string `json:"userid"`
			Default any
		}
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		if d.Default == true {
			defaults[d.UserID]++
		} else if d.Default != nil && d.Default != false {
			t.Errorf("%s: default is %v, want a boolean", id, d.Default)
		}
	}
	if len(defaults) != userCount(100)+1 {
		t.Errorf("%d users have a default address, want %d and the articles' one", len(defaults), userCount(100))
	}
	for id, n := range defaults {
		if n != 1 {
			t.Errorf("%s has %d default addresses", id, n)
		}
	}
}

// TestArticlesDocuments holds the documents that the articles print, whatever the size; where an article has a string
// for a number or a boolean, what makes its queries work.
func TestArticlesDocuments(t *testing.T) {
	want := map[string][]string{
		"products": {"Home#Kitchen#Small Appliances:1000042", `{"type":"product","taxonomy":["Home","Kitchen","Small Appliances"],"keywords":["Salter","Scales","Weight","Digital","Kitchen"],"productid":"1000042","brand":"Salter","name":"Digital Kitchen Scales","colours":["red","green","black","blue"],"price":14.99,"delivery":0,"image":"assets/img/0gmsnghhew.jpg"}`},
		"users": {"user19952622:auth", `{"type":"user","userid":"user19952622","name":"Bob Smith","email":"bob.smith@aol.com","active":true,"email_verified":true}`,
			"user19952622:delivery1", `{"type":"userdelivery","name":"home","address":"19 Front Street, Darlington, DL5 1TY","default":true}`,
			"user19952622:delivery2", `{"type":"userdelivery","name":"work","address":"22 Central Tower, Newcastle, NE1 4JD","default":false}`},
		"orders": {"order555:order", `{"type":"order","orderid":"order555","userid":"user19952622","user":"Bob Smith","basket":["Salter - Digital Kitchen Scales","Kenwood - Stand Mixer"],"total":214.98,"date":"2019-01-28T10:44:22.000Z"}`,
			"order555:item1", `{"type":"orderlineitem","orderid":"order555","userid":"user19952622","productid":"1000042","name":"Salter - Digital Kitchen Scales","quantity":1,"unitPrice":14.99,"delivery":0}`,
			"order555:item2", `{"type":"orderlineitem","productid":"88752","name":"Kenwood - Stand Mixer","unitPrice":199.99}`,
			"order555:payment", `{"type":"orderpayment","paid":true,"provider":"PayPal","date":"2019-01-28T10:45:27.000Z","total":214.98}`,
			"order555:dispatch", `{"type":"orderdispatch","dispatched":true,"date":"2019-01-28T16:02:00.000Z","courier":"UPS"}`,
			"order555:delivery", `{"type":"orderdelivery","delivered":true,"courier":"UPS"}`},
		"readings": {"bridge-9876:device-123456-20181211T11:13:24.123456Z", `{"deviceID":"device-123456","infrastructureID":"bridge-9876","ts":"20181211T11:13:24.123456Z","reading":{"temperature":{"value":12,"unit":"c"}}}`},
		"fitness": {"exercise:223", `{"name":"Weighted Dips","description":"","isPush":true,"isPull":false,"isLegs":false,"isFavorite":false,"createdAt":0}`,
			"workout:2016-12-12-14-00-15", `{"createdAt":1481569215000}`, "workout:2016-12-11-15-07-43", `{"createdAt":1481486863000}`,
			"lift:223:2016-12-12-14-18-59", `{"workoutId":"workout:2016-12-12-14-00-15","exercise":{"_id":"exercise:223","name":"Weighted Dips","isFavorite":false,"description":""},"note":"","sets":[],"createdAt":1481570339000}`,
			"lift:223:2016-12-11-15-27-59", `{"workoutId":"workout:2016-12-11-15-07-43","createdAt":1481488079000}`},
		"fitness-by-user": {"alice:exercise:4830", `{"name":"Barbell Back Squat"}`, "bob:lift:223:2016-12-12-14-18-59", `{"workoutId":"workout:2016-12-12-14-00-15"}`},
		"organisations":   {"abc123", `{}`},
		"projects":        {"abc123:Foo Project", `{"organisation_id":"abc123","name":"Foo Project","owner":"jane","last_updated":"2018-08-02"}`},
	}
	s := newServer()
	load(t, s, 1)
	for database, list := range want {
		for pair := range slices.Chunk(list, 2) {
			var got, want map[string]any
			if err := errors.Join(json.Unmarshal([]byte(s.databases[database][pair[0]]), &got), json.Unmarshal([]byte(pair[1]), &want)); err != nil {
				t.Errorf("%s/%s: %v", database, pair[0], err)
			}
			for name, value := range want {
				if diff := cmp.Diff(value, got[name]); diff != "" {
					t.Errorf("%s/%s: %s: %s", database, pair[0], name, diff)
				}
			}
		}
	}
}

// TestAnEarlierDemo: a database whose documents an earlier release generated in another shape keeps them, and gets
// what the articles ask for beside them; one of another kind under the same name is left alone.
func TestAnEarlierDemo(t *testing.T) {
	s := newServer()
	s.databases["orders"] = map[string]string{"_local/demo": `{"_rev":"0-1","size":1000}`, "order000001:order": `{"type":"order","order_id":"order000001"}`}
	s.databases["products"], s.plain["products"] = map[string]string{"mine": `{}`}, true
	for range 2 {
		load(t, s, 2000)
		orders := s.databases["orders"]
		if orders["order000001:order"] == "" || orders["order555:order"] == "" || orders["order1:order"] != "" || orders["_design/sales-report"] == "" {
			t.Errorf("the orders became %d documents: %v", len(orders), orders)
		}
		if got := orders["_local/demo"]; got != `{"_rev":"0-1","size":1000,"samples":1}` {
			t.Errorf("the marker is %s", got)
		}
		if len(s.databases["products"]) != 1 {
			t.Errorf("somebody's database became %v", s.databases["products"])
		}
	}
	if want := []string{
		"orders/_design/sales-report/_view/by-date", "readings/_design/infrastructure-mapping/_view/by-device", "fitness/_design/lifts-by-workout/_view/lifts-by-workout",
		"fitness-by-user/_partition/alice/_design/lifts-by-workout/_view/lifts-by-workout",
	}; !slices.Equal(s.views, want) {
		t.Errorf("the views that were built: %v", s.views)
	}
}

func TestCitiesByCountry(t *testing.T) {
	counts := map[string]int{}
	for row, err := range Cities() {
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			ID string `json:"_id"`
		}
		if err := json.Unmarshal(row, &d); err != nil {
			t.Fatal(err)
		}
		country, _, _ := strings.Cut(d.ID, ":")
		counts[country]++
	}
	if len(counts) != CityPartitions || counts["US"] != 17_343 {
		t.Errorf("%d countries, %d cities in the US", len(counts), counts["US"])
	}
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	l := loader{database: database{name: "orders"}, line: progress.New(&out, time.Time{})}
	l.show(500, 1000)
	l.line.Clear()
	want := "\r\x1b[Korders    [###############...............] 500/1000\r\x1b[K"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestLoadRefuses(t *testing.T) {
	refuse := func(status int, answer string) Do {
		return func(context.Context, string, string, []byte) (int, []byte, error) { return status, []byte(answer), nil }
	}
	if err := Load(t.Context(), refuse(201, "{}"), 0, nil); err == nil {
		t.Error("size 0 was taken")
	}
	err := Load(t.Context(), refuse(401, `{"error":"unauthorized"}`), 1, nil)
	if err == nil || !strings.Contains(err.Error(), "401") || !strings.Contains(err.Error(), "products") {
		t.Errorf("a refused request gave %v", err)
	}
}

func TestHints(t *testing.T) {
	hints := Hints("http://127.0.0.1:5984/", "ada:secret")
	if len(hints) != 3 {
		t.Fatalf("%d hints", len(hints))
	}
	for _, h := range hints {
		if !strings.HasPrefix(h, "curl -u 'ada:secret' 'http://127.0.0.1:5984/") {
			t.Errorf("%s", h)
		}
	}
}
