// Package jobs owns the queue of work that nobody waits for: rows that say what is to
// be done and when, who is at it, and how far it has come.
//
// A job is put into the queue in the transaction that makes it necessary, so it is
// there exactly if the need is, and nothing has to look for work: a database in which
// nothing is due costs nothing. Jobs lie in the order in which they are due. [Queue.Work]
// sleeps until the first one is, and does those that are due side by side.
//
// Work is done in batches. Each is one transaction that does something and moves the
// job on, from the state that the worker has seen to the next: it begins by
// [Queue.Lock], which refuses a worker that has seen an older one, and ends by
// [Queue.Save] or [End]. So a worker that stood still, and wakes when another has
// gone on with its job, changes nothing.
//
// Several processes share a queue by leases: whoever works on a job holds it for a
// while and longer with each batch, and another takes it over when that time has
// passed; the queue keeps the lease while its worker is at it. Where one process has the
// store for itself the lease never ends, and never costs a write. What needs leases and
// has an order of its own takes them by [Queue.Hold].
//
// Jobs are of pools, each of which has a [Queue] with workers of its own: what takes long
// does not hold up the rest.
//
// What the kinds of job mean is not known here. Begin reading with [Job].
package jobs
