// Package aws tests the built server with aws-sdk-go-v2 as it is published: every capability of the DynamoDB API, and
// the models of articles as examples, whose items are read by CouchDB's API as well. It is a module of its own, so that
// the server does not depend on the SDK. Begin reading at server_test.go.
package aws
