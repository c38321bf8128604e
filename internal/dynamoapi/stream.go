package dynamoapi

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/table"
)

// A stream is the change log of the table's database. That a table has one is in its
// definition, and the log is switched after that: by the request that changes the
// definition, and by every one that shows the stream to somebody or reads it, so that
// neither a crash between the two nor a definition that another API wrote leaves a stream
// without a log. Nobody was shown a stream whose log is off, so nobody misses a record.

// retention is how long records are kept, as at AWS.
var retention = store.Period{Text: "24_hours", Length: 24 * time.Hour}

// streamARN returns the name of a stream as a resource.
func streamARN(table string, s *table.Stream) string {
	return arn(table) + "/stream/" + streamLabel(s)
}

// decideStream switches the change log on or off, as the definition that the table has now
// says. The switching counts only for that definition: another request, of another server
// perhaps, may change the definition meanwhile, switch the log and show the stream to
// somebody, who would miss records if it were switched off after that.
func (r *Request) decideStream(t *tableAt) error {
	for {
		s, err := r.streamStateOf(t)
		if err != nil || s.decided {
			return noTable(err)
		}
		keep := store.Period{}
		if s.on {
			keep = retention
		}
		if done, err := t.db.SetChangeLogAt(r.Ctx(), keep, s.version); done || err != nil {
			return noTable(err)
		}
	}
}

// streamState is whether the change log is as it is to be, and whether it is to be on, by the
// definitions of a version.
type streamState struct {
	decided, on bool
	version     uint64
}

func (r *Request) streamStateOf(t *tableAt) (s streamState, err error) {
	err = t.db.Whole().View(r.Ctx(), func(rd *store.Reader) error {
		d, err := r.api.definitionAt(rd)
		if err != nil {
			return err
		}
		if s.version, err = rd.DefinitionsVersion(); err != nil {
			return err
		}
		s.on = d.Stream != nil
		_, _, err = rd.LogBounds()
		s.decided = s.on == (err == nil)
		if dberr.Is(err, dberr.NotFound) {
			return nil
		}
		return err
	})
	return s, err
}

// streamAt is a stream that a request is about.
type streamAt struct {
	*tableAt
	arn string
}

func streamNotFound(arn string) error {
	return dberr.New(dberr.NotFound, resourceNotFound, "Requested resource not found: Stream: %s not found", arn)
}

// stream opens a stream by its name as a resource. A stream has all partitions of a table, so
// it is for those who may read all. Errors: ResourceNotFoundException, also for one that
// was switched off; AccessDeniedException.
func (r *Request) stream(name string) (*streamAt, error) {
	plain, label, ok := cutStreamARN(name)
	if !ok {
		return nil, attribute.Invalid("Invalid StreamArn")
	}
	t, err := r.table(plain, false)
	if err == errNoTable { //nolint:errorlint // this very error, not one of another resource
		return nil, streamNotFound(name)
	}
	if err != nil {
		return nil, err
	}
	if !r.mayAll(t, false) {
		return nil, r.denied(plain)
	}
	if t.Stream == nil || streamLabel(t.Stream) != label {
		return nil, streamNotFound(name)
	}
	return &streamAt{t, streamARN(plain, t.Stream)}, r.decideStream(t)
}

// cutStreamARN returns the table and the label in the name of a stream.
func cutStreamARN(name string) (plain, label string, ok bool) {
	plain, ok = cutARN(name)
	_, label, found := strings.Cut(name, "/stream/")
	return plain, label, ok && found && label != ""
}

// shardID names the one shard of a stream: a database has one log.
func (r *Request) shardID(s *streamAt) string {
	sum := sha256.Sum256([]byte(r.tableID(s.db) + s.arn))
	return "shardId-00000000000000000000-" + hex.EncodeToString(sum[:4])
}

// view reads the stream's log at a snapshot.
func (r *Request) view(s *streamAt, read func(rd *store.Reader) error) error {
	err := noTable(s.db.Whole().View(r.Ctx(), read))
	if err == errNoTable { //nolint:errorlint // this very error
		return streamNotFound(s.arn)
	}
	return err
}
