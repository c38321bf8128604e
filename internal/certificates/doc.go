// Package certificates owns the certificates that the server gets by ACME (RFC 8555): which names
// want one, who of the servers of a store gets it, when it is renewed, and what is answered to
// the challenges by which an ACME server finds out whose a name is.
//
// It promises that certificates are asked for the names of the settings and no others, whoever
// asks for whatever; that one server of a store is at a name at a time, and all of them serve
// what it got and answer its challenges; that a certificate is served until there is a newer
// one, though it has ended; that an ACME server that is away, slow, or talks without end costs
// a bounded time and room and nobody who is served; and that no key leaves the store's rows
// but for the TLS listener. It must not know how rows are stored, nor what is served.
//
// Begin reading at [Service]; renew.go is how a name gets its certificate, obtain.go what is said
// to an ACME server, challenge.go what is answered to it.
package certificates
