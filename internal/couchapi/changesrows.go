package couchapi

import (
	"strconv"

	"github.com/sectional/sectional/internal/changes"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

// changesLayout says what surrounds the rows of a feed.
type changesLayout struct {
	begin     string
	before    string // each row
	between   string // two rows
	after     string // each row
	ids       bool   // each row is followed by its sequence as the id of an event
	heartbeat string
	end       func(b []byte, s store.Scope, e changes.End) []byte
}

var (
	objectLayout = &changesLayout{
		begin: "{\"results\":[\n", between: ",\n", heartbeat: "\n",
		end: func(b []byte, s store.Scope, e changes.End) []byte {
			return appendChangesEnd(append(b, "\n],\n"...), s, e)
		},
	}
	lineLayout = &changesLayout{
		after: "\n", heartbeat: "\n",
		end: func(b []byte, s store.Scope, e changes.End) []byte {
			return appendChangesEnd(append(b, '{'), s, e)
		},
	}
	eventLayout = &changesLayout{
		before: "data: ", after: "\n", ids: true, heartbeat: "event: heartbeat\ndata: \n\n",
		end: func(b []byte, _ store.Scope, e changes.End) []byte {
			if e.Limited {
				b = append(b, '\n')
			}
			return b
		},
	}
)

func appendChangesEnd(b []byte, s store.Scope, e changes.End) []byte {
	b = append(b, `"last_seq":"`...)
	b = s.AppendSeq(b, e.Seq)
	b = append(b, `","pending":`...)
	return append(strconv.AppendUint(b, e.Pending, 10), "}\n"...)
}

// changesRows writes the rows of a feed. It is the feed's changes.Sink, and
// keeps the revision that a filter has read for the row that shows it.
type changesRows struct {
	couchhttp.RowStream
	q      *changesQuery
	layout *changesLayout
	fields *selector.Fields // nil: the whole document
	rows   int
	looked bool // the first page is read at the snapshot at which what let the caller in is looked at
	passed int  // bytes of Buf that were read while the caller had the right to them

	winner struct {
		seq  store.Seq
		tree *document.Tree // nil if it was not read
		rev  *store.Revision
	}
	winners map[store.Seq]readWinner // what a judge has read for the rows to come; nil without one
}

// readWinner is a winner that was read before the row that shows it.
type readWinner struct {
	tree *document.Tree
	rev  *store.Revision
}

// Row implements changes.Sink. A row whose document could not be read leaves nothing: it may be asked for again.
func (c *changesRows) Row(v changes.Reader, row *changes.Row) (full bool, err error) {
	c.Wake()
	b := c.Buf
	before := len(b)
	if c.rows > 0 {
		b = append(b, c.layout.between...)
	}
	b = append(b, c.layout.before...)
	b = append(b, `{"seq":`...)
	told := c.reported()
	c.rows++
	if told {
		b = append(b, '"')
		b = append(c.R.Scope.AppendSeq(b, row.Seq), '"')
	} else {
		b = append(b, "null"...)
	}
	c.Buf = couchwire.AppendChange(b, row.ID, row.Revs, row.Deleted)
	tail := "}" + c.layout.after
	if c.layout.ids {
		tail += c.eventID(row.Seq, told)
	}
	if !c.Form.Include {
		c.Buf = append(c.Buf, tail...)
		return c.Full(), nil
	}
	c.Buf = append(c.Buf, `,"doc":`...)
	if err := c.doc(v, row, tail); err != nil {
		c.Buf = c.Buf[:before]
		c.rows--
		return false, err
	}
	return c.Full(), nil
}

// unlimited is what CouchDB counts down from without a limit.
const unlimited = 1_000_000_000_000_000

// reported reports whether the next row shows its sequence. CouchDB goes by the
// rows left to the limit.
func (c *changesRows) reported() bool {
	left := unlimited
	if c.q.Limit >= 0 {
		left = c.q.Limit
	}
	return (left-c.rows)%c.q.interval == 0
}

// eventID returns the end of an event: its id, if it has one, and a blank line.
func (c *changesRows) eventID(q store.Seq, told bool) string {
	if !told {
		return "\n"
	}
	return `id: "` + c.R.Scope.FormatSeq(q) + "\"\n\n"
}

// doc appends the winner of a row's document.
func (c *changesRows) doc(v changes.Reader, row *changes.Row, tail string) error {
	rev, err := c.read(v, row)
	if dberr.Is(err, dberr.NotFound) {
		c.Buf = append(append(c.Buf, "null"...), tail...)
		return nil
	}
	if err != nil {
		return err
	}
	if c.fields != nil {
		d := c.selectable(rev, c.winner.tree, c.fields.Uses)
		c.Buf = append(append(c.Buf, c.fields.Project(d)...), tail...)
		return nil
	}
	c.Document(rev, c.winner.tree, tail)
	return nil
}

// read returns the winner of a row's document, and its tree if conflicts are to
// be told.
func (c *changesRows) read(v changes.Reader, row *changes.Row) (*store.Revision, error) {
	if c.winner.rev != nil && c.winner.seq == row.Seq {
		return c.winner.rev, nil
	}
	if k, ok := c.winners[row.Seq]; ok {
		c.winner.seq, c.winner.rev, c.winner.tree = row.Seq, k.rev, k.tree
		return k.rev, nil
	}
	c.winner.rev, c.winner.tree = nil, nil
	var rev *store.Revision
	var err error
	if c.Form.Conflicts {
		var d *store.Doc
		if d, err = v.Doc(row.ID); err != nil {
			return nil, err
		}
		c.winner.tree = &d.Tree
	}
	if rev, err = v.Changed(row.ID, row.Winner, row.Deleted); err != nil {
		return nil, err
	}
	c.winner.seq, c.winner.rev = row.Seq, rev
	return rev, nil
}

// Send implements changes.Sink.
func (c *changesRows) Send() (err error) {
	c.winner.rev, c.winner.tree = nil, nil
	if err := c.pass(); err != nil {
		return err
	}
	if err := c.Finish(); err != nil {
		return err
	}
	if c.q.Mode == changes.Endless && len(c.Buf) > 0 {
		err = c.Flush()
	} else {
		err = c.Spill()
	}
	c.passed = len(c.Buf)
	return err
}

// pass asks whether the caller may still have what was read since it was asked last.
// If not, that is forgotten, and the feed ends: with the refusal where nothing was
// sent yet or the client takes the answer for complete, else as feeds do that time
// out, whereupon the client comes again and is told.
func (c *changesRows) pass() error {
	if c.looked {
		c.looked = false
		return nil
	}
	err := c.R.Reauthorize()
	if err == nil || !c.Begun() || c.q.Mode == changes.Once {
		return err
	}
	c.Wake()
	c.Buf, c.Pending = c.Buf[:min(c.passed, len(c.Buf))], nil
	return changes.ErrOver
}

// Wait implements changes.Sink. The buffer goes back to the pool: an idle feed
// keeps none.
func (c *changesRows) Wait() error {
	if err := c.Flush(); err != nil {
		return err
	}
	c.Rest()
	c.passed = 0
	return nil
}

// Heartbeat implements changes.Sink.
func (c *changesRows) Heartbeat() error {
	if err := c.pass(); err != nil {
		return err
	}
	c.Buf = append(c.Buf, c.layout.heartbeat...)
	c.passed = 0
	return c.Flush()
}
