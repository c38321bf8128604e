package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// patchClients is how many clients write one document at once.
const patchClients = 64

// patches has many clients count in one document, beside as many that write a document of their own each time.
func (b *bench) patches(ctx context.Context) (err error) {
	f := figure{name: "PATCH of one document by 64 clients", unit: "requests/s", goal: 0.7, ceiling: "PUT of new documents", least: 2000}
	s, _, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	if _, err := ask(s.Address, "PUT", "/bench?partitioned=true", nil); err != nil {
		return err
	}
	if _, err := ask(s.Address, "PUT", "/bench/p:counter", document(0, "")); err != nil {
		return err
	}
	patch := call("PATCH", "/bench/p:counter", []byte(`{"$inc":{"hits":1}}`))
	counted := 0
	for repetition := range b.repetitions {
		l := load{address: s.Address, workers: patchClients, limit: b.duration, request: func(int, int) []byte { return patch }}
		ours, cpu, err := b.metered(ctx, s, func() (result, error) { return drive(l) })
		if err != nil {
			return err
		}
		counted += int(ours.operations)
		l.request = func(worker, turn int) []byte {
			return call("PUT", fmt.Sprintf("/bench/new%d-%d:%08d", repetition, worker, turn), document(turn, ""))
		}
		theirs, err := drive(l)
		if err != nil {
			return err
		}
		f.add(ours.rate(), theirs.rate(), cpu/float64(ours.operations))
	}
	b.report.figures = append(b.report.figures, f)
	return b.counts(s.Address, counted)
}

// counts looks whether every patch counts once.
func (b *bench) counts(address string, patches int) error {
	body, err := ask(address, "GET", "/bench/p:counter", nil)
	if err != nil {
		return err
	}
	var counter struct{ Hits int }
	if err = json.Unmarshal(body, &counter); err == nil && counter.Hits != patches {
		err = fmt.Errorf("%d patches count %d", patches, counter.Hits)
	}
	return err
}
