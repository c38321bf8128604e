package dynamoapi

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
)

// Where reading begins.
const (
	trimHorizon   = "TRIM_HORIZON"
	latest        = "LATEST"
	atSequence    = "AT_SEQUENCE_NUMBER"
	afterSequence = "AFTER_SEQUENCE_NUMBER"
)

func getShardIterator(r *Request) error {
	var in struct {
		StreamArn         *string
		ShardID           *string `json:"ShardId"`
		ShardIteratorType *string
		SequenceNumber    *string
	}
	if err := r.parse(&in); err != nil {
		return err
	}
	var c constraints
	c.required("streamArn", in.StreamArn, streamARNLength)
	c.required("shardId", in.ShardID, shardIDLength)
	if c.given("shardIteratorType", in.ShardIteratorType != nil) {
		c.oneOf("shardIteratorType", *in.ShardIteratorType, iteratorTypes)
	}
	if in.SequenceNumber != nil {
		c.required("sequenceNumber", in.SequenceNumber, sequenceLength)
	}
	if err := c.err(); err != nil {
		return err
	}
	s, err := r.stream(*in.StreamArn)
	if err != nil {
		return err
	}
	if *in.ShardID != r.shardID(s) {
		return dberr.New(dberr.NotFound, resourceNotFound, "Requested resource not found: Shard does not exist")
	}
	after, err := r.beginning(s, *in.ShardIteratorType, in.SequenceNumber)
	if err != nil {
		return err
	}
	return r.answerMember("ShardIterator", r.iterator(s, after))
}

// beginning returns the position after which an iterator begins. That of TRIM_HORIZON is
// before everything: what is trimmed until it is used is not missed by anybody.
func (r *Request) beginning(s *streamAt, kind string, number *string) (after store.LogPosition, err error) {
	numbered := kind == atSequence || kind == afterSequence
	switch {
	case numbered && number == nil:
		return after, attribute.Invalid("SequenceNumber must be specified when ShardIteratorType is %s", kind)
	case !numbered && number != nil:
		return after, attribute.Invalid("SequenceNumber must not be specified when ShardIteratorType is %s", kind)
	case kind == trimHorizon:
		return after, nil
	case numbered:
		var ok bool
		if after, ok = parseSequence(*number); !ok {
			return after, errSequence
		}
	}
	err = r.view(s, func(rd *store.Reader) error {
		first, last, err := rd.LogBounds()
		switch {
		case err != nil:
			return err
		case kind == latest:
			after = last
			return nil
		case after.Compare(last) > 0:
			return errSequence
		case kind == atSequence:
			after = before(after)
		}
		if after.Compare(first) < 0 {
			return errTrimmed
		}
		return nil
	})
	return after, err
}

var (
	errSequence = attribute.Invalid("Invalid SequenceNumber")
	errTrimmed  = dberr.New(dberr.Invalid, "TrimmedDataAccessException", "The data you are trying to access has been trimmed.")
)

// before returns the last position before another.
func before(p store.LogPosition) store.LogPosition {
	switch {
	case p.N > 0:
		return store.LogPosition{Seq: p.Seq, N: p.N - 1}
	case p.Seq > 0:
		return store.LogPosition{Seq: p.Seq - 1, N: math.MaxUint64}
	}
	return p
}

// Sequence numbers are positions in the log: two numbers of 20 digits, so that they
// are in the order of their texts as well as in that of numbers.
const (
	digits        = 20
	maxSequence   = 2 * digits
	leastSequence = digits + 1
)

func sequenceNumber(p store.LogPosition) string {
	return fmt.Sprintf("%0*d%0*d", digits, uint64(p.Seq), digits, p.N)
}

// parseSequence reads a sequence number, of one that lost its zeros as well.
func parseSequence(text string) (p store.LogPosition, ok bool) {
	text = strings.Repeat("0", maxSequence-len(text)) + text
	seq, err := strconv.ParseUint(text[:digits], 10, 64)
	if err != nil {
		return p, false
	}
	p.Seq = store.Seq(seq)
	p.N, err = strconv.ParseUint(text[digits:], 10, 64)
	return p, err == nil
}
