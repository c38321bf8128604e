package jsonscan

import (
	"strings"
	"testing"
)

var order = []byte(`{"type":"order","status":"sent","total":149.75,"customer":"ada.lovelace@example.com","date":"2018-05-17T12:34:56.789Z","address":{"street":"12 High Street","town":"London","code":"N1 9GU"},"items":[{"sku":"AB-1","quantity":2,"price":9.99},{"sku":"CD-2","quantity":1,"price":129.95}],"note":"` + strings.Repeat("lorem ipsum ", 40) + `","paid":true}`)

func BenchmarkMembers(b *testing.B) {
	for b.Loop() {
		for m := MembersOf(order); ; {
			if _, _, ok := m.Next(); !ok {
				break
			}
		}
	}
}

func BenchmarkEnd(b *testing.B) {
	for b.Loop() {
		End(order, 0)
	}
}
