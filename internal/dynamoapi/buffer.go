package dynamoapi

import "sync"

// Answers of reads are made in memory that is used again: a query's would grow from nothing
// to its size each time.

// maxBuffer is how large memory may be that waits to be used again.
const maxBuffer = 256 << 10

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// takeBuffer returns memory for an answer, without anything in it. Who does not hand it to
// answerFrom leaves it to the garbage collector.
func takeBuffer() []byte { return (*buffers.Get().(*[]byte))[:0] }

// answerFrom sends an answer that was made in memory of takeBuffer: an object whose members
// all have a comma before them, without its last bracket. The memory must not be used any more.
func (r *Request) answerFrom(b []byte) error {
	err := r.answer(finish(b))
	if err == nil && cap(b) <= maxBuffer { // what could not be sent may still be on its way
		buffers.Put(&b)
	}
	return err
}
