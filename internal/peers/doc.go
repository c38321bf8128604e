// Package peers owns the requests that one server of a store sends to another: what only
// that one knows (its numbers, its own configuration, what its replications could not carry
// over) is asked of it, in the name of whoever asked here.
//
// It promises that a request goes nowhere but to the address in the row of a server of the
// store that lives, that it proves to that server alone who asks, for this request, once and
// for seconds, by a key that is derived from the store's secret, and that it is not passed on
// from there; that no redirect is followed, and that an answer is bounded in time and size.
// Who may ask is for the API to say, here and there.
//
// Begin reading at [Peers.Ask]; [Peers.Enter] is the other end, and token.go what is between
// them.
package peers
