// Package couchapi owns CouchDB's API as a whole: the table of all routes (routes.go), composed of those of the packages below it,
// and what is neither a document, a list nor administration: feeds of changes and snapshots, replications, sessions, the welcome.
//
// The frame (package web) takes a request through its steps, couchhttp.Request has them for CouchDB, and an endpoint is a
// function in a file of its own. The packages: documents, lists, admin, legacy, and below them couchhttp, which they share.
//
// It must not know how documents are stored or who may what: that is the store's and auth's. Begin reading at allRoutes.
package couchapi
