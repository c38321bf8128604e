// Package couchhttp owns how CouchDB's API uses HTTP, which all of its endpoints share: a row of the route table and
// the rights it asks for (route.go, gate.go), the endpoint of a database, a partition or a tenant that a path leads
// to (endpoint.go), parameters (query.go), what errors look like (errors.go), what an answer always has (answer.go),
// rows of documents (rows.go), design documents that a request names and the request as their functions see it (design.go, funcrequest.go).
//
// API joins the rows of a table to the frame (package web); Request is its web.Call. What a request means is
// not known here: that is what the packages above are for. Begin reading at Route, Request and New.
package couchhttp
