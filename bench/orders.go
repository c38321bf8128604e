package main

import (
	"encoding/json"
	"fmt"
	"time"
)

// The queries over indexes are measured on orders: 50,000 of about 800 bytes in 2,000 partitions, as a shop has them.

// orderPartitions is how many partitions the orders are in.
const orderPartitions = 2000

// orderID names the n-th order; its partition is the customer.
func orderID(n int) string { return fmt.Sprintf("u%05d:o%08d", n%orderPartitions, n) }

// orderDay is the day of the n-th order: five years, evenly.
func orderDay(n int) time.Time {
	return time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n*7919%(5*365*24)) * time.Hour)
}

// order makes the n-th order. version is in a member that no index has.
func order(n, version int, prefix string) []byte {
	b := append(make([]byte, 0, 1000), '{')
	b = append(b, prefix...)
	b = fmt.Appendf(b, `"type":"order","customer":"user%05d","status":%q,"date":%q,"total":%d.%02d,"version":%d,"items":[`,
		n%orderPartitions, []string{"new", "paid", "sent", "back"}[n%4], orderDay(n).Format("2006-01-02T15:04:05.000Z"), n%997, n%100, version)
	for i := range 5 {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"product":"p%06d","name":"a thing that somebody ordered, %d","quantity":%d,"price":%d.99}`, (n*7+i*13)%100_000, n*31%10_007, 1+(n+i)%3, 5+(n*3+i)%200)
	}
	return fmt.Appendf(b, `],"address":{"street":"%d Main Street","city":"Springfield","zip":"%05d"},"note":"leave it at the door, please"}`, n%500, n%99_999)
}

func orderWithID(n int) []byte { return order(n, 0, fmt.Sprintf(`"_id":%q,`, orderID(n))) }

// salesMap is the view of sales by day, of the kind that is compiled.
const salesMap = `function(doc){ if(doc.type == "order"){ var date = new Date(doc.date); emit([date.getFullYear(), date.getMonth()+1, date.getDate()], doc.total); } }`

// interpretedMap emits the same by means that are not compiled.
const interpretedMap = `function(doc){ try { if(doc.type == "order"){ var m = /^(\d+)-(\d+)-(\d+)T/.exec(doc.date); emit([+m[1], +m[2], +m[3]], doc.total); } } catch (e) { throw e; } }`

// design makes the body of a design document with one view.
func design(name, source, reduce string) []byte {
	body, err := json.Marshal(map[string]any{"_id": "_design/" + name,
		"views":   map[string]any{name: map[string]string{"map": source, "reduce": reduce}},
		"options": map[string]bool{"partitioned": false}})
	if err != nil {
		panic(err)
	}
	return body
}

// mangoIndex makes the body of a request for an index.
func mangoIndex(name string, partitioned bool, fields ...string) []byte {
	body, err := json.Marshal(map[string]any{"index": map[string]any{"fields": fields}, "ddoc": name, "name": name, "partitioned": partitioned})
	if err != nil {
		panic(err)
	}
	return body
}
