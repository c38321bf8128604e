package dynamoapi

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/store"
)

const (
	// maxRecords is how many records a page has, as at AWS.
	maxRecords = 1000
	// passedEntries is how many entries of the log a page passes by that are no records.
	passedEntries = 10000
)

func getRecords(r *Request) error {
	var in struct {
		ShardIterator *string
		Limit         *int64
	}
	if err := r.parse(&in); err != nil {
		return err
	}
	var c constraints
	c.required("shardIterator", in.ShardIterator, iteratorLength)
	limit := limitOf(&c, in.Limit, maxRecords)
	if err := c.err(); err != nil {
		return err
	}
	s, after, err := r.openIterator(*in.ShardIterator)
	if err != nil {
		return err
	}
	p := &records{streamAt: s, id: r.tableID(s.db), limit: limit, after: after}
	if err := r.view(s, func(rd *store.Reader) error { return p.read(r, rd) }); err != nil {
		return err
	}
	b := append([]byte(`{"Records":[`), p.text...)
	b = append(b, `],"NextShardIterator":"`...)
	b = append(b, r.iterator(s, p.after)...)
	return r.answer(append(b, `"}`...))
}

// records is a page of records, as it is made.
type records struct {
	*streamAt
	id     string
	limit  int
	after  store.LogPosition // where the page begins, then where the next one does
	text   []byte            // JSON
	count  int
	passed int // entries
	bytes  int // bytes of documents that were read
	memory answerMemory
}

// read reads the page at a snapshot.
func (p *records) read(r *Request, rd *store.Reader) error {
	first, _, err := rd.LogBounds()
	switch {
	case err != nil:
		return err
	case p.after == store.LogPosition{}:
		p.after = first // TRIM_HORIZON
	case p.after.Compare(first) < 0:
		return errTrimmed
	}
	for e, err := range rd.Log(p.after) {
		if err != nil {
			return err
		}
		p.add(e)
		p.after = e.At
		err = p.memory.hold(r, len(p.text))
		if err != nil && p.count < 2 {
			return err
		}
		if p.full() || err != nil {
			break
		}
	}
	return nil
}

func (p *records) full() bool {
	return p.count == p.limit || len(p.text) >= pageBytes || p.passed == passedEntries || p.bytes >= passedBytes
}

// add adds the record that an entry is.
func (p *records) add(e *store.Logged) {
	p.passed++
	for _, rev := range []*store.Revision{e.Old, e.New} {
		if rev != nil {
			p.bytes += len(rev.Body)
		}
	}
	c, ok := p.changeOf(e)
	if !ok {
		return
	}
	if p.count++; p.count > 1 {
		p.text = append(p.text, ',')
	}
	p.text = p.appendRecord(p.text, e, c)
}

// recorded is what a record says of a change of an item.
type recorded struct {
	event    string
	key      attribute.Item
	old, now attribute.Item // without attributes: there is none, or it was erased since
}

// changeOf returns what an entry says as a record; ok is false for one that changed no
// item: of a design document, of a branch that does not win, of an item that is the same
// as before, or of a partition that was dropped with all that the log knew of it.
func (p *records) changeOf(e *store.Logged) (c recorded, ok bool) {
	had, has := e.Old != nil && !e.Old.Deleted, e.New != nil && !e.New.Deleted
	switch {
	case had && has && e.Old.Rev == e.New.Rev:
		return c, false
	case had && has:
		c.event = "MODIFY"
	case has:
		c.event = "INSERT"
	case had:
		c.event = "REMOVE"
	default:
		return c, false
	}
	if c.key, ok = p.keyOf(e.ID); !ok {
		return c, false
	}
	if had {
		c.old = p.image(e.Old)
	}
	if has {
		c.now = p.image(e.New)
	}
	same := had && has && c.old.Len() > 0 && attribute.EqualItems(c.old, c.now)
	return c, !same
}

// image returns the item that a revision is; one without attributes if its body was erased.
func (p *records) image(rev *store.Revision) (item attribute.Item) {
	if rev.Body != nil {
		item, _ = p.shownItem(rev.ID, rev.Body)
	}
	return item
}

// appendRecord appends a record, with the images that the stream has.
func (p *records) appendRecord(dst []byte, e *store.Logged, c recorded) []byte {
	view := p.Stream.View
	if view == "KEYS_ONLY" || view == "NEW_IMAGE" {
		c.old = attribute.Item{}
	}
	if view == "KEYS_ONLY" || view == "OLD_IMAGE" {
		c.now = attribute.Item{}
	}
	number := sequenceNumber(e.At)
	sum := sha256.Sum256([]byte(p.id + p.arn + number))
	id := hex.EncodeToString(sum[:16])
	dst = append(dst, `{"awsRegion":"`+region+`","dynamodb":{"ApproximateCreationDateTime":`...)
	dst = strconv.AppendInt(dst, e.Time.Unix(), 10)
	dst = appendImage(dst, "Keys", c.key)
	dst = appendImage(dst, "NewImage", c.now)
	dst = appendImage(dst, "OldImage", c.old)
	dst = append(dst, `,"SequenceNumber":"`+number+`","SizeBytes":`...)
	dst = strconv.AppendInt(dst, int64(c.key.Size()+c.now.Size()+c.old.Size()), 10)
	dst = append(dst, `,"StreamViewType":"`+view+`"},"eventID":"`+id+`","eventName":"`+c.event+`","eventSource":"aws:dynamodb","eventVersion":"1.1"`...)
	if e.Cause == store.ByExpiry {
		dst = append(dst, `,"userIdentity":{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"}`...)
	}
	return append(dst, '}')
}
