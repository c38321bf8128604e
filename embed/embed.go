// Package embed starts a Sectional server inside a Go program: for tests, and for programs that bring their database
// with them.
//
//	s, err := embed.Start(ctx, embed.Options{})
//	…
//	defer s.Close()
//	http.Get(s.URL + "/_up")
//
// The server is the whole of it: CouchDB's API, the dashboard at /_utils/ and, where it is asked for, the DynamoDB API.
//
// JavaScript of design documents runs in child processes, which are this program's executable again: importing the
// package makes it one where it was started so, before its main function.
package embed

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/server"
)

// A child of another process of this program is nothing else.
func init() { script.ServeIfChild() }

// Options say what server to start. The zero value is one in memory, at a free port of this machine, whose administrator
// has a password that nobody knows but who started it.
type Options struct {
	// Dir keeps the data, and is made if there is none; one process at a time may have it. "" keeps all data in memory:
	// it is gone with the server.
	Dir string
	// Listen is the address of CouchDB's API, host:port; "" is a free port of 127.0.0.1.
	Listen string
	// DynamoDB is the address of the DynamoDB API; "" for none.
	DynamoDB string
	// User and Password are the administrator's, both or neither. Neither: "admin", and a password made for this start.
	User, Password string
	// Settings are those of the configuration, by section and name, as in a file: {"cors": {"origins": "*"}}.
	Settings map[string]map[string]string
	// Log takes the log, a line for each entry; nil: nobody reads it.
	Log io.Writer
}

// Server is one that runs. Its fields are not changed.
type Server struct {
	URL            string // of CouchDB's API, without a slash at the end and without a password
	DynamoDB       string // the URL of the DynamoDB API, "" if there is none
	User, Password string // the administrator's

	stop  context.CancelFunc
	ended chan struct{}
	err   error // of the end, once it came
	temp  string
}

// Start starts a server and returns once it answers. The server ends with ctx, or with Close. Errors: what kept it from
// starting, such as an address in use or a directory that another process has.
func Start(ctx context.Context, o Options) (*Server, error) {
	if (o.User == "") != (o.Password == "") {
		return nil, errors.New("the server did not start: User and Password are both given, or neither")
	}
	s := &Server{User: o.User, Password: o.Password, ended: make(chan struct{})}
	if s.User == "" && s.Password == "" {
		s.User, s.Password = "admin", rand.Text()
	}
	data := o.Dir
	if data == "" {
		temp, err := os.MkdirTemp("", "sectional") // for what is not data: caches, and settings made over HTTP
		if err != nil {
			return nil, err
		}
		data, s.temp = temp, temp
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	ready := make(chan server.Addresses, 1)
	ctx, s.stop = context.WithCancel(ctx)
	go s.run(ctx, server.Options{
		Data: data, Listen: o.Listen, DynamoDB: o.DynamoDB, User: s.User, Password: s.Password, Settings: settings(o.Settings),
		Store: server.EngineOptions{Memory: o.Dir == ""}, Version: "embedded", Out: io.Discard, Log: o.Log,
		Embedded: true, Ready: func(at server.Addresses) { ready <- at },
	})
	select {
	case <-s.ended:
		if s.err == nil {
			s.err = context.Cause(ctx) // it came to its end before it answered
		}
		return nil, fmt.Errorf("the server did not start: %w", s.err)
	case at := <-ready:
		s.URL = "http://" + at.HTTP
		if at.DynamoDB != "" {
			s.DynamoDB = "http://" + at.DynamoDB
		}
		return s, nil
	}
}

// run is the life of the server.
func (s *Server) run(ctx context.Context, o server.Options) {
	defer close(s.ended)
	defer s.stop()
	s.err = server.Run(ctx, o)
	if s.temp != "" {
		s.err = errors.Join(s.err, os.RemoveAll(s.temp))
	}
}

// settings are options as the configuration has them, in the order of their names.
func settings(of map[string]map[string]string) (all []config.Setting) {
	for section, values := range of {
		for key, value := range values {
			all = append(all, config.Setting{Section: section, Key: key, Value: value})
		}
	}
	slices.SortFunc(all, func(a, b config.Setting) int {
		return slices.Compare([]string{a.Section, a.Key}, []string{b.Section, b.Key})
	})
	return all
}

// Close ends the server: requests in flight are answered, and everything is released in less than five seconds. Data in
// memory is gone. Closing again does nothing. Errors: what did not end as it should.
func (s *Server) Close() error {
	s.stop()
	<-s.ended
	return s.err
}

// Authorized returns the URL of CouchDB's API with the administrator's name and password in it, as clients take it.
func (s *Server) Authorized() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return fmt.Sprintf("%s?%v", s.URL, err) // it was made here
	}
	u.User = url.UserPassword(s.User, s.Password)
	return u.String()
}
