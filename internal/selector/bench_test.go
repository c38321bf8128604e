package selector

import (
	"fmt"
	"strings"
	"testing"
)

// benchDoc is an order of about 800 bytes.
func benchDoc() *Doc {
	var items []string
	for i := range 5 {
		items = append(items, fmt.Sprintf(`{"sku":"Home#Kitchen:%06d","title":"A kettle of steel, 1.7 l","quantity":%d,"price":%d.95}`, i*7919, i+1, 19+i))
	}
	body := fmt.Sprintf(`{"type":"order","customer":"ada.lovelace@example.com","date":"2018-12-11T11:13:24.123456Z","items":[%s],`+
		`"address":{"street":"12 St James's Square","town":"London","post":"SW1Y 4JH","country":"gb"},"status":"sent","paid":true,"note":"%s","total":149.75}`,
		strings.Join(items, ","), strings.Repeat("leave it with the neighbours ", 4))
	return &Doc{ID: "order-2018-12-11:149", Rev: "3-917fa2381192822767f010b95b45325b", Body: []byte(body)}
}

func BenchmarkMatch(b *testing.B) {
	d := benchDoc()
	b.Logf("%d bytes", len(d.Body))
	for _, sel := range []string{
		`{"total":149.75}`,
		`{"total":{"$gt":100,"$lte":200},"status":"sent"}`,
		`{"type":"order","status":{"$in":["sent","open","held"]},"address.town":"London"}`,
		`{"customer":{"$gte":"ada","$lt":"b"}}`,
		`{"items":{"$elemMatch":{"quantity":{"$gt":4}}}}`,
		`{"missing":{"$exists":true}}`,
		`{"_id":{"$gt":"order-2018"}}`,
		`{"customer":{"$regex":"^ada\\..*@example\\.com$"}}`,
		`{"address.town":"Zürich"}`,
	} {
		s, err := Parse([]byte(sel))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(sel, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(d.Body)))
			budget := NewBudget(b.Context(), 0)
			for b.Loop() {
				if _, err := s.Match(d, budget); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkProject(b *testing.B) {
	d := benchDoc()
	f, err := ParseFields([]byte(`["_id","total","address.town"]`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		f.Project(d)
	}
}
