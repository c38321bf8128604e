// Command model says what more servers over one PostgreSQL, and a slower network to it, would do: a queueing model
// whose inputs are measured. Without arguments it prints the tables of docs/scaling.md from the inputs that were
// recorded (inputs.json). With -measure it measures those anew, and with -delays what it can of what the model says:
// up to three servers on this machine, behind a proxy that makes each round trip longer.
//
// It knows nothing of how the server stores anything: it sees requests, processor time and counts of round trips.
// Begin reading at forecast, which is the model; measure.go has the measurements.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
)

//go:embed inputs.json
var recorded []byte

// recordName is where the measurements are kept.
var recordName = filepath.Join("bench", "model", "inputs.json")

func main() {
	anew := flag.Bool("measure", false, "measure the inputs, and keep them")
	delays := flag.Bool("delays", false, "measure what a slower network does, and keep it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *anew, *delays); err != nil {
		fmt.Fprintln(os.Stderr, "model:", err)
		os.Exit(1)
	}
}

// run measures what is wanted, and prints the tables.
func run(ctx context.Context, out io.Writer, anew, delays bool) error {
	in, err := read(recorded)
	if err != nil {
		return err
	}
	if anew || delays {
		if err := measure(ctx, &in, anew, delays); err != nil {
			return err
		}
		text, err := json.MarshalIndent(in, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(recordName, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	return print(out, in)
}

// read decodes recorded inputs.
func read(text []byte) (in inputs, err error) {
	err = json.Unmarshal(text, &in)
	return in, err
}
