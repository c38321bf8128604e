// Package server owns the assembly: it reads the configuration, opens the
// engine and the store, joins store, authentication, admission and the HTTP
// face by hand, listens, and takes all of it down again in order.
//
// It alone names an engine. It must not know what a request means.
//
// Begin reading at Run.
package server
