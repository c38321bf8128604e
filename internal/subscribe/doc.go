// Package subscribe owns subscriptions: somebody outside is told of the changes
// of a database or of one of its partitions by requests to a URL.
//
// It promises that every change after the place a subscription begins at is
// delivered at least once, or lies among its dead letters, and that what is
// delivered comes in the order of the feed; that a place is only moved, durably,
// when the receiver has said that it has what lies before; that requests are
// signed in the form of Standard Webhooks; that secrets are never shown; and
// that nothing is sent to private addresses unless that is allowed, whatever a
// name resolves to at the moment of connecting. Redirects are not followed.
//
// It owns the rows of subscriptions and their dead letters (rows.go), which are written
// in the queue of the database's writers, and go with the database or the partition.
//
// A subscription has a job in the store's queue exactly as long as it has something to
// deliver, which is arranged in the same commit as whatever changes that (jobs.go); one
// that has nothing costs nothing. It knows nothing of the HTTP face, which calls
// Service's methods with parsed scopes.
//
// Begin reading at Service; jobs.go says who runs when, step.go what one
// run does, deliver.go how a request goes out, definition.go what clients set.
package subscribe
