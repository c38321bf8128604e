package couchapi_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// BenchmarkView asks the sales view of 50,000 orders, without the network.
func BenchmarkView(b *testing.B) {
	a := newTestAPI(b)
	a.do("PUT", "/db", "").want(201, "")
	day := time.Date(2016, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := 0; i < 50_000; i += 5000 {
		var docs []string
		for j := i; j < i+5000; j++ {
			docs = append(docs, fmt.Sprintf(`{"_id":"order%05d","type":"order","date":%q,"total":%d}`, j,
				day.Add(time.Duration(j)*30*time.Minute).Format(time.RFC3339), j%1000))
		}
		a.do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).want(201, "")
	}
	a.do("PUT", "/db/_design/d", viewDesign(map[string][2]string{"sales": {
		`function(doc){ if(doc.type == "order"){ var date = new Date(doc.date); emit([date.getFullYear(), date.getMonth()+1, date.getDate()], doc.total); } }`, "_sum",
	}})).want(201, "")
	a.do("GET", "/db/_design/d/_view/sales", "").want(200, "")
	for name, query := range map[string]string{
		"year by month": "group_level=2&startkey=[2017]&endkey=[2017,{}]",
		"range":         "startkey=[2016,1,5]&endkey=[2018,11,9]",
		"25 rows":       "reduce=false&limit=25&startkey=[2017,5]",
	} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest("GET", "/db/_design/d/_view/sales?"+query, nil)
			r.SetBasicAuth("adm", "pass")
			for b.Loop() {
				w := httptest.NewRecorder()
				a.ServeHTTP(w, r)
				if w.Code != 200 {
					b.Fatal(w.Body)
				}
			}
		})
	}
}
