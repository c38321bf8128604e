// Package script is the sandbox for the JavaScript of design documents. It owns running code of other people: map and reduce
// functions, filters, validators, updates, shows, lists and rewrites, in the interpreter goja, in child processes that can be
// killed. It promises that a call ends within its limits (time, memory, depth, output) with the results or a clear error, that
// the memory of a call that went too far comes back, and that one realm never sees another.
//
// A realm is one JavaScript world: its globals, its prototypes, its loaded modules. There is one for each version of a design
// document (see Realm), in each child, built fresh. No realm has files, network, timers or processes, and a child can open
// no file at all; it has no environment but TZ=UTC.
//
// Time: every realm lives in UTC with a fixed locale. In map and reduce functions (and a map used as a filter) the clock stays
// at 1970-01-01T00:00:00Z and Math.random gives a sequence that depends on the document's (or rows') bytes alone, so that an
// index built anew equals the one kept up to date. In all other functions both are real.
//
// A call is a Job: units of work, each with an outcome and an allowance of time of its own. A child runs them in order and reports
// at which one it had to stop; the pool then goes on after it. A child that dies without a word is asked again to report after
// every unit. So one bad document never takes the others' rows with it, and none is accused for the time that others took. A function
// that has to be stopped again and again is given up (see runner).
//
// The package knows nothing of indexes, HTTP or storage. Begin reading at Pool; the child's side begins at Child, a realm at
// realm.build.
package script
