package dynamoapi

import (
	"fmt"

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
	}
	if err := r.parse(&in); err != nil {
		return err
	}
	var c constraints
	checkStreamARN(&c, "streamArn", in.StreamArn)
	limitOf(&c, in.Limit, maxListed)
	if in.ExclusiveStartShardID != nil {
		checkShard(&c, "exclusiveStartShardId", in.ExclusiveStartShardID)
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
	if in.ExclusiveStartShardID == nil {
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

// The limits of the names of streams and shards, which are AWS's.
const (
	leastStreamARN, mostStreamARN = 37, 1024
	leastShardID, mostShardID     = 28, 65
)

func checkStreamARN(c *constraints, member string, arn *string) {
	checkLength(c, member, arn, leastStreamARN, mostStreamARN)
}

func checkShard(c *constraints, member string, id *string) {
	checkLength(c, member, id, leastShardID, mostShardID)
}

// checkLength notes a text that is not there, too short, or too long.
func checkLength(c *constraints, member string, text *string, least, most int) {
	if !c.given(member, text != nil) {
		return
	}
	switch n := len(*text); {
	case n < least:
		c.failed(member, "'"+*text+"'", fmt.Sprintf("have length greater than or equal to %d", least))
	case n > most:
		c.failed(member, "'"+(*text)[:most]+"…'", fmt.Sprintf("have length less than or equal to %d", most))
	}
}
