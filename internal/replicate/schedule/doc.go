// Package schedule owns which replications run, and when: those that requests to
// _replicate ask for, and those that are in the documents of _replicator
// databases. It follows these databases by their feeds, gives each job its turn,
// lets those that fail wait longer each time, writes what became of them into
// their documents, and reports on all of it.
//
// It promises that no more jobs run at once than the configuration says, that a
// replication runs with the rights its author has at that moment, that nothing it
// shows holds a password, and that what is in a document goes on after a
// restart. It must not know how a replication is carried out (package replicate),
// nor HTTP's answers.
//
// Begin reading at Scheduler. queue.go decides who runs, without a clock or a
// goroutine of its own; documents.go and databases.go follow the databases, and
// transient.go answers requests.
package schedule
