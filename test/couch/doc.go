// Package couch holds the server to the recorded answers of a real CouchDB. testdata has the recordings, one file a
// subject, one scenario a line; differences.json lists the scenarios in which Sectional differs intentionally,
// each under its number in docs/DIFFERENCES.md. Begin reading at TestTranscripts.
package couch
