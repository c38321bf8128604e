// Command three is `sectional serve` made of three servers over one PostgreSQL behind a balancer, for tests that start
// the server by its binary: it takes the place of the binary. The variables THREE_BINARY (the server's binary) and
// THREE_POSTGRES (the URL of a cluster) say what to run. All other commands are the binary's own. Begin reading at serve.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/sectional/sectional/internal/testkit/pgtest"
	"github.com/sectional/sectional/test/servers"
)

func main() {
	// The servers end with the thread that starts them; a goroutine that has its thread for itself keeps it to the end.
	runtime.LockOSThread()
	binary, command := os.Getenv("THREE_BINARY"), ""
	if len(os.Args) > 1 {
		command = os.Args[1]
	}
	var err error
	switch {
	case command == "serve":
		err = serve(binary, os.Args[2:])
	default:
		err = syscall.Exec(binary, append([]string{binary}, os.Args[1:]...), os.Environ())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options takes the arguments apart that are for one server alone.
func options(arguments []string) (o servers.Options) {
	for i := 0; i < len(arguments); i++ {
		own := map[string]*string{"--data": &o.Dir, "--listen": &o.Listen, "--dynamodb": &o.Dynamo}[arguments[i]]
		if own == nil || i+1 == len(arguments) {
			o.Args = append(o.Args, arguments[i])
			continue
		}
		i++
		*own = arguments[i]
	}
	return o
}

// serve runs the servers until a signal. A data directory is a database of the cluster.
func serve(binary string, arguments []string) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := options(arguments)
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return err
	}
	o.Binary, o.Count, o.Die = binary, 3, true
	if o.Postgres, err = pgtest.Database(ctx, os.Getenv("THREE_POSTGRES"), o.Dir); err != nil {
		return err
	}
	s, err := servers.Launch(ctx, o)
	if err != nil {
		return err
	}
	fmt.Println("Sectional three listens on", s.Base) // as a server prints it
	if s.Dynamo != nil {
		fmt.Println("The DynamoDB API listens on", s.Dynamo.Base)
	}
	<-ctx.Done()
	return errors.Join(s.Stop(), s.Kill())
}
