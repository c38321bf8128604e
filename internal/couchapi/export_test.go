package couchapi

// AllRoutes are the routes of all endpoints.
var AllRoutes = allRoutes

// ReplicationFailed is replicationFailed.
var ReplicationFailed = replicationFailed

// Compatible is the version of CouchDB whose API this is.
const Compatible = compatible
