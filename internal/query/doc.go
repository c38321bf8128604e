// Package query owns Mango queries: reading a _find request, planning it over
// the field indexes of a database, running the plan, and telling how it would
// run (_explain).
//
// A query goes in four steps. Parse reads the request (request.go). The selector
// becomes a list of conjuncts, one of which every matching document meets, each
// saying which values a field may have (conditions.go, sets.go). The planner, a
// pure function, turns them into ranges of each index and ranks the indexes
// (candidate.go, plan.go). The run reads the plan's ranges in pages, each at a
// snapshot of its own, and holds every document against the selector again
// (run.go). So a range may be too wide, never too narrow, and a wrong ranking
// costs time only.
//
// A sparse index holds a document only if it has all of the index's fields. That
// is why it serves a query only if the selector, or the sort, demands each of
// them. Any other index holds it if it has the first, so that is all that has to
// be demanded (decision 0042).
//
// The package must not know about HTTP or how indexes are kept. Begin reading
// at Request, Plan and Query.Run.
package query
