// Package couchapi owns the HTTP face of CouchDB 3.5: which request means what,
// who may send it, and how answers and errors look on the wire.
//
// The surface is a table (the *Routes functions): each row has methods, a
// pattern, the endpoints of a database at which it is served (endpoint.go), the right it
// asks for, a class for the metrics and the handler, or the reason why there is
// none. Each handler is a file. The frame (package web) takes a request through its steps, which
// request has for CouchDB (serve.go): the row is found, the caller is authenticated (gate.go), the database is
// opened, rights are checked, the scope becomes that of the endpoint, the handler
// runs and answers by the methods of request; whatever error it returns is rendered by one function (errors.go).
//
// The package must not know how documents are stored or who may what: that is
// the store's and auth's. Begin reading at API.ServeHTTP and the tables.
package couchapi
