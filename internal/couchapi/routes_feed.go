package couchapi

import "github.com/sectional/sectional/internal/couchapi/couchhttp"

// feedRoutes are feeds of changes, and all documents in one stream.
func feedRoutes() []couchhttp.Route {
	return []couchhttp.Route{
		{Methods: "GET,POST", Pattern: "/{db}/_changes", At: couchhttp.EveryEndpoint, Rights: couchhttp.MemberOrHead, Class: couchhttp.ClassFeed, Reads: true, Run: databaseChanges, Allow: "GET,POST,HEAD"},
		{Methods: "GET", Pattern: "/{db}/_snapshot", At: couchhttp.WithPrefixes, Rights: couchhttp.MemberOrHead, Class: couchhttp.ClassFeed, Run: getSnapshot, Allow: "GET,HEAD,POST"},
		{Methods: "POST", Pattern: "/{db}/_snapshot", At: couchhttp.WithPrefixes, Rights: couchhttp.Writer, Class: couchhttp.ClassWrite, Run: postSnapshot},
	}
}
