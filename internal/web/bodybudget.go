package web

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/sectional/sectional/internal/dberr"
)

// BodyCost is how long a body may be once it is unpacked, and what memory it takes while the request runs. A body that is
// taken apart takes more than its bytes: lists of small things by what each of them is
// made into, documents by their copies on the way into the store, and all while their buffer grows.
type BodyCost struct {
	Max     int64 // bytes of a body
	Weight  int64 // bytes of memory for a byte
	Element int64 // bytes of memory for a comma
	Written bool  // what it holds is written: its bytes count towards Settings.MaxWrites too
}

// Of returns what a range of a body costs.
func (c BodyCost) Of(part []byte) int64 {
	return c.Weight*int64(len(part)) + c.Element*int64(bytes.Count(part, comma))
}

var comma = []byte{','}

// supposedElement is how many bytes of a body there are supposed to be for each comma before it has come.
const supposedElement = 16

// suppose returns what a body of so many bytes is supposed to cost before it has come.
func (c BodyCost) suppose(length int64) int64 {
	length = min(length, c.Max)
	return c.Weight*length + c.Element*(length/supposedElement)
}

// freeBody is what each request may hold beside the budget, so that logins and single
// small documents pass while large bodies have used it up. What it comes to is bounded
// by the number of connections.
const freeBody = 16 << 10

var errBodiesBusy = dberr.New(dberr.Unavailable, "", "Too many request bodies are held in memory at present. Try again soon.").After(time.Second)

// Hold charges the request for so many bytes of memory, until it ends. Errors: TooLarge
// for more than a caller may have when nobody else is there, Unavailable for more than the caller may
// have now. It does not wait: see Expect.
func (r *Request) Hold(n int64) error {
	need := max(r.charged+n-freeBody, 0)
	if more := need - r.room.memory; more > 0 {
		l := r.shares()
		if most := l.max(r.holder()); need > most {
			return l.tooLarge(most)
		}
		if !r.frame.budget.take(r.holder(), amount{memory: more}, l) {
			return errBodiesBusy
		}
		r.room.memory = need
	}
	r.charged += n
	return nil
}

// Release ends the charge of so many bytes before the request ends, and what it expected beyond them.
func (r *Request) Release(n int64) {
	r.charged -= n
	r.release()
}

// release gives back what the request expected and does not hold.
func (r *Request) release() {
	need := max(r.charged-freeBody, 0)
	if less := r.room.memory - need; less > 0 {
		r.room.memory = need
		r.frame.budget.give(r.party, amount{memory: less})
	}
}

// releaseAll ends the charge of the request.
func (r *Request) releaseAll() {
	r.charged = 0
	if r.room != (amount{}) {
		r.frame.budget.give(r.party, r.room)
		r.room = amount{}
	}
}

// Expect has the request hold room for so many bytes of memory, which Hold takes from, until the next Release. It waits for
// it in the order in which requests came, unless the request holds memory already: who waits holds none. Errors:
// Unavailable when too many wait or it takes too long; the context's.
func (r *Request) Expect(n int64) error { return r.expect(amount{memory: n}) }

// expect is Expect for bytes that are to be written too.
func (r *Request) expect(n amount) error {
	need := max(r.charged+n.memory-freeBody, 0)
	if need <= r.room.memory {
		return nil
	}
	l := r.shares()
	want := amount{min(need, l.max(r.holder())) - r.room.memory, min(n.writes, l.writes/2)}
	if want.memory <= 0 {
		return nil
	}
	if r.room == (amount{}) {
		if err := r.frame.budget.await(r, want, l); err != nil {
			return err
		}
	} else if !r.frame.budget.take(r.holder(), want, l) {
		return nil // Hold says so if it comes to that
	}
	r.room.memory += want.memory
	r.room.writes += want.writes
	return nil
}

// ExpectBody is Expect for the request's body, by its declared length. Of one that is packed, or declares none, only
// the beginning is expected.
func (r *Request) ExpectBody() error {
	length := r.HTTP.ContentLength
	if length < 0 || r.HTTP.Header["Content-Encoding"] != nil {
		length = firstBody
	}
	cost := r.Action.Body
	l := r.shares()
	if most := l.max(r.holder()); cost.Weight*min(length, cost.Max) > most+freeBody {
		return l.tooLarge(most)
	}
	n := amount{memory: cost.suppose(length)}
	if _, kept := r.HTTP.Body.(*bufferedBody); kept {
		n.memory += length
	}
	if cost.Written {
		n.writes = length
	}
	return r.expect(n)
}

// tooLarge refuses a body that takes more memory than a caller may have.
func (l shareLimits) tooLarge(most int64) error {
	return dberr.Locate(ErrBodyTooLarge, fmt.Sprintf("the limit is %d bytes of memory, a part of %s", most, l.setting))
}

// Charged returns a reader that charges the request for the buffers of a stream as its bytes come, most of them at the most,
// until end is called. It waits for room before the first byte, as Expect does.
func (r *Request) Charged(from io.Reader, most int64) (charged io.Reader, end func()) {
	c := &chargedReader{r: r, from: from, max: min(most, r.shares().max(r.holder())-r.room.memory)}
	return c, func() { r.Release(c.charged) }
}

// chargedReader is the reader of Charged.
type chargedReader struct {
	r       *Request
	from    io.Reader
	max     int64 // what the buffers come to
	charged int64
	begun   bool
}

// Read implements io.Reader.
func (c *chargedReader) Read(p []byte) (int, error) {
	if !c.begun {
		c.begun = true
		if err := c.r.Expect(c.max); err != nil {
			return 0, err
		}
	}
	n, err := c.from.Read(p)
	if more := min(int64(n), c.max-c.charged); more > 0 {
		if held := c.r.Hold(more); held != nil {
			return 0, held
		}
		c.charged += more
	}
	return n, err
}
