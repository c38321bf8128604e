package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// orderWords is the index function of the text index of orders.
const orderWords = `function(doc){ index("default", doc.customer + " " + doc.status + " " + doc.type); index("total", doc.total, {facet: true}); index("date", doc.date); }`

// searchedWrites compares single writes without and beside a text index, which follows them.
func (b *bench) searchedWrites(ctx context.Context) error {
	f := figure{name: "PUT of new orders beside a text index", unit: "requests/s", goal: 0.9, ceiling: "no index"}
	for range b.repetitions {
		var rates [2]float64
		for i, indexed := range []bool{false, true} {
			var err error
			if rates[i], err = b.putsOnce(ctx, indexed); err != nil {
				return err
			}
		}
		f.add(rates[1], rates[0], 0)
	}
	b.report.figures = append(b.report.figures, f)
	return nil
}

// putsOnce returns how many new orders a second a fresh server takes in, one in a request.
func (b *bench) putsOnce(ctx context.Context, indexed bool) (rate float64, err error) {
	s, _, err := b.start(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	if _, err := ask(s.Address, "PUT", "/shop?partitioned=true", nil); err != nil {
		return 0, err
	}
	if indexed {
		fn, err := json.Marshal(orderWords)
		if err != nil {
			return 0, err
		}
		if _, err := ask(s.Address, "PUT", "/shop/_design/words", fmt.Appendf(nil, `{"options":{"partitioned":false},"indexes":{"words":{"index":%s}}}`, fn)); err != nil {
			return 0, err
		}
	}
	puts := make([][]byte, b.documents)
	for n := range puts {
		puts[n] = call("PUT", "/shop/"+orderID(n), order(n, 0, ""))
	}
	r, err := drive(load{address: s.Address, workers: connections, request: dealt(puts)})
	if err != nil || !indexed {
		return r.rate(), err
	}
	// The index followed: a search finds the last.
	_, err = ask(s.Address, "GET", "/shop/_design/words/_search/words?q=order&limit=1", nil)
	return r.rate(), err
}
