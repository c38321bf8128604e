package apitest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/golden"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestTripsOfLargeView holds the round trips of reductions of a view with so many rows that its
// nodes have three levels: sales by day, four a day, of five years.
func TestTripsOfLargeView(t *testing.T) {
	e := kvtest.NewRemote(kvtest.NewModel(kvtest.ModelOptions{}), nil)
	s := With(t, Options{Engine: kvtest.NewShared(e), Idle: true})
	s.OK("PUT", "/shop?partitioned=true", "")
	const rows, bulk = 8000, 1000
	for n := 0; n < rows; n += bulk {
		docs := make([]string, bulk)
		for i := range docs {
			order := n + i
			day := time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(order*7919%(5*365*24)) * time.Hour)
			docs[i] = fmt.Sprintf(`{"_id":"u%04d:o%08d","day":[%d,%d,%d],"total":%d.%02d}`, order%2000, order, day.Year(), day.Month(), day.Day(), order%997, order%100)
		}
		s.OK("POST", "/shop/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`)
	}
	s.OK("PUT", "/shop/_design/v", `{"options":{"partitioned":false},"views":{"sales":{"map":"function(doc){emit(doc.day,doc.total)}","reduce":"_sum"}}}`)
	var out strings.Builder
	for range 2 {
		s.OK("GET", "/shop/_design/v/_view/sales?reduce=true", "")
		s.OK("GET", "/shop/_design/v/_view/sales?group=true&limit=100&startkey=[2022]", "")
	}
	for _, query := range []string{
		"group_level=2&startkey=[2023]&endkey=[2023,{}]",
		"group=true&limit=100&startkey=[2021,1]",
		"group=true&limit=100&startkey=[2022,2]",
		"group=true&limit=100&startkey=[2023,7]",
		"group=true&limit=100&startkey=[2024,11]",
		"startkey=[2022]&endkey=[2024,{}]",
		"group_level=1",
	} {
		s.trips(&out, e, "shop", tripsRequest{query, "GET", "/DB/_design/v/_view/sales?" + query, ""})
	}
	golden.File(t, "testdata/tripsoflargeview.txt", out.String())
}
