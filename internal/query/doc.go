// Package query owns Mango queries: reading a _find request, planning it over
// the indexes of a database, running the plan, and telling how it would
// run (_explain).
//
// A query goes in four steps. Parse reads the request (request.go). The selector
// becomes a list of conjuncts, one of which every matching document meets, each
// saying which values a field may have (conditions.go, sets.go). The planner, a
// pure function, asks each access path what it would read for them, and ranks the
// paths (candidate.go, plan.go). The run reads the plan's ranges in pages
// (store.LongView), and holds every document against the selector again
// (run.go). So a range may be too wide, never too narrow, and a wrong ranking
// costs time only.
//
// What can be read is an accessPath (access.go): a field index (fieldpath.go,
// reach.go), a text index (textpath.go), a geo index (geopath.go), or the list of all
// documents (listpath.go).
// Another kind of index is another one, and pathsOf the place where it is added.
//
// A sparse index holds a document only if it has all of the index's fields. That
// is why it serves a query only if the selector, or the sort, demands each of
// them. Any other index holds it if it has the first, so that is all that has to
// be demanded (decision 0042).
//
// The package must not know about HTTP or how indexes are kept. Begin reading
// at Request, accessPath, Plan and Query.Run.
package query
