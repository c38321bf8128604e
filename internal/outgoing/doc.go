// Package outgoing owns what the requests have in common that the server makes
// on somebody's behalf: which addresses may be reached by those who could not
// reach them themselves, which are this machine alone, and how long to wait before
// asking again.
//
// It promises that an address is judged when it is dialled, whatever name led
// to it, and that no peer's Retry-After is heeded for longer than the caller
// bears; and that what proves who asks goes nowhere but where it was given for
// (Redirected). It makes no request itself: clients are their packages' own.
//
// Begin reading at Guard and Backoff.
package outgoing
