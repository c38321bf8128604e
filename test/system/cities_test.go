package system

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/demo"
	"github.com/sectional/sectional/internal/testkit/process"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// TestCities loads every city of the world, counts them by country, each country being a partition, and asks for them
// by words and by where they are.
func TestCities(t *testing.T) {
	testrun.Long(t)
	var rows [][]byte
	want := map[string]int{}
	for row, err := range demo.Cities() {
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
		want[country]++
		rows = append(rows, row)
	}
	if len(rows) != demo.CityCount || len(want) != demo.CityPartitions || want["US"] != 17_343 {
		t.Fatalf("the data has %d cities in %d countries, %d in the US", len(rows), len(want), want["US"])
	}
	s := process.Start(t, process.Options{})
	c := ask(s)
	c.must(t, 201, "PUT", "/cities?partitioned=true", "", nil)
	bulks := slices.Collect(slices.Chunk(rows, 1000))
	loadBulks(t, c, "/cities", len(bulks), func(n int) []byte {
		return slices.Concat([]byte(`{"docs":[`), bytes.Join(bulks[n], []byte{','}), []byte(`]}`))
	})
	var info struct {
		Count int `json:"doc_count"`
	}
	c.must(t, 200, "GET", "/cities", "", &info)
	if info.Count != demo.CityCount {
		t.Errorf("the database counts %d", info.Count)
	}
	for country, count := range want {
		c.must(t, 200, "GET", "/cities/_partition/"+url.PathEscape(country), "", &info)
		if info.Count != count {
			t.Errorf("%s counts %d, want %d", country, info.Count, count)
		}
	}
	var list struct {
		Total int `json:"total_rows"`
		Rows  []struct{ ID string }
	}
	c.must(t, 200, "GET", "/cities/_partition/US/_all_docs", "", &list)
	if list.Total != want["US"] || len(list.Rows) != want["US"] {
		t.Errorf("the US lists %d rows of %d", len(list.Rows), list.Total)
	}
	if got := listPartitions(t, c, "/cities"); len(got) != demo.CityPartitions {
		t.Errorf("%d partitions are listed", len(got))
	}
	askCities(t, c, rows)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
}

// listPartitions reads the whole list of partitions, page by page.
func listPartitions(t *testing.T, c *client, database string) (names []string) {
	t.Helper()
	for bookmark := ""; ; {
		var page struct {
			Rows     []struct{ Partition string }
			Bookmark string
		}
		c.must(t, 200, "GET", fmt.Sprintf("%s/_partitions?limit=100&bookmark=%s", database, url.QueryEscape(bookmark)), "", &page)
		for _, p := range page.Rows {
			names = append(names, p.Partition)
		}
		if bookmark = page.Bookmark; bookmark == "" || len(names) > 2*demo.CityPartitions {
			return names
		}
	}
}
