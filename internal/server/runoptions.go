package server

import (
	"io"
	"os"

	"github.com/sectional/sectional/internal/certificates"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/progress"
)

// Options say how to run. Data must be given.
type Options struct {
	Data     string // directory of everything the server keeps
	Config   string // the operator's ini file; empty: none
	Listen   string // address and port; empty: what the configuration says
	User     string // the administrator, and the password, as the environment
	Password string // names them; both or neither
	Demo     bool   // load the demo's databases
	DemoSize int    // 0: the default
	// DynamoDB is the address at which the DynamoDB API listens, "" for none; DynamoDBOpen
	// takes whoever asks there for an administrator.
	DynamoDB     string
	DynamoDBOpen bool
	Store        EngineOptions // which engine keeps the data
	Version      string
	Out          io.Writer      // for people: the address, the password, what to try
	Log          io.Writer      // for the log
	Progress     *progress.Line // shows how far the demo came
	// Settings come before those of all files.
	Settings []config.Setting
	// Embedded says that the process is another program's: its memory settings and the modes of
	// its new files stay what they are.
	Embedded bool
	// Reload has the files of the configuration and of the certificate read again at each receive; nil: never.
	Reload   <-chan os.Signal
	acmePace certificates.Pace // of tests
	// Ready is called once the server answers, with its addresses; nil: nobody is told.
	Ready func(Addresses)
}

// Addresses are where a server listens, each as host:port; "" where it does not.
type Addresses struct{ HTTP, DynamoDB string }
