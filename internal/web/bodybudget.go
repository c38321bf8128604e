package web

import (
	"bytes"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/dberr"
)

// BodyCost is how long a body may be once it is unpacked, and what memory it takes while the request runs. A body that is
// taken apart takes more than its bytes: lists of small things by what each of them is
// made into, documents by their copies on the way into the store, and all while their buffer grows.
type BodyCost struct {
	Most    int64 // bytes of a body
	Weight  int64 // bytes of memory for a byte
	Element int64 // bytes of memory for a comma
}

// Of returns what a range of a body costs.
func (c BodyCost) Of(part []byte) int64 {
	return c.Weight*int64(len(part)) + c.Element*int64(bytes.Count(part, comma))
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

// Hold charges the request for so many bytes of memory, until it ends. Errors: TooLarge
// for more than the budget has when nobody else is there, Unavailable for more than is
// left. Those who are not logged in share half of it.
func (r *Request) Hold(n int64) error {
	before := max(r.held-freeBody, 0)
	r.held += n
	more := max(r.held-freeBody, 0) - before
	if more == 0 {
		return nil
	}
	limit := r.frame.options.Settings().MaxMemory
	most := limit.Bytes
	if r.Caller == nil || r.Caller.Anonymous() && !r.Caller.IsAdmin() {
		most /= 2
	}
	if before+more > most {
		r.held -= n
		return dberr.Locate(ErrBodyTooLarge, "the limit is "+strconv.FormatInt(most, 10)+" bytes of memory: "+limit.Setting)
	}
	if r.frame.budget.held.Add(more) > most {
		r.frame.budget.held.Add(-more)
		r.held -= n
		return errBodiesBusy
	}
	return nil
}

// Release ends the charge of so many bytes before the request ends.
func (r *Request) Release(n int64) {
	before := max(r.held-freeBody, 0)
	r.held -= n
	if more := before - max(r.held-freeBody, 0); more > 0 {
		r.frame.budget.held.Add(-more)
	}
}

// Charged returns a reader that charges the request for the buffers of a stream as its bytes come, most of them at the most,
// until end is called.
func (r *Request) Charged(from io.Reader, most int64) (charged io.Reader, end func()) {
	c := &chargedReader{r: r, from: from, most: most}
	return c, func() { r.Release(c.held) }
}

// chargedReader is the reader of Charged.
type chargedReader struct {
	r    *Request
	from io.Reader
	most int64 // what the buffers come to
	held int64
}

// Read implements io.Reader.
func (c *chargedReader) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if more := min(int64(n), c.most-c.held); more > 0 {
		if held := c.r.Hold(more); held != nil {
			return 0, held
		}
		c.held += more
	}
	return n, err
}
