// Command growth holds that work grows as its input does. It sends inputs of one, two and four times a size to a server in
// this process, counts what the server works for each, and says where twice the input is more than two and a half times
// the work. It owns the table of inputs: bodies of every operation that docs/openapi.json and the DynamoDB API have, and the
// languages and headers that requests may hold, and files that commands read. An operation that takes a body and is not in the table is a failure.
//
// Work is counted and not timed. Any build counts the bytes that are allocated, which shows copies. One that is run with
//
//	GOCOVERDIR=/tmp go run -cover -covermode=atomic -coverpkg=./internal/...,./test/growth,slices ./test/growth
//
// counts executed blocks of statements too, which shows comparisons, and sends more. An argument is a part of the names of
// those inputs that are sent. Begin reading at run.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/sectional/sectional/embed"
)

func main() {
	only := strings.Join(os.Args[1:], " ")
	failures, err := run(context.Background(), os.Stdout, func(name string) bool { return strings.Contains(name, only) })
	if err != nil {
		failures = append(failures, err.Error())
	}
	for _, f := range failures {
		fmt.Println("FAILED:", f)
	}
	if len(failures) > 0 {
		os.Exit(1)
	}
}

// input is a family of requests of any size.
type input struct {
	name string
	n    int // elements of the smallest
	make func(n int) request
}

// request is one of them.
type request struct {
	method, path string
	header       []string // names and values in turn
	body         string
	at           string                  // the server's URL, where it is not that of CouchDB's API
	read         func(text string) error // reads the body in the place of a server
}

// size is how many bytes of it the server reads.
func (r request) size() int { return len(r.path) + len(strings.Join(r.header, "")) + len(r.body) }

// run sends all inputs whose names are wanted, and returns where work grows faster. It tells out what each input costs.
func run(ctx context.Context, out io.Writer, wanted func(name string) bool) (failures []string, err error) {
	s, err := embed.Start(ctx, embed.Options{User: "admin", Password: "growth", DynamoDB: "127.0.0.1:0", Settings: map[string]map[string]string{
		"chttpd": {"authentication_handlers": "{chttpd_auth, jwt_authentication_handler}, {chttpd_auth, cookie_authentication_handler}, {chttpd_auth, default_authentication_handler}"},
	}})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	c := &client{url: s.URL}
	if blocks, err := c.counts(); err != nil {
		return nil, err
	} else if blocks { // else copies alone are counted, which the samples show
		c.shapes = slices.Sorted(maps.Keys(shapes))
	}
	inputs, failures, err := bodies(c)
	if err != nil {
		return nil, err
	}
	actions, missing, err := dynamo(c)
	if err != nil {
		return nil, err
	}
	failures = append(failures, missing...)
	others, err := texts(c)
	if err != nil {
		return nil, err
	}
	for _, in := range slices.Concat(inputs, actions, others, signed(s.DynamoDB), files()) {
		if !wanted(in.name) {
			continue
		}
		failed, err := c.measure(out, in)
		if err != nil {
			return failures, fmt.Errorf("%s: %w", in.name, err)
		}
		failures = append(failures, failed...)
	}
	return failures, nil
}
