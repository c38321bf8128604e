// Package web owns the frame of the APIs that the server speaks over HTTP: what happens to every request
// whatever it asks. A Frame takes a request through the same steps (Frame.Serve): path and query are split, pages
// of other origins answered, the row found, the caller authenticated and admitted before a byte of the body
// is read, the body bounded in size, memory and time, the answer written or streamed, an error rendered, and
// all of it counted and logged.
//
// An API is added to the frame as a Call, one value for each request: it says which row a request means, who
// asks, whether he may, what the answer is and how an error looks. Table finds rows by path for an API
// that names its routes so; one that names them by a header has a map of its own. What the APIs of a server share is
// in Shared: the memory for bodies, the counts, the running tasks.
//
// The package must not know any API: no path, no header, no word and no form of an answer is one's. Begin reading at Frame.Serve
// and Call.
package web
