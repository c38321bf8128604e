package compiled

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// order is a document of the benchmarks, with as many bytes of ballast as
// asked for.
func order(ballast int) []byte {
	return fmt.Appendf(nil, `{"_id":"user1:order-00001","_rev":"1-967a00dff5e02add41819138abb3284d","type":"order","user":"user1",`+
		`"date":"2018-05-17T12:34:56.789Z","total":129.95,"status":"shipped","note":"%s"}`, strings.Repeat("lorem ipsum ", ballast/12))
}

func benchmarkMap(b *testing.B, source string, doc []byte) {
	m, why := Compile(source)
	if m == nil {
		b.Fatal(why)
	}
	machine := m.NewMachine()
	var rows []Row
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		var err error
		if rows, err = machine.Run(context.Background(), doc, rows); err != nil || len(rows) == 0 {
			b.Fatal(err)
		}
		if i%200 == 199 {
			rows = rows[:0]
			machine.Reset()
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "documents/s")
}

func BenchmarkMap(b *testing.B) {
	for _, one := range []struct{ name, source string }{
		{"emit", `function(doc){ emit(doc.date, null) }`},
		{"sales", `function(doc){ if(doc.type == "order"){ var date = new Date(doc.date); emit([date.getFullYear(), date.getMonth()+1, date.getDate()], doc.total); } }`},
		{"compound", `function(doc){ if (doc.type === "order") emit([doc.user, doc.date], {total: doc.total, status: doc.status}) }`},
		{"document", `function(doc){ emit(doc._id, doc) }`},
		{"words", `function(doc){ doc.date.split("-").forEach(function(w){ emit(w.toLowerCase(), 1) }) }`},
	} {
		b.Run(one.name+"/small", func(b *testing.B) { benchmarkMap(b, one.source, order(0)) })
		b.Run(one.name+"/800", func(b *testing.B) { benchmarkMap(b, one.source, order(600)) })
	}
}
