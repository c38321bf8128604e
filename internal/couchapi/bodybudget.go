package couchapi

import (
	"bytes"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/dberr"
)

// bodyKind says what the body of a route is: how long it may be once it is unpacked, and
// what a byte of it costs while the request runs.
type bodyKind uint8

const (
	bodyOfClass   bodyKind = iota // what is usual for the route's class
	loginBody                     // read from anybody
	settingBody                   // settings and definitions
	queryBody                     // queries, and lists of keys and ids
	documentsBody                 // documents, whose attachments may be inline
)

// bodyCost are the limit of a kind of bodies and what memory they take. A body that is
// taken apart takes more than its bytes: lists of small things by what each of them is
// made into, documents by their copies on the way into the store, and all while their buffer grows.
type bodyCost struct {
	most    int64 // bytes of a body
	weight  int64 // bytes of memory for a byte
	element int64 // bytes of memory for a comma
}

var bodyCosts = [...]bodyCost{
	loginBody:     {64 << 10, 1, 128},
	settingBody:   {1 << 20, 1, 128},
	queryBody:     {32 << 20, 3, 128},
	documentsBody: {256 << 20, 3, 16},
}

// classBodies are the kinds that rows have when they do not say.
var classBodies = [classCount]bodyKind{
	classServer: settingBody, classAdmin: settingBody, classLookup: queryBody, classQuery: queryBody, classFeed: queryBody, classWrite: documentsBody,
}

// bodyCost returns the limit and cost of the row's bodies.
func (row *route) bodyCost() bodyCost {
	if row.body == bodyOfClass {
		return bodyCosts[classBodies[row.class]]
	}
	return bodyCosts[row.body]
}

// of returns what a run of a body costs.
func (c bodyCost) of(run []byte) int64 {
	return c.weight*int64(len(run)) + c.element*int64(bytes.Count(run, comma))
}

var comma = []byte{','}

// bodyBudget is the memory that the bodies of all requests take at the moment. It is
// charged as bytes come, not by what a client declares.
type bodyBudget struct{ held atomic.Int64 }

// freeBody is what each request may hold beside the budget, so that logins and single
// small documents pass while large bodies have used it up. What it comes to is bounded
// by the number of connections.
const freeBody = 16 << 10

var errBodiesBusy = dberr.New(dberr.Unavailable, "", "Too many request bodies are held in memory at present. Try again soon.").After(time.Second)

// hold charges the request for so many bytes of memory, until it ends. Errors: TooLarge
// for more than the budget has when nobody else is there, Unavailable for more than is
// left. Those who are not logged in share half of it.
func (r *request) hold(n int64) error {
	before := max(r.held-freeBody, 0)
	r.held += n
	more := max(r.held-freeBody, 0) - before
	if more == 0 {
		return nil
	}
	most := r.api.settings.Value().maxBodies
	if r.caller == nil || r.caller.Anonymous() && !r.caller.IsAdmin() {
		most /= 2
	}
	if before+more > most {
		r.held -= n
		return dberr.Locate(errBodyTooLarge, "the limit is "+strconv.FormatInt(most, 10)+" bytes of memory: [sectional] max_bodies_memory")
	}
	if r.api.bodies.held.Add(more) > most {
		r.api.bodies.held.Add(-more)
		r.held -= n
		return errBodiesBusy
	}
	return nil
}

// release ends the charge of so many bytes before the request ends.
func (r *request) release(n int64) {
	before := max(r.held-freeBody, 0)
	r.held -= n
	if more := before - max(r.held-freeBody, 0); more > 0 {
		r.api.bodies.held.Add(-more)
	}
}

// uploadBuffer is what an upload holds once it is under way: a page of the store's and
// the state of the packer.
const uploadBuffer = 2 << 20

// snapshotBuffer is what the loading of a snapshot holds: the window of the unpacker and
// a page of documents.
const snapshotBuffer = 24 << 20

// uploadReader charges the request for the buffers of a stream as its bytes come.
type uploadReader struct {
	r    *request
	from io.Reader
	most int64 // what the buffers come to
	held int64
}

func (u *uploadReader) Read(p []byte) (int, error) {
	n, err := u.from.Read(p)
	if more := min(int64(n), u.most-u.held); more > 0 {
		if held := u.r.hold(more); held != nil {
			return 0, held
		}
		u.held += more
	}
	return n, err
}

// end ends the charge.
func (u *uploadReader) end() { u.r.release(u.held) }
