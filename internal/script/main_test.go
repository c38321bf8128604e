package script

import (
	"fmt"
	"os"
	"testing"
)

// TestMain lets the test binary be a child of itself.
func TestMain(m *testing.M) {
	ServeIfChild()
	servePanickingChild()
	utc()
	os.Exit(m.Run())
}

func newPool(t testing.TB, o Options) *Pool {
	t.Helper()
	o.Overhead = overhead
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// mapping is a realm of map functions.
func mapping(functions ...string) Realm {
	return Realm{Database: "db1", Design: "_design/d", Version: fmt.Sprint(len(functions), functions), Document: []byte(`{}`), Functions: functions}
}

// design is a realm of a design document.
func design(document string) Realm {
	return Realm{Database: "db1", Design: "_design/d", Version: document, Document: []byte(document)}
}

func texts(docs ...string) [][]byte {
	out := make([][]byte, len(docs))
	for i, d := range docs {
		out[i] = []byte(d)
	}
	return out
}

// rowsOf runs a map function over one document and writes its rows.
func rowsOf(t testing.TB, p *Pool, realm Realm, doc string) string {
	t.Helper()
	results, err := p.Map(t.Context(), realm, texts(doc))
	if err != nil {
		t.Fatal(err)
	}
	return written(results[0][0])
}

func written(m Mapped) string {
	if m.Err != nil {
		return "error " + m.Err.Error()
	}
	s := ""
	for _, r := range m.Rows {
		s += string(r.Key) + " " + string(r.Value) + "\n"
	}
	return s
}

// sales is the view of the orders by day.
const sales = `function(doc){ if(doc.type == "order"){ var date = new Date(doc.date); emit([date.getFullYear(), date.getMonth()+1, date.getDate()], doc.total); } }`
