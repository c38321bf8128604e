// Package admin owns the endpoints by which a server and its databases are administered: the node and its configuration,
// its numbers and tasks, the scheduler of replications, databases and their settings, partitions, subscriptions.
//
// Nothing in it reads or writes a document for a client. Begin reading at the tables in routes.go.
package admin
