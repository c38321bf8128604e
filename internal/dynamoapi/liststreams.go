package dynamoapi

import (
	"iter"

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
		c.required("exclusiveStartStreamArn", in.ExclusiveStartStreamArn, streamARNLength)
		after, _, _ = cutStreamARN(*in.ExclusiveStartStreamArn)
	}
	if err := c.err(); err != nil {
		return err
	}
	if in.TableName != nil {
		return r.answerStreams(r.onlyTable(*in.TableName), limit)
	}
	return r.answerStreams(r.tablesAfter(after), limit)
}

// onlyTable gives the one table that was named.
func (r *Request) onlyTable(name string) iter.Seq2[string, error] {
	if cut, ok := cutARN(name); ok {
		name = cut
	}
	return func(yield func(string, error) bool) {
		_, err := r.table(name, false)
		yield(name, notFound(err, name))
	}
}

func (r *Request) answerStreams(tables iter.Seq2[string, error], limit int) error {
	out := map[string]any{}
	streams := []streamShown{}
	for name, err := range tables {
		if err != nil {
			return err
		}
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
		if err := r.decideStream(t); err != nil {
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
