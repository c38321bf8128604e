package dynamoapi

import (
	"slices"

	"github.com/sectional/sectional/internal/dberr"
)

// streamShown is what ListStreams says of a stream.
type streamShown struct{ StreamArn, StreamLabel, TableName string }

func listStreams(r *Request) error {
	var in struct {
		TableName               *string
		ExclusiveStartStreamArn *string
		Limit                   *int64
	}
	if err := r.parse(&in); err != nil {
		return err
	}
	var c constraints
	limit := limitOf(&c, in.Limit, maxListed)
	if in.TableName != nil {
		c.tableName(in.TableName)
	}
	after := ""
	if in.ExclusiveStartStreamArn != nil {
		checkStreamARN(&c, "exclusiveStartStreamArn", in.ExclusiveStartStreamArn)
		after, _, _ = cutStreamARN(*in.ExclusiveStartStreamArn)
	}
	if err := c.err(); err != nil {
		return err
	}
	names, err := r.streamTables(in.TableName)
	if err != nil {
		return err
	}
	at, found := slices.BinarySearch(names, after)
	if found {
		at++
	}
	return r.answerStreams(names[at:], limit)
}

// streamTables returns the names of the tables whose streams are listed, sorted.
func (r *Request) streamTables(name *string) ([]string, error) {
	if name == nil {
		return r.tables()
	}
	plain := *name
	if cut, ok := cutARN(plain); ok {
		plain = cut
	}
	_, err := r.table(plain, false)
	return []string{plain}, notFound(err, plain)
}

func (r *Request) answerStreams(names []string, limit int) error {
	out := map[string]any{}
	streams := []streamShown{}
	for _, name := range names {
		t, err := r.table(name, false)
		if dberr.Is(err, dberr.NotFound) || err == nil && (t.Stream == nil || !r.mayAll(t, false)) {
			continue
		}
		if err != nil {
			return err
		}
		if len(streams) == limit {
			out["LastEvaluatedStreamArn"] = streams[limit-1].StreamArn
			break
		}
		if err := r.settleStream(t); err != nil {
			return notFound(err, name)
		}
		streams = append(streams, streamShown{streamARN(name, t.Stream), streamLabel(t.Stream), name})
	}
	out["Streams"] = streams
	return r.answerMembers(out)
}

// limitOf reads how many are wanted of a list, which has so many at most.
func limitOf(c *constraints, limit *int64, most int64) int {
	if c.between("limit", limit, 1, most); limit != nil {
		return int(*limit)
	}
	return int(most)
}
