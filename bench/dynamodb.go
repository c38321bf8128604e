package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// What AWS's SDKs see: signed requests of the DynamoDB API, with dynalite and the bare handler in turns.

// queried is how many items a partition has that a Query asks for; customers is how many items transactions count in.
const (
	queried   = 25
	customers = 1000
)

const itemTable = `{"TableName":"bench","BillingMode":"PAY_PER_REQUEST",
	"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}],
	"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]}`

// item is an item of 1 KB.
func item(partition, sort string, n int) string {
	return fmt.Sprintf(`{"pk":{"S":%q},"sk":{"S":%q},"number":{"N":"%d"},"price":{"N":"%d.%02d"},"open":{"BOOL":%t},"title":{"S":"Order number %d"},`+
		`"tags":{"SS":["new","parcel","t%d"]},"address":{"M":{"street":{"S":"%d Long Street"},"city":{"S":"Wiesbaden"},"zip":{"S":"%05d"}}},`+
		`"lines":{"L":[{"N":"%d"},{"S":"two boxes"}]},"text":{"S":"%s"}}`,
		partition, sort, n, n%1000, n%100, n%2 == 0, n, n%17, n, n%100_000, n%7, strings.Repeat("lorem ipsum dolor sit amet ", 28))
}

// stored is the n-th item that is there before anything is measured, and its key.
func stored(n int) string { return item(storedPartition(n/queried), fmt.Sprintf("%04d", n%queried), n) }

func storedPartition(n int) string { return fmt.Sprintf("p%06d", n) }

func key(partition, sort string) string {
	return fmt.Sprintf(`{"pk":{"S":%q},"sk":{"S":%q}}`, partition, sort)
}

// dynamo is the servers of this part.
type dynamo struct {
	*bench
	signer
	server   *process.Server
	address  string // of the server's DynamoDB API
	dynalite string // "" where it could not be installed
}

// dynamodb measures the DynamoDB API.
func (b *bench) dynamodb(ctx context.Context) (err error) {
	d := &dynamo{bench: b}
	if d.address, err = process.FreeAddress(); err != nil {
		return err
	}
	data, err := os.MkdirTemp(b.dir, "data")
	if err != nil {
		return err
	}
	d.server, err = process.Launch(ctx, process.Options{Binary: process.Binary(), Dir: data, Args: []string{"--dynamodb", d.address}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.server.Kill()) }()
	if d.signer, err = accessKey(d.server); err != nil {
		return err
	}
	dynalite, stop, err := b.startDynalite(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	d.dynalite = dynalite
	if err := d.fill(); err != nil {
		return err
	}
	return d.measure(ctx)
}

// fill makes the table on both servers, with the items to read.
func (d *dynamo) fill() error {
	for _, address := range []string{d.address, d.dynalite} {
		if address == "" {
			continue
		}
		if _, err := d.ask(address, "CreateTable", itemTable); err != nil {
			return err
		}
		if err := d.awaitTable(address); err != nil {
			return err
		}
		l := load{address: address, workers: connections, request: dealt(d.batches())}
		if _, err := drive(l); err != nil {
			return fmt.Errorf("filling the table: %w", err)
		}
	}
	return nil
}

// batches are the requests that store the items to read, and the customers of the transactions.
func (d *dynamo) batches() [][]byte {
	var requests [][]byte
	var puts []string
	for n := range d.items() + customers {
		text := stored(n)
		if n >= d.items() {
			text = fmt.Sprintf(`{"pk":{"S":"customer%d"},"sk":{"S":"count"},"orders":{"N":"0"}}`, n-d.items())
		}
		puts = append(puts, `{"PutRequest":{"Item":`+text+`}}`)
		if len(puts) == 25 {
			requests = append(requests, d.call("BatchWriteItem", []byte(`{"RequestItems":{"bench":[`+strings.Join(puts, ",")+`]}}`)))
			puts = puts[:0]
		}
	}
	return requests
}

// items is how many items there are to read.
func (d *dynamo) items() int { return min(d.documents, 10_000) }

// awaitTable returns when the table can be used.
func (d *dynamo) awaitTable(address string) error {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		answer, err := d.ask(address, "DescribeTable", `{"TableName":"bench"}`)
		if err != nil {
			return err
		}
		if bytes.Contains(answer, []byte(`"ACTIVE"`)) {
			return nil
		}
	}
	return fmt.Errorf("the table at %s does not become active", address)
}

// ask makes one request outside a measurement.
func (d *dynamo) ask(address, operation, body string) ([]byte, error) {
	c, err := dial(address)
	if err != nil {
		return nil, err
	}
	var answer bytes.Buffer
	status, err := c.roundTrip(d.call(operation, []byte(body)), &answer)
	err = errors.Join(err, c.connection.Close())
	if err == nil && status != 200 {
		err = fmt.Errorf("%s answered %d: %.300s", operation, status, answer.Bytes())
	}
	return answer.Bytes(), err
}

// measure measures each operation.
func (d *dynamo) measure(ctx context.Context) error {
	for _, w := range []dynamoWorkload{d.putItems(), d.getItems(), d.queries(), d.transactions()} {
		if err := d.inTurns(ctx, w); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return d.hotItem(ctx)
}

// dynamoWorkload is a measurement of one operation.
type dynamoWorkload struct {
	name     string
	bare     float64 // the least ratio to the bare handler; 0: not measured beside it
	dynalite float64 // the least ratio to dynalite; 0: not measured beside it
	least    float64 // the least rate; 0 for none
	requests func(repetition int) func(worker, turn int) []byte
	sample   []byte // the request whose answer the bare handler repeats
}

// inTurns measures ours, dynalite and the bare handler in turns.
func (d *dynamo) inTurns(ctx context.Context, w dynamoWorkload) (err error) {
	var bare string
	if w.bare > 0 {
		answer, err := record(d.address, w.sample)
		if err != nil {
			return err
		}
		address, stop, err := startBare(ctx, d.dir, answer)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		bare = address
	}
	beside := []struct {
		address string
		figure  figure
	}{
		{bare, figure{name: w.name, unit: "requests/s", ceiling: "bare handler", goal: w.bare}},
		{d.dynalite, figure{name: w.name, unit: "requests/s", ceiling: "dynalite", goal: w.dynalite}},
		{"", figure{name: w.name, unit: "requests/s", least: w.least}},
	}
	for repetition := range d.repetitions {
		l := load{address: d.address, workers: connections, limit: d.duration, request: w.requests(repetition)}
		ours, cpu, err := d.metered(ctx, d.server, func() (result, error) { return drive(l) })
		if err != nil {
			return err
		}
		for i := range beside {
			f := &beside[i]
			theirs := result{elapsed: 1}
			if l.address = f.address; f.figure.goal > 0 && l.address != "" {
				if theirs, err = drive(l); err != nil {
					return fmt.Errorf("%s: %w", f.figure.ceiling, err)
				}
			}
			f.figure.add(ours.rate(), theirs.rate(), cpu/float64(ours.operations))
		}
	}
	for _, f := range beside {
		if len(f.figure.ratios) > 0 || f.figure.least > 0 {
			d.report.figures = append(d.report.figures, f.figure)
		}
	}
	return nil
}

// putItems stores items that are new in each repetition.
func (d *dynamo) putItems() dynamoWorkload {
	put := func(repetition, n int) []byte {
		text := item(fmt.Sprintf("new%d-%d", repetition, n%1000), fmt.Sprintf("%08d", n), n)
		return d.call("PutItem", []byte(`{"TableName":"bench","Item":`+text+`}`))
	}
	return dynamoWorkload{name: "PutItem of 1 KB, durable", bare: 0.4, dynalite: 10, sample: put(-1, 0), requests: d.anew(20_000, put)}
}

// anew makes the requests of each repetition, as many as are enough at a rate.
func (d *dynamo) anew(rate float64, request func(repetition, n int) []byte) func(int) func(int, int) []byte {
	return func(repetition int) func(int, int) []byte {
		requests := make([][]byte, int(d.duration.Seconds()*rate))
		for n := range requests {
			requests[n] = request(repetition, n)
		}
		return dealt(requests)
	}
}

// again makes the same requests for each repetition, with signatures of its time.
func again(count int, request func(n int) []byte) func(int) func(int, int) []byte {
	return func(repetition int) func(int, int) []byte {
		requests := make([][]byte, 0, count)
		for _, n := range rand.New(rand.NewPCG(7, uint64(repetition))).Perm(count) {
			requests = append(requests, request(n))
		}
		return around(requests)
	}
}

func (d *dynamo) getItems() dynamoWorkload {
	get := func(n int) []byte {
		return d.call("GetItem", []byte(`{"TableName":"bench","Key":`+key(storedPartition(n/queried), fmt.Sprintf("%04d", n%queried))+`}`))
	}
	return dynamoWorkload{name: "GetItem of 1 KB", bare: 0.4, dynalite: 10, sample: get(0), requests: again(d.items(), get)}
}

func (d *dynamo) queries() dynamoWorkload {
	query := func(n int) []byte {
		return d.call("Query", fmt.Appendf(nil, `{"TableName":"bench","KeyConditionExpression":"#p = :p","ExpressionAttributeNames":{"#p":"pk"},"ExpressionAttributeValues":{":p":{"S":%q}}}`, storedPartition(n)))
	}
	return dynamoWorkload{name: fmt.Sprintf("Query of %d items of 1 KB", queried), dynalite: 10, requests: again(d.items()/queried, query)}
}

// transactions each store three new items and count in a fourth, with the token that SDKs make.
func (d *dynamo) transactions() dynamoWorkload {
	transaction := func(repetition, n int) []byte {
		var puts strings.Builder
		for line := range 3 {
			text := item(fmt.Sprintf("order%d-%d", repetition, n), fmt.Sprint(line), n)
			fmt.Fprintf(&puts, `{"Put":{"TableName":"bench","Item":%s,"ConditionExpression":"attribute_not_exists(pk)"}},`, text)
		}
		return d.call("TransactWriteItems", fmt.Appendf(nil, `{"ClientRequestToken":"%08d-%04d-4000-8000-000000000000","TransactItems":[%s`+
			`{"Update":{"TableName":"bench","Key":%s,"UpdateExpression":"SET orders = orders + :one","ExpressionAttributeValues":{":one":{"N":"1"}}}}]}`,
			n, repetition, puts.String(), key(fmt.Sprint("customer", n%customers), "count")))
	}
	return dynamoWorkload{name: "TransactWriteItems of 4 items, durable", least: 2000, requests: d.anew(8000, transaction)}
}

// hotItem has all connections add to one item, under a condition. Every addition that was acknowledged must be there.
func (d *dynamo) hotItem(ctx context.Context) error {
	f := figure{name: "UpdateItem of one hot item under a condition, durable", unit: "requests/s", least: 2000}
	if _, err := d.ask(d.address, "PutItem", `{"TableName":"bench","Item":{"pk":{"S":"hot"},"sk":{"S":"count"},"n":{"N":"0"},"state":{"S":"open"}}}`); err != nil {
		return err
	}
	add := `{"TableName":"bench","Key":` + key("hot", "count") + `,"UpdateExpression":"SET #n = #n + :one","ConditionExpression":"#s = :open AND #n >= :zero",` +
		`"ExpressionAttributeNames":{"#n":"n","#s":"state"},"ExpressionAttributeValues":{":one":{"N":"1"},":zero":{"N":"0"},":open":{"S":"open"}},"ReturnValues":"UPDATED_NEW"}`
	total := int64(0)
	for range d.repetitions {
		request := d.call("UpdateItem", []byte(add))
		l := load{address: d.address, workers: connections, limit: d.duration, request: func(int, int) []byte { return request }}
		ours, cpu, err := d.metered(ctx, d.server, func() (result, error) { return drive(l) })
		if err != nil {
			return err
		}
		total += ours.operations
		f.add(ours.rate(), 0, cpu/float64(ours.operations))
	}
	d.report.figures = append(d.report.figures, f)
	return d.checkCount(total)
}

// checkCount is an error if the hot item counts anything else than what was acknowledged.
func (d *dynamo) checkCount(want int64) error {
	answer, err := d.ask(d.address, "GetItem", `{"TableName":"bench","Key":`+key("hot", "count")+`}`)
	if err != nil {
		return err
	}
	var got struct {
		Item struct {
			N struct {
				N int64 `json:",string"`
			}
		}
	}
	if err := json.NewDecoder(bytes.NewReader(answer)).Decode(&got); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if got.Item.N.N != want {
		return fmt.Errorf("the hot item counts %d, and %d additions were acknowledged", got.Item.N.N, want)
	}
	return nil
}
