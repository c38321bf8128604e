package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// server is the smallest server that Load can speak to: databases of documents by id, and a count of requests.
type server struct {
	databases map[string]map[string]string
	created   []string
	bulks     int
	failAt    int // the bulk request that fails; 0 for none
}

func newServer() *server { return &server{databases: map[string]map[string]string{}} }

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
		return 201, []byte(`{"ok":true}`), nil
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
	for _, name := range []string{"products", "users", "orders", "readings", "fitness"} {
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
		"/readings?partitioned=true", "/fitness", "/cities?partitioned=true",
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
	const want = "83cc466585bced21b67f9af593eb985baf8552efb5f689a56232f75419b19bca"
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
			Type   string
			Order  string `json:"order_id"`
			UserID string `json:"userid"`
			Total  float64
		}
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		switch d.Type {
		case "item":
			items[d.Order] += d.Total
		case "order":
			totals[d.Order] = d.Total
			if _, ok := s.databases["users"][d.UserID+":auth"]; !ok {
				t.Errorf("%s was placed by %s, who is not there", id, d.UserID)
			}
		}
	}
	if len(totals) != OrderCount(100) {
		t.Fatalf("%d orders, want %d", len(totals), OrderCount(100))
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
	for n := 1; n <= userCount(100); n++ {
		if defaults[userID(n)] != 1 {
			t.Errorf("%s has %d default addresses", userID(n), defaults[userID(n)])
		}
	}
}

func TestKnownDocuments(t *testing.T) {
	s := newServer()
	load(t, s, 100)
	for name, id := range map[string]string{
		"products": "Home#Kitchen#Small Appliances:HKSA00008",
		"users":    "user00001:delivery1",
		"orders":   "order000007:payment",
		"readings": "bridge-9876:device-123456-20181211T11:13:24.123456Z",
		"fitness":  "workout:2016-12-12-05-52-01",
	} {
		if _, ok := s.databases[name][id]; !ok {
			t.Errorf("%s lacks %s", name, id)
		}
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
	b := bar{out: &out, name: "orders"}
	b.show(500, 1000)
	b.show(1000, 1000)
	if err := b.end(); err != nil {
		t.Fatal(err)
	}
	want := "\rorders    [###############...............] 500/1000\rorders    [##############################] 1000/1000\n"
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
