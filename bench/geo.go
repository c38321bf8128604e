package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/sectional/sectional/internal/demo"
	"github.com/sectional/sectional/internal/testkit/process"
)

// place is where a city lies.
type place struct{ lon, lat float64 }

// geo measures geo queries over the cities of the demo: about a hundred round a place, and the ten nearest to one.
func (b *bench) geo(ctx context.Context) (err error) {
	s, _, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	places, err := loadCities(s)
	if err != nil {
		return err
	}
	design := []byte(`{"options":{"partitioned":false},"st_indexes":{"places":{"index":"function(doc){ st_index(doc.geometry) }"}}}`)
	if _, err := ask(s.Address, "PUT", "/cities/_design/geo", design); err != nil {
		return err
	}
	const index = "/cities/_design/geo/_geo/places?"
	if _, err := ask(s.Address, "GET", index+"bbox=0,0,1,1", nil); err != nil { // the index is built
		return err
	}
	var round, near [][]byte
	for _, n := range rand.New(rand.NewPCG(21, 22)).Perm(len(places))[:1000] {
		p := places[n]
		round = append(round, call("GET", fmt.Sprintf("%slat=%v&lon=%v&radius=35000&limit=200", index, p.lat, p.lon), nil))
		near = append(near, call("GET", fmt.Sprintf("%slat=%v&lon=%v&nearest=true&limit=10", index, p.lat, p.lon), nil))
	}
	for _, w := range []workload{
		{figure: figure{name: "geo: about 100 of 171,075 cities round a place", unit: "requests/s", least: 1000},
			requests: func(int) func(int, int) []byte { return around(round) }},
		{figure: figure{name: "geo: the ten nearest of 171,075 cities", unit: "requests/s", least: 1000},
			requests: func(int) func(int, int) []byte { return around(near) }},
	} {
		if err := b.alone(ctx, s, w); err != nil {
			return err
		}
	}
	p := places[0]
	for _, q := range []struct{ name, query string }{
		{"geo: cities round a place, one client", "radius=35000&limit=200"}, {"geo: the ten nearest cities, one client", "nearest=true&limit=10"},
	} {
		ms, err := b.latency(s, fmt.Sprintf("%slat=%v&lon=%v&%s", index, p.lat, p.lon, q.query))
		if err != nil {
			return err
		}
		b.report.resources = append(b.report.resources, resource{q.name, ms, "ms", 1})
	}
	return nil
}

// loadCities stores the cities of the demo, and returns where those of two countries lie.
func loadCities(s *process.Server) (places []place, err error) {
	if _, err := ask(s.Address, "PUT", "/cities?partitioned=true", nil); err != nil {
		return nil, err
	}
	var docs [][]byte
	send := func() error {
		body := append(append([]byte(`{"docs":[`), bytes.Join(docs, []byte(","))...), "]}"...)
		_, err := ask(s.Address, "POST", "/cities/_bulk_docs", body)
		docs = docs[:0]
		return err
	}
	for text, err := range demo.Cities() {
		if err != nil {
			return nil, err
		}
		var city struct {
			Country  string
			Geometry struct{ Coordinates [2]float64 }
		}
		if err := json.Unmarshal(text, &city); err != nil {
			return nil, err
		}
		if city.Country == "DE" || city.Country == "FR" {
			places = append(places, place{city.Geometry.Coordinates[0], city.Geometry.Coordinates[1]})
		}
		if docs = append(docs, text); len(docs) == 2000 {
			if err := send(); err != nil {
				return nil, err
			}
		}
	}
	return places, send()
}
