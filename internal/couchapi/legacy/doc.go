// Package legacy owns the endpoints at which functions of design documents answer requests: shows, lists, updates and
// rewrites, which CouchDB keeps for old applications. The functions run in package script.
//
// Nothing else builds on it. Begin reading at Routes.
package legacy
