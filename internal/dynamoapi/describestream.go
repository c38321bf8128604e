package dynamoapi

import (
	"github.com/sectional/sectional/internal/store"
)

// streamDescription is what the API says of a stream.
type streamDescription struct {
	StreamArn               string
	StreamLabel             string
	StreamStatus            string
	StreamViewType          string
	CreationRequestDateTime seconds
	TableName               string
	KeySchema               []keyShown
	Shards                  []shardShown
}

type shardShown struct {
	ShardID             string `json:"ShardId"`
	SequenceNumberRange sequenceRange
}

type sequenceRange struct{ StartingSequenceNumber string }

func describeStream(r *Request) error {
	var in struct {
		StreamArn             *string
		ExclusiveStartShardID *string `json:"ExclusiveStartShardId"`
		Limit                 *int64
		ShardFilter           *struct {
			Type    string
			ShardID *string `json:"ShardId"`
		}
	}
	if err := r.parse(&in); err != nil {
		return err
	}
	var c constraints
	c.required("streamArn", in.StreamArn, streamARNLength)
	limitOf(&c, in.Limit, maxListed)
	if in.ExclusiveStartShardID != nil {
		c.required("exclusiveStartShardId", in.ExclusiveStartShardID, shardIDLength)
	}
	if f := in.ShardFilter; f != nil {
		c.oneOf("shardFilter.type", f.Type, shardFilters)
		if f.ShardID != nil {
			c.required("shardFilter.shardId", f.ShardID, shardIDLength)
		}
	}
	if err := c.err(); err != nil {
		return err
	}
	s, err := r.stream(*in.StreamArn)
	if err != nil {
		return err
	}
	shown := streamDescription{StreamArn: s.arn, StreamLabel: streamLabel(s.Stream), StreamStatus: "ENABLED", StreamViewType: s.Stream.View,
		CreationRequestDateTime: seconds(s.Stream.Since), TableName: s.name, KeySchema: keysShown(s.Keys), Shards: []shardShown{}}
	if in.ExclusiveStartShardID == nil && in.ShardFilter == nil { // no shard has children
		first, err := r.firstSequence(s)
		if err != nil {
			return err
		}
		shown.Shards = append(shown.Shards, shardShown{r.shardID(s), sequenceRange{first}})
	}
	return r.answerMember("StreamDescription", shown)
}

// firstSequence is the least that a record may have which is still there.
func (r *Request) firstSequence(s *streamAt) (number string, err error) {
	err = r.view(s, func(rd *store.Reader) error {
		first, _, err := rd.LogBounds()
		number = sequenceNumber(store.LogPosition{Seq: first.Seq, N: first.N + 1})
		return err
	})
	return number, err
}
